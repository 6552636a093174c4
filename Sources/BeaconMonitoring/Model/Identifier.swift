/// A name that may stand in a topic and in a file name: of a condition, a monitor or a gateway (rule C6).
///
/// Compared octet by octet: two spellings of one character are two identifiers, as they are two topics.
public struct Identifier: Sendable {
    /// The name as it was given.
    public let text: String

    /// The octets of UTF-8 that a name may have.
    public static let lengthRange: ClosedRange<Int> = 1...128

    /// Checks `text` and makes an identifier of it.
    /// - Throws: ``MonitorError/identifierInvalid(_:_:)`` with what is wrong.
    public init(_ text: String) throws(MonitorError) {
        guard Self.lengthRange.contains(text.utf8.count) else {
            throw .identifierInvalid(text, "it has \(text.utf8.count) bytes of UTF-8")
        }
        guard text != ".", text != ".." else { throw .identifierInvalid(text, "“.” and “..” are reserved") }
        if !Self.isPlain(text.utf8.span) { try Self.checkScalars(of: text) }
        self.text = text
    }

    /// Whether all octets are ASCII that may stand in a name: what nearly every name is.
    private static func isPlain(_ octets: Span<UInt8>) -> Bool {
        for index in octets.indices {
            switch octets[index] {
            case UInt8(ascii: "/"), UInt8(ascii: "+"), UInt8(ascii: "#"): return false
            case 0x20..<0x7F: continue
            default: return false
            }
        }
        return true
    }

    private static func checkScalars(of text: String) throws(MonitorError) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "/", "+", "#":
                throw .identifierInvalid(text, "“\(scalar)” has a meaning in topics")
            default:
                guard scalar.properties.generalCategory != .control else {
                    throw .identifierInvalid(
                        text, "it has the control character U+\(String(scalar.value, radix: 16, uppercase: true))")
                }
            }
        }
    }
}

extension Identifier: Hashable, Comparable {
    /// The same octets.
    public static func == (left: Identifier, right: Identifier) -> Bool {
        let (left, right) = (left.text.utf8.span, right.text.utf8.span)
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }

    /// The order of the octets (rule T3).
    public static func < (left: Identifier, right: Identifier) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// Hashes the octets.
    public func hash(into hasher: inout Hasher) {
        unsafe text.utf8.span.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        hasher.combine(0xFF as UInt8)
    }
}

extension Identifier: CustomStringConvertible {
    /// The name.
    public var description: String { text }
}
