/// The kernel's settings of one adapter that decide in which part of the time a monitor receives.
///
/// They apply to the adapter until it is removed or a program sets them again.
///
/// Source: BlueZ doc/mgmt-api.txt, Read and Set Default System Configuration; Linux net/bluetooth/mgmt_config.c.
struct ScanConfiguration: Sendable, Hashable {
    /// The parameters that the gateway sets.
    enum Parameter: UInt16, Sendable, Hashable, CaseIterable {
        /// The time from the start of one scan window to the next, in units of 0.625 ms. The kernel's default is 60 ms.
        case interval = 0x0013
        /// The length of the window, in units of 0.625 ms. The kernel's default is 30 ms, so half of the time is
        /// missed.
        case window = 0x0014
        /// Whether the kernel, while it waits for a connection, alternates between receiving all devices and receiving
        /// only known ones (the latter for 300 ms of each 800 ms).
        case interleaving = 0x001F

        /// The length of the value in bytes.
        var width: Int { self == .interleaving ? 1 : 2 }
    }

    /// The known or wanted values.
    private(set) var values: [Parameter: UInt16] = [:]

    /// Creates an empty configuration.
    init() {}

    /// Creates a configuration with these values.
    init(_ values: [Parameter: UInt16]) { self.values = values }

    /// Creates a configuration with the window and interval of `timing`, without interleaving.
    init(_ timing: ScanTiming) {
        self.init([.interval: timing.interval, .window: timing.window, .interleaving: 0])
    }

    /// Continuous scanning: the window is as long as the interval, without interleaving.
    static let wide = ScanConfiguration(.continuous)

    /// The value of a parameter.
    subscript(parameter: Parameter) -> UInt16? {
        get { values[parameter] }
        set { values[parameter] = newValue }
    }

    /// Whether there are no values.
    var isEmpty: Bool { values.isEmpty }

    /// Whether the window is shorter than the interval, or one of them is unknown.
    var isThin: Bool {
        guard let interval = values[.interval], let window = values[.window] else { return true }
        return window < interval
    }

    /// Returns the parameters of this configuration that `other` has with another value.
    func changes(to other: ScanConfiguration) -> ScanConfiguration {
        ScanConfiguration(values.filter { parameter, value in other[parameter].map { $0 != value } ?? false })
    }

    /// A list of struct mgmt_tlv (type, length, value), in the order of the types.
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

    /// Parses the parameters that the gateway sets from such a list. Unknown parameters and a truncated end are
    /// ignored.
    init(parameters bytes: Span<UInt8>) {
        var offset = 0
        while let type = bytes.number16(at: offset), let length = bytes.byte(at: offset + 2) {
            if let parameter = Parameter(rawValue: type), Int(length) == parameter.width,
                let low = bytes.byte(at: offset + 3), let high = length == 2 ? bytes.byte(at: offset + 4) : 0
            {
                values[parameter] = UInt16(high) << 8 | UInt16(low)
            }
            offset += 3 + Int(length)
        }
    }
}
