package import BluetoothLE

/// What sightings come to that an engine is not given one by one.
package struct SightingSum: Sendable, Hashable {
    /// When the first was, which the engine was given.
    package var since: Instant
    /// How many there are, 0 or more, without the first and the last.
    package var count: Int
    /// The RSSI of those that have one; absent where none has.
    package var strength: Visit.Strength?

    /// So many sightings since a moment.
    package init(since: Instant, count: Int, strength: Visit.Strength?) {
        self.since = since
        self.count = count
        self.strength = strength
    }
}

// Sightings that are told together, as a site's gateways do.
extension MonitorEngine {
    /// The last of some sightings of one beacon by one adapter, of which the engine was given the first, and what those in
    /// between come to (rule P3).
    ///
    /// It decides what it had decided of all of them where none of them would have done anything else to a condition than the
    /// first, and none lies an exit timeout after the one before it.
    package mutating func sighted(_ last: Sighting, closing sum: SightingSum, into actions: inout ActionBuffer) {
        sighted(last, into: &actions)
        guard sum.count > 0 else { return }
        var found: [ConditionIndex] = []
        swap(&found, &foundScratch)
        conditions.lookup.find(last.beacon, hash: conditions.lookup.hash(last.beacon.uuid), into: &found)
        for condition in found {
            let match = conditions.match(condition)
            let beacon = subjects.find(last.beacon, under: condition)
            if match.refusesStrangers, beacon == nil, !namedBeacons.contains(last.beacon) { continue }
            count(sum, at: last.strength, of: match.subject, match.exitRSSI)
            if let beacon { count(sum, at: last.strength, of: beacon, match.exitRSSI) }
        }
        found.removeAll(keepingCapacity: true)
        swap(&found, &foundScratch)
    }

    /// Counts what refreshed a subject, where it has been there since.
    private mutating func count(
        _ sum: SightingSum, at strength: Int16, of subject: SubjectIndex, _ exitRSSI: Int16
    ) {
        guard subject != .absent, subjects[subject].state == .satisfied, strength >= exitRSSI,
            subjects[detailsOf: subject].arrival <= sum.since.nanoseconds
        else { return }
        subjects[subject].count(sum)
    }
}
