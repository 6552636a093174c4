/// What a path of bluetoothd's names.
///
/// Source: bluez src/adapter.c (`/org/bluez/hci` and the kernel's number) and src/device.c (`dev_` and the address).
enum DBusPath: Sendable, Hashable {
    /// The adapter with this number.
    case adapter(Int)
    /// What this adapter heard under this address.
    case device(DBusDeviceKey)
    /// Something else, or nothing of bluetoothd's.
    case other

    private static let prefix = "/org/bluez/hci"

    /// What `text` names.
    init(_ text: String) {
        var rest = text.utf8[...]
        self = .other
        guard rest.starts(with: Self.prefix.utf8) else { return }
        rest = rest.dropFirst(Self.prefix.utf8.count)
        let digits = rest.prefix { $0 >= 0x30 && $0 <= 0x39 }
        // The kernel numbers adapters with 16 bits; a number has one writing.
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

    /// The path of an adapter.
    static func path(ofAdapter adapter: Int) -> String { "\(prefix)\(adapter)" }
}

/// A device of bluetoothd's: which adapter heard it, and the address in its path.
struct DBusDeviceKey: Sendable, Hashable {
    // The adapter's number above the 48 bits of the address: one word to hash and compare.
    private let word: UInt64

    /// Makes a key of the low 48 bits of `address`.
    init(adapter: UInt16, address: UInt64) { word = UInt64(adapter) << 48 | address & 0xFFFF_FFFF_FFFF }

    /// The kernel's number of the adapter.
    var adapter: Int { Int(word >> 48) }
    /// The address that the path spells.
    var address: UInt64 { word & 0xFFFF_FFFF_FFFF }
}
