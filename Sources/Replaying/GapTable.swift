import BaseTypes
import BluetoothLE

/// The gaps between the sightings of each beacon. They show which exit timeout is long enough.
struct GapTable: Sendable {
    /// The gaps of one beacon.
    struct Gaps: Sendable {
        var last: Instant
        var histogram = GapHistogram()
    }

    /// The maximum number of beacons with gaps. Sightings of further beacons are only counted.
    static let beaconsMax = 10_000

    private(set) var beacons: [BeaconIdentity: Gaps] = [:]
    /// The number of sightings of beacons beyond the limit.
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

    /// The beacons in the order of their identities.
    var sorted: [(beacon: BeaconIdentity, gaps: GapHistogram)] {
        beacons.sorted { $0.key < $1.key }.map { ($0.key, $0.value.histogram) }
    }
}

extension GapTable.Gaps {
    /// Adds a sighting. If its time is earlier than that of the last sighting, it does not end a gap (rule T2).
    fileprivate mutating func note(_ time: Instant) {
        guard time >= last else { return }
        histogram.add(time.nanoseconds - last.nanoseconds)
        last = time
    }
}

/// A histogram of durations in a fixed number of buckets. From 16 ms to 49 days its values are within 1/16 of the true
/// ones; below 16 ms they are within 1 ms.
struct GapHistogram: Sendable {
    // Below 16 ms there is one bucket for each millisecond. Above, each doubling of the length has 16 buckets, up to
    // 2³² ms.
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

    /// Returns the upper limit of a bucket in nanoseconds. The gaps in it are shorter, except in the last bucket, which
    /// also has all longer ones.
    static func upperBound(of bucket: Int) -> Int64 {
        guard bucket >= 16 else { return Int64(bucket + 1) * 1_000_000 }
        let doubling = bucket / 16 + 3
        let mantissa = Int64(bucket % 16 + 16 + 1)
        return (mantissa << Int64(doubling - 4)) * 1_000_000
    }

    /// Returns the gap that a `share` of all gaps do not exceed, in nanoseconds, rounded up to the end of its bucket;
    /// `nil` without gaps.
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

    /// The buckets that contain gaps: the upper limit of each in nanoseconds, and the number of its gaps.
    var filled: [(upTo: Int64, count: Int)] {
        buckets.indices.filter { buckets[$0] > 0 }.map { (Self.upperBound(of: $0), Int(buckets[$0])) }
    }
}
