public import BaseTypes
public import BeaconMonitoring
public import BluetoothLE

/// What an exit rests on: the `evidence` line beside it, from which `explain` tells why.
public struct Evidence: Sendable, Hashable {
    /// An adapter that held the subject.
    public struct Holder: Sendable, Hashable {
        /// The name that lines call it by.
        public var adapter: String
        /// The last sighting of its that was strong enough.
        public var lastRefresh: Instant
        /// How long it listened since that sighting.
        public var listened: Duration
    }

    /// One of the last sightings.
    public struct Heard: Sendable, Hashable {
        /// When it was heard, on the timeline.
        public var time: Instant
        /// The name of the adapter that heard it.
        public var adapter: String
        /// How strongly it was heard; absent where the controller did not know.
        public var rssi: RSSI?
    }

    /// A part of the silences.
    public struct Share: Sendable, Hashable {
        /// How many silences belong to the part.
        public var count: Int
        /// How many silences were compared.
        public var total: Int
    }

    /// How long the beacon was silent between sightings since it has been followed.
    public struct Gaps: Sendable, Hashable {
        /// How many silences there were.
        public var count: Int
        /// What half of them did not exceed; absent without any.
        public var median: Duration?
        /// What 99 of a hundred did not exceed; absent without any.
        public var p99: Duration?
        /// The longest of them; absent without any.
        public var maximum: Duration?
        /// The silences that were longer than the condition's exit timeout, counted exactly since the recorder has that
        /// timeout. Absent in lines of earlier versions, without any silence, for an exit timeout of 10 minutes or more, and
        /// for a timeout that came after ``EvidenceRecorder/timeoutsMax`` others.
        public var longerThanTimeout: Share?
    }

    /// The number of the event's line.
    public var event: Int
    /// The monitor's name.
    public var monitor: String
    /// The condition's identifier.
    public var identifier: String
    /// The rule that decided: `X2` silence, `X1` sightings too weak to count, `L2` an outage.
    public var rule: String
    /// When the exit was, on the timeline.
    public var time: Instant
    /// How far the wall clock was ahead of the timeline then.
    public var clockOffset: ClockOffset
    /// Who held the subject; at most eight.
    public var holders: [Holder]
    /// The last sightings of the beacon that was heard last, oldest first; at most ``EvidenceRecorder/sightingsMax``.
    public var sightings: [Heard]
    /// How long that beacon was silent between its sightings.
    public var gaps: Gaps
}

/// A histogram of silences in a fixed place: eight buckets for each doubling from 16 ms to 18 hours.
struct GapSketch {
    static let bucketCount = 176
    private static let first: Int64 = 16_000_000

    private(set) var count = 0
    private(set) var maximum: Int64 = 0
    private var buckets = InlineArray<176, UInt16>(repeating: 0)

    mutating func add(_ nanoseconds: Int64) {
        let bucket = Self.bucket(of: nanoseconds)
        if buckets[bucket] == .max {
            // Halved together they keep their shape, and what is new counts for more.
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

    /// The silence that `perMille` of a thousand do not exceed, within an eighth; `nil` without any.
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
