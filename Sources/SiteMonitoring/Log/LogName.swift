/// The name of a site, a gateway, a process or a small value. It can be part of a message broker's subject, a file name
/// or an MQTT topic without escaping.
package struct LogName: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The maximum length of a name, in bytes.
    package static let bytesMax = 64

    /// The name: letters, digits, hyphens and underscores.
    package let description: String

    /// Creates a name.
    ///
    /// - Throws: ``SiteLogError/badName(_:)`` if the text is empty, too long, or contains other characters.
    package init(_ text: String) throws(SiteLogError) {
        guard !text.isEmpty, text.utf8.count <= Self.bytesMax, text.utf8.allSatisfy(Self.isAllowed) else {
            throw .badName(String(text.prefix(Self.bytesMax)))
        }
        description = text
    }

    /// Sorts by bytes.
    package static func < (left: LogName, right: LogName) -> Bool {
        left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
