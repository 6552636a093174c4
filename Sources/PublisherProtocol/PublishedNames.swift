package import BluetoothLE

/// The name of a beacon that may be sent to a broker.
package struct PublishedName: Sendable, Hashable {
    /// The name, at most 255 bytes.
    package var name: String
    /// The group of the beacon, at most 255 bytes; `nil` if it has none.
    package var group: String?

    /// Creates a name, with a group if the beacon has one.
    package init(_ name: String, group: String? = nil) {
        self.name = name
        self.group = group
    }
}

/// The names of all beacons, encoded in a sequence of messages.
///
/// The first byte of a message is its position in the sequence: 1 for the first, 2 for the last, 3 for the only one, 0
/// for the others. Then follows each beacon: its UUID (16 bytes), major and minor (two bytes each, most significant
/// first), the lengths of its name and its group (one byte each; a missing group has length 0), and the two texts.
package enum PublishedNames {
    /// How many messages may wait. 100,000 beacons with the longest names need fewer.
    package static let messagesMax = 4096
    // A message that is too long for the buffers of the sockets would be lost (unix(7)).
    private static let bytesMax = 32 << 10

    /// Returns the messages with all names. If there are no names, it is one message.
    package static func messages(_ names: some Sequence<(BeaconIdentity, PublishedName)>) -> [[UInt8]] {
        var messages: [[UInt8]] = []
        var message: [UInt8] = [1]
        for (beacon, published) in names {
            let (name, group) = (
                Array(published.name.utf8.prefix(255)), Array((published.group ?? "").utf8.prefix(255))
            )
            if message.count + 22 + name.count + group.count > bytesMax {
                messages.append(message)
                message = [0]
            }
            for half in [beacon.uuid.high, beacon.uuid.low] {
                for shift in stride(from: 56, through: 0, by: -8) {
                    message.append(UInt8(truncatingIfNeeded: half >> UInt64(shift)))
                }
            }
            for number in [beacon.major, beacon.minor] {
                message += [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
            }
            message += [UInt8(truncatingIfNeeded: name.count), UInt8(truncatingIfNeeded: group.count)]
            message += name
            message += group
        }
        message[0] |= 2
        messages.append(message)
        return messages
    }
}

/// Decodes the messages of ``PublishedNames``.
package struct PublishedNamesReader: Sendable {
    /// The maximum number of beacons with names. A sender with more names is not the gateway.
    package static let countMost = 100_000

    private var names: [BeaconIdentity: PublishedName] = [:]
    // Many beacons have the same group, so its text is stored once.
    private var groups: [String: String] = [:]

    /// Creates a reader that has received no message.
    package init() {}

    /// Decodes one message, without its kind. After the last message, it calls `done` with all names.
    ///
    /// - Returns: whether the message is valid.
    package mutating func take(_ bytes: ArraySlice<UInt8>, _ done: ([BeaconIdentity: PublishedName]) -> Void) -> Bool {
        var rest = bytes
        guard let place = rest.popFirst(), place < 4 else { return false }
        if place & 1 != 0 { (names, groups) = ([:], [:]) }
        while !rest.isEmpty {
            guard rest.count >= 22, names.count < Self.countMost else { return false }
            let beacon = BeaconIdentity(
                uuid: ProximityUUID(high: Self.number(&rest, 8), low: Self.number(&rest, 8)),
                major: UInt16(truncatingIfNeeded: Self.number(&rest, 2)),
                minor: UInt16(truncatingIfNeeded: Self.number(&rest, 2)))
            let (length, groupLength) = (Int(rest.removeFirst()), Int(rest.removeFirst()))
            guard length > 0, rest.count >= length + groupLength else { return false }
            let name = String(decoding: rest.prefix(length), as: UTF8.self)
            let group = String(decoding: rest.dropFirst(length).prefix(groupLength), as: UTF8.self)
            rest = rest.dropFirst(length + groupLength)
            names[beacon] = PublishedName(name, group: group.isEmpty ? nil : shared(group))
        }
        guard place & 2 != 0 else { return true }
        done(names)
        (names, groups) = ([:], [:])
        return true
    }

    private mutating func shared(_ group: String) -> String {
        if let known = groups[group] { return known }
        groups[group] = group
        return group
    }

    private static func number(_ rest: inout ArraySlice<UInt8>, _ count: Int) -> UInt64 {
        var number: UInt64 = 0
        for _ in 0..<count { number = number << 8 | UInt64(rest.removeFirst()) }
        return number
    }
}
