/// What goes down the pair, from who writes the files to who ships them: a message's first octet.
package enum OwnerMessage: UInt8, Sendable {
    /// What is shipped, and where to: ``PublisherSettings``; the first, and once.
    case settings = 1
    /// How far lines are durable, and how many lines without a number there were.
    case durable = 2
    /// What `status` is to say.
    case status = 3
    /// Is to be answered with the same octets.
    case ping = 4
    /// Names, secrets and certificates may have been mended: what waits is tried at once.
    case reload = 5
    /// Is to ship what it can within some seconds, take its leave, and end.
    case stop = 6
    /// What beacons are called, in as many messages as it takes: ``PublishedNames``.
    case names = 7
}

/// What comes up the pair.
package enum PublisherMessage: UInt8, Sendable {
    /// How it stands: ``PublisherStatus``.
    case status = 1
    /// A line for the operator's log.
    case remark = 2
    /// A ping's answer.
    case pong = 3
}

/// Fields with names, as they go through the pair: each a name's length, the name, the value's length (four octets, the
/// least significant first), the value.
///
/// Names that the reader does not know are passed over, for the two ends may be of different versions.
package struct Fields: Sendable {
    /// The octets.
    package private(set) var octets: [UInt8] = []

    /// Appends a text; nothing where there is none.
    package mutating func put(_ name: StaticString, _ text: String?) {
        guard let text else { return }
        name.withUTF8Buffer { bytes in
            octets.append(UInt8(truncatingIfNeeded: bytes.count))
            unsafe octets.append(contentsOf: bytes)
        }
        let value = Array(text.utf8)
        for shift in [0, 8, 16, 24] { octets.append(UInt8(truncatingIfNeeded: value.count >> shift)) }
        octets += value
    }

    /// Appends a number; nothing where there is none.
    package mutating func put(_ name: StaticString, _ number: Int?) { put(name, number.map { String($0) }) }

    /// Appends a flag.
    package mutating func put(_ name: StaticString, _ isSo: Bool) { put(name, isSo ? "1" : "0") }
}

/// Fields as they were read: no octet of them is trusted.
package struct ReadFields: Sendable {
    // More than any message has.
    private static let fieldsMax = 100
    private var values: [String: String] = [:]

    /// Reads them; `nil` where the octets are no fields, are cut off, or where there are too many.
    package init?(_ octets: some Collection<UInt8>) {
        var rest = Array(octets)[...]
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

    /// A text.
    package func text(_ name: String) -> String? { values[name] }

    /// A number that is not negative.
    package func number(_ name: String) -> Int? { values[name].flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil } }

    /// A flag; absent is no.
    package func flag(_ name: String) -> Bool { values[name] == "1" }
}
