/// The name of a condition, a monitor or a gateway, which can be part of a topic and of a file name (rule C6).
///
/// Identifiers are compared by bytes. Two Unicode spellings of one character are different identifiers, because they
/// are also different topics.
public struct Identifier: Sendable {
    /// The name as it was given.
    public let text: String

    /// The allowed number of UTF-8 bytes.
    public static let lengthRange: ClosedRange<Int> = 1...128

    /// Checks `text` and creates an identifier.
    /// - Throws: ``MonitorError/identifierInvalid(_:_:)`` with the reason.
    public init(_ text: String) throws(MonitorError) {
        guard Self.lengthRange.contains(text.utf8.count) else {
            throw .identifierInvalid(text, "it has \(text.utf8.count) bytes of UTF-8")
        }
        guard text != ".", text != ".." else { throw .identifierInvalid(text, "“.” and “..” are reserved") }
        if !Self.isPlain(text.utf8.span) { try Self.checkScalars(of: text) }
        self.text = text
    }

    /// Returns whether all bytes are ASCII characters that are allowed, as in nearly all names.
    private static func isPlain(_ bytes: Span<UInt8>) -> Bool {
        for index in bytes.indices {
            switch bytes[index] {
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
    /// Returns whether both have the same bytes.
    public static func == (left: Identifier, right: Identifier) -> Bool {
        let (left, right) = (left.text.utf8.span, right.text.utf8.span)
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }

    /// Orders by bytes (rule T3).
    public static func < (left: Identifier, right: Identifier) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        unsafe text.utf8.span.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        hasher.combine(0xFF as UInt8)
    }
}

extension Identifier: CustomStringConvertible {
    /// The name.
    public var description: String { text }
}
