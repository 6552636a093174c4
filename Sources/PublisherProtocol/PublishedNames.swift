package import BluetoothLE

/// What a beacon is called, as a broker may be told.
package struct PublishedName: Sendable, Hashable {
    /// Its name, 255 octets at most.
    package var name: String
    /// Which group it belongs to, where it does; 255 octets at most.
    package var group: String?

    /// A name, and a group where there is one.
    package init(_ name: String, group: String? = nil) {
        self.name = name
        self.group = group
    }
}

/// Names of beacons as they go through the pair: messages that together are all of them, in order.
///
/// A message begins with what it is among them (1: the first, 2: the last, 3: both, 0: neither). Then each beacon: its UUID
/// (16 octets), major and minor (two each, the most significant first), the lengths of its name and its group (one octet
/// each; no group has no octet), and these.
package enum PublishedNames {
    /// How many messages may wait: more than 100,000 beacons with the longest names need.
    package static let messagesMax = 4096
    // A message that is too long for the sockets' buffers would be lost (unix(7)).
    private static let octetsMax = 32 << 10

    /// The messages of all names; one where there are none.
    package static func messages(_ names: some Sequence<(BeaconIdentity, PublishedName)>) -> [[UInt8]] {
        var messages: [[UInt8]] = []
        var message: [UInt8] = [1]
        for (beacon, published) in names {
            let (name, group) = (
                Array(published.name.utf8.prefix(255)), Array((published.group ?? "").utf8.prefix(255))
            )
            if message.count + 22 + name.count + group.count > octetsMax {
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

/// Collects the messages of ``PublishedNames``.
package struct PublishedNamesReader: Sendable {
    /// So many beacons have names at most; who says more is not the gateway.
    package static let countMost = 100_000

    private var names: [BeaconIdentity: PublishedName] = [:]
    // Many beacons share a group: its text is kept once.
    private var groups: [String: String] = [:]

    /// One that has read nothing.
    package init() {}

    /// Takes one message.
    ///
    /// - Parameters:
    ///   - octets: the message, without its kind.
    ///   - done: is given all names at the last of them.
    /// - Returns: whether it was a message of these.
    package mutating func take(_ octets: ArraySlice<UInt8>, _ done: ([BeaconIdentity: PublishedName]) -> Void) -> Bool {
        var rest = octets
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
