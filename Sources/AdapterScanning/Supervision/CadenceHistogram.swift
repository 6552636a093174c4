package import BluetoothLE

/// How a beacon's gaps are counted: in a fixed number of buckets, eight for each doubling, so within an eighth of the
/// truth. From 16 ms, below which no advertising interval lies (Core Spec Vol 6 Part B §4.4.2.2: 20 ms), to 15 minutes.
enum CadenceBuckets {
    static let count = 128

    /// The bucket of a gap.
    @inline(__always)
    static func bucket(of nanoseconds: Int64) -> Int {
        let milliseconds = Int(truncatingIfNeeded: max(nanoseconds, 0) / 1_000_000)
        guard milliseconds >= 16 else { return 0 }
        let doubling = Int.bitWidth - 1 - milliseconds.leadingZeroBitCount
        return min((doubling - 4) * 8 + (milliseconds >> (doubling - 3)) - 8 + 1, count - 1)
    }

    /// The duration below which the gaps of a bucket lie; of the last one, all others.
    static func upperBound(of bucket: Int) -> Duration {
        guard bucket > 0 else { return .milliseconds(16) }
        let (doubling, eighth) = (bucket - 1).quotientAndRemainder(dividingBy: 8)
        return .milliseconds((eighth + 9) << (doubling + 1))
    }
}

/// What is known of the gaps between a beacon's reports.
package struct Cadence: Sendable, Hashable {
    /// The beacon whose gaps these are.
    package let beacon: BeaconIdentity
    /// How many gaps it rests on; older ones count less.
    package let gaps: Int
    /// Half of the gaps are at most this.
    package let median: Duration
    /// 99 of 100 gaps are at most this.
    package let p99: Duration
    /// The longest that belongs to the cadence: the longest tenth of a percent, one gap at least, is left out, since
    /// somebody may have been away.
    package let longest: Duration

    /// The shortest exit timeout that this cadence can bear: twice ``longest``.
    ///
    /// A gap of twice the length takes the loss of as many reports again: with losses that do not know of each other, what
    /// happens once in a thousand gaps then happens once in a million, which at one report a second is once in 12 days.
    package var bearable: Duration { longest * 2 }
}
