/// The name of a site, a gateway, a process or a small value: what fits into the subjects of a message broker, the names of
/// files and topics of MQTT as it is.
package struct LogName: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// How many octets one may have.
    package static let octetsMax = 64

    /// Its letters, digits, hyphens and underscores.
    package let description: String

    /// - Throws: ``LogTrouble/badName(_:)``.
    package init(_ text: String) throws(LogTrouble) {
        guard !text.isEmpty, text.utf8.count <= Self.octetsMax, text.utf8.allSatisfy(Self.isAllowed) else {
            throw .badName(String(text.prefix(Self.octetsMax)))
        }
        description = text
    }

    /// By their octets.
    package static func < (left: LogName, right: LogName) -> Bool {
        left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
    }

    private static func isAllowed(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
