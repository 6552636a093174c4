/// A line for the operator's log.
package struct PublisherRemark: Sendable, Hashable {
    /// Whether something is in the way, or no longer.
    package var isTrouble: Bool
    /// What is said.
    package var text: String

    /// Says something.
    package init(isTrouble: Bool, text: String) {
        self.isTrouble = isTrouble
        self.text = text
    }
}

// As it goes through the pair.
extension PublisherRemark {
    /// A text has at most so many octets when it comes out of the pair.
    static let octetsMax = 2048

    /// The octets.
    package var message: [UInt8] { [isTrouble ? 1 : 0] + text.utf8.prefix(Self.octetsMax) }

    /// Reads one; `nil` where it is none.
    init?(_ octets: ArraySlice<UInt8>) {
        guard let first = octets.first, first <= 1 else { return nil }
        self.init(isTrouble: first == 1, text: Self.clean(octets.dropFirst()))
    }

    /// What may be printed: bounded, and without control characters, which would be orders to a terminal.
    static func clean(_ octets: some Sequence<UInt8>) -> String {
        let text = String(decoding: Array(octets.prefix(octetsMax)), as: UTF8.self)
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) ? "\u{FFFD}" : scalar
                }))
    }
}
