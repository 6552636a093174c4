/// The kernel's settings of one adapter that decide how much of the air a monitor hears.
///
/// They hold for the adapter until it goes or somebody sets them anew, whoever set them.
///
/// Source: BlueZ doc/mgmt-api.txt, Read and Set Default System Configuration; Linux net/bluetooth/mgmt_config.c.
struct ScanConfiguration: Sendable, Hashable {
    /// The parameters that are touched.
    enum Parameter: UInt16, Sendable, Hashable, CaseIterable {
        /// From the beginning of one scan window to the next, in units of 0.625 ms. The kernel's own: 60 ms.
        case interval = 0x0013
        /// How long of that is listened, in units of 0.625 ms. The kernel's own: 30 ms, so half of all is missed.
        case window = 0x0014
        /// Whether, while a connection is waited for, the kernel listens to known devices alone by turns (300 ms of 800).
        case interleaving = 0x001F

        /// The octets of its value.
        var width: Int { self == .interleaving ? 1 : 2 }
    }

    /// What is known, or set.
    private(set) var values: [Parameter: UInt16] = [:]

    /// Nothing set.
    init() {}

    /// Those values.
    init(_ values: [Parameter: UInt16]) { self.values = values }

    /// As much of the air as `timing` says, and never known devices alone.
    init(_ timing: ScanTiming) {
        self.init([.interval: timing.interval, .window: timing.window, .interleaving: 0])
    }

    /// All of the air: the window as long as the interval, and never known devices alone.
    static let wide = ScanConfiguration(.continuous)

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
            bytes.append(UInt8(parameter.width))
            bytes.append(UInt8(truncatingIfNeeded: value))
            if parameter.width == 2 { bytes.append(UInt8(truncatingIfNeeded: value >> 8)) }
        }
        return bytes
    }

    /// The parameters that are touched, out of such a list; what is unknown in it is passed over, a cut tail too.
    init(parameters bytes: Span<UInt8>) {
        var offset = 0
        while let type = bytes.number16(at: offset), let length = bytes.octet(at: offset + 2) {
            if let parameter = Parameter(rawValue: type), Int(length) == parameter.width,
                let low = bytes.octet(at: offset + 3), let high = length == 2 ? bytes.octet(at: offset + 4) : 0
            {
                values[parameter] = UInt16(high) << 8 | UInt16(low)
            }
            offset += 3 + Int(length)
        }
    }
}
