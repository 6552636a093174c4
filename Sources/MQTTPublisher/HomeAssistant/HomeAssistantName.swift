/// Names for the topics of discovery, in which Home Assistant allows only letters, digits, `_` and `-`.
///
/// Source: Home Assistant, `homeassistant/components/mqtt/discovery.py`, `TOPIC_MATCHER`.
enum HomeAssistantName {
    /// The separator between the parts of a name. Within a part, `_` is followed by another `_` or by a hexadecimal
    /// digit, so this separator ends the part.
    static let separator = "_-"

    /// Returns `text` with only the allowed characters. Letters, digits and `-` stay the same, and `_` is doubled.
    /// Every other byte of UTF-8 becomes `_` and two digits (upper-case hexadecimal). Two different texts never have
    /// the same result.
    static func part(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                bytes.append(byte)
            case UInt8(ascii: "_"):
                bytes += [byte, byte]
            default:
                bytes += [UInt8(ascii: "_"), digit(byte >> 4), digit(byte & 0xF)]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func digit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x37 + nibble }
}
