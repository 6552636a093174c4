/// The kinds of messages from the process that writes the event files to the publisher process: the first byte of a
/// message.
package enum OwnerMessage: UInt8, Sendable {
    /// The settings of the publisher: ``PublisherSettings``. It is the first message and is sent once.
    case settings = 1
    /// The number of the last durable line, and the count of lines without a sequence number.
    case durable = 2
    /// The content of the `status` topic.
    case status = 3
    /// A ping. The publisher must answer with the same bytes.
    case ping = 4
    /// An order to retry immediately if the publisher waits, because names, secrets or certificates may have been
    /// fixed.
    case reload = 5
    /// An order to stop: the publisher publishes as much as it can within some seconds, disconnects and exits.
    case stop = 6
    /// The names of beacons, in as many messages as necessary: ``PublishedNames``.
    case names = 7
}

/// The kinds of messages from the publisher process.
package enum PublisherMessage: UInt8, Sendable {
    /// The status of the publisher: ``PublisherStatus``.
    case status = 1
    /// A message for the operator's log.
    case remark = 2
    /// The answer to a ping.
    case pong = 3
}

/// Named fields, encoded for the pair of sockets. Each field has the length of its name (one byte), the name, the
/// length of its value (four bytes, least significant first) and the value.
///
/// The reader ignores unknown names, because the two ends can have different versions.
package struct Fields: Sendable {
    /// The encoded fields.
    package private(set) var bytes: [UInt8] = []

    /// Appends a text; does nothing if it is `nil`.
    package mutating func put(_ name: StaticString, _ text: String?) {
        guard let text else { return }
        name.withUTF8Buffer { utf8 in
            bytes.append(UInt8(truncatingIfNeeded: utf8.count))
            unsafe bytes.append(contentsOf: utf8)
        }
        let value = Array(text.utf8)
        for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: value.count >> shift)) }
        bytes += value
    }

    /// Appends a number; does nothing if it is `nil`.
    package mutating func put(_ name: StaticString, _ number: Int?) { put(name, number.map { String($0) }) }

    /// Appends a flag.
    package mutating func put(_ name: StaticString, _ isSo: Bool) { put(name, isSo ? "1" : "0") }
}

/// Decoded fields. The bytes are not trusted.
package struct ReadFields: Sendable {
    // The maximum number of fields. No valid message has as many.
    private static let fieldsMax = 100
    private var values: [String: String] = [:]

    /// Decodes fields; `nil` if the bytes are invalid or truncated, or if there are too many fields.
    package init?(_ bytes: some Collection<UInt8>) {
        var rest = Array(bytes)[...]
        while let count = rest.popFirst() {
            guard rest.count >= Int(count) + 4, values.count < Self.fieldsMax else { return nil }
            let name = String(decoding: rest.prefix(Int(count)), as: UTF8.self)
            rest = rest.dropFirst(Int(count))
            var size = 0
            for shift in [0, 8, 16, 24] { size |= Int(rest.removeFirst()) << shift }
            guard rest.count >= size else { return nil }
            values[name] = String(decoding: rest.prefix(size), as: UTF8.self)
            rest = rest.dropFirst(size)
        }
    }

    /// Returns a text; `nil` if the field is absent.
    package func text(_ name: String) -> String? { values[name] }

    /// Returns a number; `nil` if the field is absent, negative or not a number.
    package func number(_ name: String) -> Int? { values[name].flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil } }

    /// Returns a flag; `false` if the field is absent.
    package func flag(_ name: String) -> Bool { values[name] == "1" }
}
