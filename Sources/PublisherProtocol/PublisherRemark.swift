/// A message for the operator's log.
package struct PublisherRemark: Sendable, Hashable {
    /// Whether it reports a problem; `false` if it reports the end of a problem.
    package var isTrouble: Bool
    /// The text of the message.
    package var text: String

    /// Creates a message.
    package init(isTrouble: Bool, text: String) {
        self.isTrouble = isTrouble
        self.text = text
    }
}

// The encoding for the pair of sockets.
extension PublisherRemark {
    /// The maximum number of bytes of a text. Longer texts are truncated.
    static let octetsMax = 2048

    /// The encoded message.
    package var message: [UInt8] { [isTrouble ? 1 : 0] + text.utf8.prefix(Self.octetsMax) }

    /// Decodes a message; `nil` if it is invalid.
    init?(_ octets: ArraySlice<UInt8>) {
        guard let first = octets.first, first <= 1 else { return nil }
        self.init(isTrouble: first == 1, text: Self.clean(octets.dropFirst()))
    }

    /// Returns printable text from the first ``octetsMax`` bytes. Control characters become U+FFFD, because a terminal
    /// would interpret them as commands.
    static func clean(_ octets: some Sequence<UInt8>) -> String {
        let text = String(decoding: Array(octets.prefix(octetsMax)), as: UTF8.self)
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) ? "\u{FFFD}" : scalar
                }))
    }
}
