/// The name and the password of an `Authorization` header (RFC 7617).
struct BasicCredentials: Hashable {
    // The maximum size of the header in bytes. Real names and passwords are shorter.
    private static let headerMax = 1024
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    let name: String
    let password: String

    /// Reads a header; `nil` if its scheme is not `Basic` or if it is invalid.
    init?(_ header: String) {
        guard header.utf8.count <= Self.headerMax else { return nil }
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic", let bytes = Self.decoded(parts[1]),
            let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0),
            let colon = text.firstIndex(of: ":")
        else { return nil }
        (name, password) = (String(text[..<colon]), String(text[text.index(after: colon)...]))
    }

    /// Decodes Base64 with padding (RFC 4648 §4); `nil` if it is invalid.
    private static func decoded(_ text: Substring) -> [UInt8]? {
        guard text.utf8.count % 4 == 0 else { return nil }
        let body = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        let padding = text.utf8.dropFirst(body.count)
        guard padding.count <= 2, padding.allSatisfy({ $0 == UInt8(ascii: "=") }) else { return nil }
        var bytes: [UInt8] = []
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for byte in body {
            guard let place = alphabet.firstIndex(of: byte) else { return nil }
            bits = bits << 6 | UInt32(place)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        return bytes
    }
}
