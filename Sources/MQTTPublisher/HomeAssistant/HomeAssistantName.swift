/// Names for where Home Assistant allows nothing but letters, digits, `_` and `-`: in the topics of discovery.
///
/// Source: Home Assistant, `homeassistant/components/mqtt/discovery.py`, `TOPIC_MATCHER`.
enum HomeAssistantName {
    /// What stands between the parts of a name. In a part `_` is followed by another or by a digit, so it ends there.
    static let separator = "_-"

    /// `text` in the octets that are allowed: letters, digits and `-` as they are, `_` doubled, and every other octet of
    /// UTF-8 as `_` and two digits (upper-case hexadecimal). No two texts give the same.
    static func part(_ text: String) -> String {
        var octets: [UInt8] = []
        octets.reserveCapacity(text.utf8.count)
        for octet in text.utf8 {
            switch octet {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                octets.append(octet)
            case UInt8(ascii: "_"):
                octets += [octet, octet]
            default:
                octets += [UInt8(ascii: "_"), digit(octet >> 4), digit(octet & 0xF)]
            }
        }
        return String(decoding: octets, as: UTF8.self)
    }

    private static func digit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x37 + nibble }
}
