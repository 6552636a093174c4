/// A message for the operator's log.
package struct PublisherRemark: Sendable, Hashable {
    /// Whether it reports a problem; `false` if it reports the end of a problem.
    package var isError: Bool
    /// The text of the message.
    package var text: String

    /// Creates a message.
    package init(isError: Bool, text: String) {
        self.isError = isError
        self.text = text
    }
}

// The encoding for the pair of sockets.
extension PublisherRemark {
    /// The maximum number of bytes of a text. Longer texts are truncated.
    static let bytesMax = 2048

    /// The encoded message.
    package var message: [UInt8] { [isError ? 1 : 0] + text.utf8.prefix(Self.bytesMax) }

    /// Decodes a message; `nil` if it is invalid.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard let first = bytes.first, first <= 1 else { return nil }
        self.init(isError: first == 1, text: Self.clean(bytes.dropFirst()))
    }

    /// Returns printable text from the first ``bytesMax`` bytes. Control characters become U+FFFD, because a terminal
    /// would interpret them as commands.
    static func clean(_ bytes: some Sequence<UInt8>) -> String {
        let text = String(decoding: Array(bytes.prefix(bytesMax)), as: UTF8.self)
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) ? "\u{FFFD}" : scalar
                }))
    }
}
