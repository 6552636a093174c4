public import BaseTypes
public import BeaconMonitoring
public import BluetoothLE

/// The evidence of an exit: the content of the `evidence` line, which `explain` uses to state the reason of the exit.
public struct Evidence: Sendable, Hashable {
    /// An adapter that held the subject.
    public struct Holder: Sendable, Hashable {
        /// The name of the adapter in lines.
        public var adapter: String
        /// The time of the last refresh by this adapter.
        public var lastRefresh: Instant
        /// How long the adapter scanned since that refresh.
        public var listened: Duration
    }

    /// One of the last sightings.
    public struct LastSighting: Sendable, Hashable {
        /// The time of the sighting, on the timeline.
        public var time: Instant
        /// The name of the adapter that received it.
        public var adapter: String
        /// The signal strength; `nil` if the controller did not know it.
        public var rssi: RSSI?
    }

    /// How many of the gaps have a property.
    public struct Share: Sendable, Hashable {
        /// The number of gaps with the property.
        public var count: Int
        /// The number of gaps that were compared.
        public var total: Int
    }

    /// The gaps between the sightings of the beacon since it has been followed.
    public struct Gaps: Sendable, Hashable {
        /// The number of gaps.
        public var count: Int
        /// The median of the gaps; `nil` if there are none.
        public var median: Duration?
        /// The 99th percentile of the gaps; `nil` if there are none.
        public var p99: Duration?
        /// The longest gap; `nil` if there are none.
        public var maximum: Duration?
        /// The gaps longer than the exit timeout of the condition, counted exactly since the recorder knows that
        /// timeout. `nil` in lines of earlier versions, if there are no gaps, for an exit timeout of 10 minutes or
        /// more, and for a timeout that was added after ``EvidenceRecorder/timeoutsMax`` others.
        public var longerThanTimeout: Share?
    }

    /// The number of the line of the event.
    public var event: Int
    /// The name of the monitor.
    public var monitor: String
    /// The identifier of the condition.
    public var identifier: String
    /// The rule that decided: `X2` for no sightings, `X1` for sightings that were too weak, `L2` for an outage.
    public var rule: String
    /// The time of the exit, on the timeline.
    public var time: Instant
    /// How far the wall clock is ahead of the timeline at that time.
    public var clockOffset: ClockOffset
    /// The adapters that held the subject; at most eight.
    public var holders: [Holder]
    /// The last sightings of the beacon that was received last, oldest first; at most
    /// ``EvidenceRecorder/sightingsMax``.
    public var sightings: [LastSighting]
    /// The gaps between the sightings of that beacon.
    public var gaps: Gaps
}

/// A histogram of gaps with a fixed size: eight buckets for each doubling, from 16 ms to 18 hours.
struct GapSketch {
    static let bucketCount = 176
    private static let first: Int64 = 16_000_000

    private(set) var count = 0
    private(set) var maximum: Int64 = 0
    private var buckets = InlineArray<176, UInt16>(repeating: 0)

    mutating func add(_ nanoseconds: Int64) {
        let bucket = Self.bucket(of: nanoseconds)
        if buckets[bucket] == .max {
            // Halving all buckets keeps the shape of the distribution, and gives new gaps a greater weight.
            for index in 0..<Self.bucketCount { buckets[index] /= 2 }
        }
        buckets[bucket] += 1
        count += 1
        maximum = max(maximum, nanoseconds)
    }

    private static func bucket(of nanoseconds: Int64) -> Int {
        guard nanoseconds >= first else { return 0 }
        let scaled = UInt64(nanoseconds / (first / 8))
        let doubling = 60 - scaled.leadingZeroBitCount
        return min(doubling * 8 + Int(scaled >> UInt64(doubling)) - 8 + 1, bucketCount - 1)
    }

    private static func upperBound(of bucket: Int) -> Int64 {
        guard bucket > 0 else { return first }
        let (doubling, mantissa) = ((bucket - 1) / 8, (bucket - 1) % 8)
        return (Int64(8 + mantissa + 1) << Int64(doubling)) * (first / 8)
    }

    /// Returns the gap that `perMille` of a thousand gaps do not exceed, with an error of at most one eighth; `nil` if
    /// there are no gaps.
    func quantile(perMille: Int) -> Int64? {
        var total = 0
        for index in 0..<Self.bucketCount { total += Int(buckets[index]) }
        guard total > 0 else { return nil }
        let rank = max(1, (total * perMille + 999) / 1000)
        var seen = 0
        for index in 0..<Self.bucketCount {
            seen += Int(buckets[index])
            if seen >= rank { return min(Self.upperBound(of: index), maximum) }
        }
        return maximum
    }
}
