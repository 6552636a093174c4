package import BluetoothLE

/// A setting that names a UUID whose bytes are those of a received beacon's UUID in reverse order.
package struct ReversedUUID: Sendable, Hashable {
    /// The identifier of the condition that names it; `nil` if the option `--uuid` of a command names it.
    package let identifier: String?
    /// The received UUID, in the order in which it is transmitted.
    package let received: ProximityUUID

    /// Creates the finding.
    package init(identifier: String?, received: ProximityUUID) {
        self.identifier = identifier
        self.received = received
    }

    /// A text about the finding, for operators.
    package var summary: String {
        let effect = identifier == nil ? "are left out" : "match no condition"
        let setting = identifier.map { "the uuid of condition \($0)" } ?? "--uuid"
        return "received beacons with the UUID \(received) \(effect); \(setting) has the same bytes in reverse order, "
            + "as btmon prints them"
    }

    /// A text about the remedy, for operators.
    package var remedy: String {
        let setting = identifier.map { "set the uuid of \($0) to" } ?? "give --uuid"
        return "if these beacons are meant, \(setting) \(received)"
    }
}

/// The settings that ``ReversedUUID`` describes: the first 16 that were found.
package struct ReversedUUIDs: Sendable {
    /// The maximum number of findings.
    package static let countMax = 16

    /// The findings, in the order in which they were added.
    package private(set) var found: [ReversedUUID] = []

    /// Creates an empty list.
    package init() {}

    /// Adds a finding, if it is new and there is room.
    package mutating func insert(_ reversed: ReversedUUID) {
        guard found.count < Self.countMax, !found.contains(reversed) else { return }
        found.append(reversed)
    }

    mutating func removeAll() { found.removeAll() }
}
