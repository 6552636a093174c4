package import BaseTypes
package import BluetoothLE

/// Learns how long each beacon is silent between its reports: what tells which exit timeout is safe.
///
/// Gaps are measured over all adapters together, since a beacon leaves when the last of them lets go of it. A gap in which
/// the adapter that heard the beacon last did not listen says nothing of the beacon and is not counted, nor is one of ten
/// minutes and more: that is an absence.
///
/// Bounds: ``beaconsMax`` beacons, 256 octets each; where they are full, one that has been silent for ten minutes gives way,
/// and a newcomer that finds none is counted in ``unfollowed``. A report of a beacon that is known allocates nothing.
package struct CadenceMeter: Sendable {
    /// What came of holding a beacon's cadence against an exit timeout.
    package enum Judgement: Sendable, Hashable {
        /// The timeout is shorter than the cadence can bear: radio loss will make exits.
        case tooShort(Cadence, exitTimeout: Duration)
        /// It was, and no longer is.
        case bearable(Cadence, exitTimeout: Duration)
    }

    /// A beacon whose cadence should be judged now.
    package struct Due: Sendable {
        let place: Int
        /// The beacon that has been heard often enough to be judged.
        package let beacon: BeaconIdentity
    }

    private struct Entry: Sendable {
        var beacon: BeaconIdentity
        var last: Int64
        var gaps: Int32 = 0
        var adapter: Int32
        var isTooShort = false
    }

    /// How many beacons are followed.
    package static let beaconsMax = 4_096
    // What is longer is an absence and no cadence: no exit timeout that anybody sets for presence bears it either.
    static let absence: Int64 = 600 * 1_000_000_000
    // Fewer gaps say too little of the one in a hundred.
    static let gapsMin: Int32 = 100
    // So often it is judged, and at so many the older ones begin to count half: a day at one report a second.
    static let gapsPerJudgement: Int32 = 128
    static let gapsMax: Int32 = 65_535
    // How many places a newcomer looks at for one that may give way: a flood of invented beacons costs a little each.
    private static let placesTried = 8

    /// Reports of beacons past the bound.
    package private(set) var unfollowed = 0
    /// How many beacons' exit timeouts are too short at present.
    package private(set) var tooShort = 0
    private var places: [BeaconIdentity: Int32] = [:]
    private var entries: [Entry] = []
    private var buckets: [UInt16] = []
    private var hand = 0
    // From when on each adapter's last reports begin a gap; by adapter, at most as many as there are.
    private var marks: [(adapter: Int32, time: Int64)] = []

    /// How many beacons are followed.
    package var followed: Int { entries.count }

    /// A report of a beacon.
    ///
    /// - Returns: where its cadence should be judged now, whose: see ``judge(_:exitTimeout:)``.
    package mutating func heard(_ beacon: BeaconIdentity, on adapter: Int, at time: Instant) -> Due? {
        guard let found = places[beacon] else {
            follow(beacon, on: adapter, at: time)
            return nil
        }
        let place = Int(found)
        let last = entries[place].last
        let from = entries[place].adapter
        // One stamped earlier ends no gap (rule T2).
        guard time.nanoseconds >= last else { return nil }
        entries[place].last = time.nanoseconds
        entries[place].adapter = Int32(truncatingIfNeeded: adapter)
        let gap = time.nanoseconds - last
        guard gap < Self.absence, !marks.contains(where: { $0.adapter == from && $0.time > last }) else { return nil }
        count(gap, at: place)
        let gaps = entries[place].gaps
        guard gaps >= Self.gapsMin, gaps == Self.gapsMin || gaps % Self.gapsPerJudgement == 0 else { return nil }
        return Due(place: place, beacon: beacon)
    }

    /// An adapter did not listen until `time`: the gaps that its last reports began are none.
    package mutating func interrupted(_ adapter: Int, at time: Instant) {
        let adapter = Int32(truncatingIfNeeded: adapter)
        if let place = marks.firstIndex(where: { $0.adapter == adapter }) {
            marks[place].time = max(marks[place].time, time.nanoseconds)
        } else if marks.count < 64 {
            marks.append((adapter, time.nanoseconds))
        }
    }

    private mutating func follow(_ beacon: BeaconIdentity, on adapter: Int, at time: Instant) {
        let entry = Entry(beacon: beacon, last: time.nanoseconds, adapter: Int32(truncatingIfNeeded: adapter))
        if entries.count < Self.beaconsMax {
            places[beacon] = Int32(entries.count)
            entries.append(entry)
            buckets.append(contentsOf: repeatElement(0, count: CadenceBuckets.count))
            return
        }
        for _ in 0..<Self.placesTried {
            hand = (hand + 1) % entries.count
            guard time.nanoseconds - entries[hand].last >= Self.absence else { continue }
            places[entries[hand].beacon] = nil
            if entries[hand].isTooShort { tooShort -= 1 }
            places[beacon] = Int32(hand)
            entries[hand] = entry
            for bucket in hand * CadenceBuckets.count..<(hand + 1) * CadenceBuckets.count { buckets[bucket] = 0 }
            return
        }
        unfollowed &+= 1
    }

    private mutating func count(_ gap: Int64, at place: Int) {
        if entries[place].gaps >= Self.gapsMax { halve(place) }
        buckets[place * CadenceBuckets.count + CadenceBuckets.bucket(of: gap)] += 1
        entries[place].gaps += 1
    }

    private mutating func halve(_ place: Int) {
        var gaps: Int32 = 0
        for bucket in place * CadenceBuckets.count..<(place + 1) * CadenceBuckets.count {
            buckets[bucket] /= 2
            gaps += Int32(buckets[bucket])
        }
        entries[place].gaps = gaps
    }
}

extension CadenceMeter {
    /// Holds a beacon's cadence against the shortest exit timeout that holds for it; `nil` where none does.
    ///
    /// - Returns: a change of what was found before, if any. What was too short is bearable again only with a fifth to
    ///   spare, so that a cadence at the limit does not fill the log.
    package mutating func judge(_ due: Due, exitTimeout: Duration?) -> Judgement? {
        guard entries.indices.contains(due.place), entries[due.place].beacon == due.beacon else { return nil }
        let cadence = cadence(at: due.place)
        let wasTooShort = entries[due.place].isTooShort
        guard let exitTimeout else {
            set(due.place, isTooShort: false)
            return nil
        }
        if !wasTooShort, cadence.bearable > exitTimeout {
            set(due.place, isTooShort: true)
            return .tooShort(cadence, exitTimeout: exitTimeout)
        }
        if wasTooShort, cadence.bearable * 5 <= exitTimeout * 4 {
            set(due.place, isTooShort: false)
            return .bearable(cadence, exitTimeout: exitTimeout)
        }
        return nil
    }

    /// What is known of a beacon's cadence; `nil` where it is not followed or has no gap yet.
    package func cadence(of beacon: BeaconIdentity) -> Cadence? {
        guard let place = places[beacon], entries[Int(place)].gaps > 0 else { return nil }
        return cadence(at: Int(place))
    }

    /// The beacons whose exit timeouts are too short, in no order; at most `limit`.
    package func tooShort(atMost limit: Int) -> [Cadence] {
        Array(entries.indices.lazy.filter { entries[$0].isTooShort }.prefix(max(limit, 0)).map { cadence(at: $0) })
    }

    private mutating func set(_ place: Int, isTooShort: Bool) {
        guard entries[place].isTooShort != isTooShort else { return }
        entries[place].isTooShort = isTooShort
        tooShort += isTooShort ? 1 : -1
    }

    private func cadence(at place: Int) -> Cadence {
        let gaps = Int(entries[place].gaps)
        return Cadence(
            beacon: entries[place].beacon, gaps: gaps,
            median: gap(ranked: gaps - gaps / 2, at: place),
            p99: gap(ranked: gaps - gaps / 100, at: place),
            longest: gap(ranked: gaps - max(gaps / 1_000, 1), at: place))
    }

    // The gap at a rank, counted from 1, rounded up to its bucket's end.
    private func gap(ranked rank: Int, at place: Int) -> Duration {
        var seen = 0
        for bucket in 0..<CadenceBuckets.count {
            seen += Int(buckets[place * CadenceBuckets.count + bucket])
            if seen >= max(rank, 1) { return CadenceBuckets.upperBound(of: bucket) }
        }
        return CadenceBuckets.upperBound(of: CadenceBuckets.count - 1)
    }
}
