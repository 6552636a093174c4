/// The kernel's settings of one adapter that decide how much of the air a monitor hears.
///
/// They hold for the adapter until it goes or somebody sets them anew, whoever set them. All are 16 bits.
///
/// Source: BlueZ doc/mgmt-api.txt, Read and Set Default System Configuration; Linux net/bluetooth/mgmt_config.c.
struct ScanConfiguration: Sendable, Hashable {
    /// The parameters that are touched.
    enum Parameter: UInt16, Sendable, Hashable, CaseIterable {
        /// From the beginning of one scan window to the next, in units of 0.625 ms. The kernel's own: 60 ms.
        case interval = 0x0013
        /// How long of that is listened, in units of 0.625 ms. The kernel's own: 30 ms, so half of all is missed.
        case window = 0x0014
        /// While a connection is waited for, the kernel listens to known devices alone for so many ms (its own: 300) …
        case knownOnlyDuration = 0x001D
        /// … and to all for so many ms (its own: 500), in turns.
        case everyoneDuration = 0x001E
    }

    /// What is known, or set.
    private(set) var values: [Parameter: UInt16] = [:]

    /// Nothing set.
    init() {}

    /// Those values.
    init(_ values: [Parameter: UInt16]) { self.values = values }

    /// All of the air: the window as long as the interval, and known devices alone hardly ever.
    static let wide = ScanConfiguration([
        .interval: 0x60, .window: 0x60, .knownOnlyDuration: 10, .everyoneDuration: 60_000,
    ])

    /// The value of a parameter.
    subscript(parameter: Parameter) -> UInt16? {
        get { values[parameter] }
        set { values[parameter] = newValue }
    }

    /// Whether nothing is set.
    var isEmpty: Bool { values.isEmpty }

    /// Whether a window shorter than its interval leaves gaps, as far as that is known.
    var isThin: Bool {
        guard let interval = values[.interval], let window = values[.window] else { return true }
        return window < interval
    }

    /// Those of this one's parameters that `other` knows too, and has another value for.
    func changes(to other: ScanConfiguration) -> ScanConfiguration {
        ScanConfiguration(values.filter { parameter, value in other[parameter].map { $0 != value } ?? false })
    }

    /// A list of struct mgmt_tlv: type, length, value; in the order of the types.
    var parameters: [UInt8] {
        var bytes: [UInt8] = []
        for (parameter, value) in values.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            bytes.append16(parameter.rawValue)
            bytes.append(2)
            bytes.append16(value)
        }
        return bytes
    }

    /// The parameters that are touched, out of such a list; what is unknown in it is passed over, a cut tail too.
    init(parameters bytes: Span<UInt8>) {
        var offset = 0
        while let type = bytes.number16(at: offset), let length = bytes.octet(at: offset + 2) {
            if length == 2, let parameter = Parameter(rawValue: type), let value = bytes.number16(at: offset + 3) {
                values[parameter] = value
            }
            offset += 3 + Int(length)
        }
    }
}
