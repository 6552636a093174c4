package import BaseTypes
package import BluetoothLE

/// Measures how long each beacon is silent between its reports, to find out which exit timeouts are safe.
///
/// Gaps are measured over all adapters together, because a beacon exits only when no adapter receives it. Two kinds of
/// gaps are not counted: a gap in which the adapter that received the last report did not scan, and a gap of ten
/// minutes or more, which is an absence.
///
/// Bounds: ``beaconsMax`` beacons of 256 bytes each. If the table is full, a new beacon replaces one that has been
/// silent for ten minutes. If it finds none, its report is counted in ``unfollowed``. A report of a known beacon
/// allocates nothing.
package struct CadenceMeter: Sendable {
    /// The result of comparing a beacon's cadence with an exit timeout.
    package enum Judgement: Sendable, Hashable {
        /// The timeout is too short for the cadence: radio losses will cause exits.
        case tooShort(Cadence, exitTimeout: Duration)
        /// The timeout was too short, and no longer is.
        case bearable(Cadence, exitTimeout: Duration)
    }

    /// A beacon whose cadence should be compared now.
    package struct Due: Sendable {
        let place: Int
        /// The beacon, which has enough gaps for a comparison.
        package let beacon: BeaconIdentity
    }

    private struct Entry: Sendable {
        var beacon: BeaconIdentity
        var last: Int64
        var gaps: Int32 = 0
        var adapter: Int32
        var isTooShort = false
    }

    /// The maximum number of beacons.
    package static let beaconsMax = 4_096
    // A longer gap is an absence, not part of the cadence. No usable exit timeout for presence is that long.
    static let absence: Int64 = 600 * 1_000_000_000
    // Fewer gaps are not enough to estimate the longest one of a hundred.
    static let gapsMin: Int32 = 100
    // The cadence is compared after each `gapsPerJudgement` gaps. At `gapsMax` gaps the counts are halved, so that
    // older gaps lose weight: about a day at one report per second.
    static let gapsPerJudgement: Int32 = 128
    static let gapsMax: Int32 = 65_535
    // How many entries are tried to find a replaceable one. This bounds the cost of a flood of forged beacons.
    private static let placesTried = 8

    /// The number of reports of beacons beyond the bound.
    package private(set) var unfollowed = 0
    /// The number of beacons whose exit timeouts are too short at present.
    package private(set) var tooShort = 0
    private var places: [BeaconIdentity: Int32] = [:]
    private var entries: [Entry] = []
    private var buckets: [UInt16] = []
    private var hand = 0
    // For each adapter, the time up to which its last reports start no gap. At most one entry for each adapter.
    private var marks: [(adapter: Int32, time: Int64)] = []

    /// The number of beacons in the table.
    package var followed: Int { entries.count }

    /// Records a report of a beacon.
    ///
    /// - Returns: the beacon, if its cadence should be compared now: see ``judge(_:exitTimeout:)``.
    package mutating func received(_ beacon: BeaconIdentity, on adapter: Int, at time: Instant) -> Due? {
        guard let found = places[beacon] else {
            follow(beacon, on: adapter, at: time)
            return nil
        }
        let place = Int(found)
        let last = entries[place].last
        let from = entries[place].adapter
        // A report with an earlier time ends no gap (rule T2).
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

    /// Records that an adapter did not scan until `time`, so that its last reports start no gaps.
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
    /// Compares a beacon's cadence with `exitTimeout`, the shortest exit timeout for it. Pass `nil` if no condition
    /// includes the beacon; then it no longer counts as too short.
    ///
    /// - Returns: the change since the last comparison, if there is one. After a timeout was too short, it must exceed
    ///   the safe one by a quarter to count as safe again, so that a cadence at the limit does not fill the log.
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

    /// Returns the cadence of a beacon; `nil` if it is not in the table or has no gap yet.
    package func cadence(of beacon: BeaconIdentity) -> Cadence? {
        guard let place = places[beacon], entries[Int(place)].gaps > 0 else { return nil }
        return cadence(at: Int(place))
    }

    /// Returns the beacons whose exit timeouts are too short, in no order; at most `limit`.
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

    // Returns the gap with a rank, counted from 1, rounded up to the bound of its bucket.
    private func gap(ranked rank: Int, at place: Int) -> Duration {
        var seen = 0
        for bucket in 0..<CadenceBuckets.count {
            seen += Int(buckets[place * CadenceBuckets.count + bucket])
            if seen >= max(rank, 1) { return CadenceBuckets.upperBound(of: bucket) }
        }
        return CadenceBuckets.upperBound(of: CadenceBuckets.count - 1)
    }
}
