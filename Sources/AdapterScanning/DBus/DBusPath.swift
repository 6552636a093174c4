/// The object that a path of bluetoothd names.
///
/// Source: bluez src/adapter.c (`/org/bluez/hci` and the kernel's number) and src/device.c (`dev_` and the address).
enum DBusPath: Sendable, Hashable {
    /// The adapter with this number.
    case adapter(Int)
    /// A device that this adapter received under this address.
    case device(DBusDeviceKey)
    /// Any other object.
    case other

    private static let prefix = "/org/bluez/hci"

    /// Parses a path.
    init(_ text: String) {
        var rest = text.utf8[...]
        self = .other
        guard rest.starts(with: Self.prefix.utf8) else { return }
        rest = rest.dropFirst(Self.prefix.utf8.count)
        let digits = rest.prefix { $0 >= 0x30 && $0 <= 0x39 }
        // The kernel numbers adapters with 16 bits. Leading zeros are invalid.
        guard let adapter = UInt16(Substring(digits)), digits.count == 1 || digits.first != 0x30 else { return }
        rest = rest.dropFirst(digits.count)
        if rest.isEmpty {
            self = .adapter(Int(adapter))
        } else if rest.count == 22, rest.starts(with: "/dev_".utf8) {
            var address: UInt64 = 0
            for (offset, character) in rest.dropFirst(5).enumerated() {
                if offset % 3 == 2 {
                    guard character == 0x5F else { return }
                } else {
                    guard let digit = Self.digit(character) else { return }
                    address = address << 4 | digit
                }
            }
            self = .device(DBusDeviceKey(adapter: adapter, address: address))
        }
    }

    private static func digit(_ character: UInt8) -> UInt64? {
        switch character {
        case 0x30...0x39: UInt64(character - 0x30)
        case 0x41...0x46: UInt64(character - 0x41 + 10)
        default: nil
        }
    }

    /// Returns the path of an adapter.
    static func path(ofAdapter adapter: Int) -> String { "\(prefix)\(adapter)" }
}

/// Identifies a device of bluetoothd: the adapter that received it, and the address in its path.
struct DBusDeviceKey: Sendable, Hashable {
    // The adapter's number above the 48 bits of the address, so that one word is hashed and compared.
    private let word: UInt64

    /// Creates a key from the low 48 bits of `address`.
    init(adapter: UInt16, address: UInt64) { word = UInt64(adapter) << 48 | address & 0xFFFF_FFFF_FFFF }

    /// The kernel's number of the adapter.
    var adapter: Int { Int(word >> 48) }
    /// The address in the path.
    var address: UInt64 { word & 0xFFFF_FFFF_FFFF }
}
