import BaseTypes
import BluetoothLE

/// How long each beacon was silent between its sightings: what tells which exit timeout is safe.
struct GapTable: Sendable {
    /// The silences of one beacon.
    struct Gaps: Sendable {
        var last: Instant
        var histogram = GapHistogram()
    }

    /// More beacons than this are counted, and their gaps are not.
    static let beaconsMax = 10_000

    private(set) var beacons: [BeaconIdentity: Gaps] = [:]
    /// Sightings of beacons past the bound.
    private(set) var unfollowedSightings = 0

    mutating func note(_ beacon: BeaconIdentity, at time: Instant?) {
        if beacons[beacon] == nil {
            guard beacons.count < Self.beaconsMax else {
                unfollowedSightings += 1
                return
            }
            beacons[beacon] = Gaps(last: time ?? .earliest)
            return
        }
        guard let time else { return }
        beacons[beacon]?.note(time)
    }

    /// The beacons in order.
    var sorted: [(beacon: BeaconIdentity, gaps: GapHistogram)] {
        beacons.sorted { $0.key < $1.key }.map { ($0.key, $0.value.histogram) }
    }
}

extension GapTable.Gaps {
    /// A sighting stamped earlier than the last ends no gap (rule T2).
    fileprivate mutating func note(_ time: Instant) {
        guard time >= last else { return }
        histogram.add(time.nanoseconds - last.nanoseconds)
        last = time
    }
}

/// A histogram of durations in a fixed number of buckets: within 1/16 of the true value, from 1 ms to 49 days.
struct GapHistogram: Sendable {
    // Sixteen buckets for each doubling of a length in milliseconds, over 32 doublings; below 16 ms one for each.
    static let bucketsPerDoubling = 16
    static let bucketCount = 16 * 29

    private(set) var count = 0
    private(set) var maximum: Int64 = 0
    private var buckets: [UInt32] = []

    mutating func add(_ nanoseconds: Int64) {
        if buckets.isEmpty { buckets = Array(repeating: 0, count: Self.bucketCount) }
        let bucket = Self.bucket(of: nanoseconds)
        buckets[bucket] = buckets[bucket] &+ 1
        count += 1
        maximum = max(maximum, nanoseconds)
    }

    private static func bucket(of nanoseconds: Int64) -> Int {
        let milliseconds = Int(max(nanoseconds, 0) / 1_000_000)
        guard milliseconds >= 16 else { return milliseconds }
        let doubling = Int.bitWidth - 1 - milliseconds.leadingZeroBitCount
        let bucket = (doubling - 3) * 16 + (milliseconds >> (doubling - 4)) - 16
        return min(bucket, bucketCount - 1)
    }

    /// The nanoseconds below which the gaps of a bucket lie.
    static func upperBound(of bucket: Int) -> Int64 {
        guard bucket >= 16 else { return Int64(bucket + 1) * 1_000_000 }
        let doubling = bucket / 16 + 3
        let mantissa = Int64(bucket % 16 + 16 + 1)
        return (mantissa << Int64(doubling - 4)) * 1_000_000
    }

    /// The gap that `share` of all do not exceed, in nanoseconds, rounded up to its bucket's end; `nil` without gaps.
    func quantile(_ share: Double) -> Int64? {
        guard count > 0 else { return nil }
        let rank = max(1, Int((share * Double(count)).rounded(.up)))
        var seen = 0
        for bucket in buckets.indices {
            seen += Int(buckets[bucket])
            if seen >= rank { return min(Self.upperBound(of: bucket), maximum) }
        }
        return maximum
    }

    /// The buckets that hold gaps: the nanoseconds below which its gaps lie, and how many there are.
    var filled: [(upTo: Int64, count: Int)] {
        buckets.indices.filter { buckets[$0] > 0 }.map { (Self.upperBound(of: $0), Int(buckets[$0])) }
    }
}
