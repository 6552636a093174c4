package import BluetoothLE

/// The buckets in which the gaps of a beacon are counted: a fixed number, eight for each doubling, so that a bucket's
/// bound exceeds a gap by at most an eighth. They range from 16 ms (advertising intervals are at least 20 ms, Core Spec
/// Vol 6 Part B §4.4.2.2) to 15 minutes.
enum CadenceBuckets {
    static let count = 128

    /// Returns the bucket of a gap.
    @inline(__always)
    static func bucket(of nanoseconds: Int64) -> Int {
        let milliseconds = Int(truncatingIfNeeded: max(nanoseconds, 0) / 1_000_000)
        guard milliseconds >= 16 else { return 0 }
        let doubling = Int.bitWidth - 1 - milliseconds.leadingZeroBitCount
        return min((doubling - 4) * 8 + (milliseconds >> (doubling - 3)) - 8 + 1, count - 1)
    }

    /// Returns the bound that all gaps of a bucket are below. The last bucket also contains all longer gaps.
    static func upperBound(of bucket: Int) -> Duration {
        guard bucket > 0 else { return .milliseconds(16) }
        let (doubling, eighth) = (bucket - 1).quotientAndRemainder(dividingBy: 8)
        return .milliseconds((eighth + 9) << (doubling + 1))
    }
}

/// Statistics of the gaps between a beacon's reports.
package struct Cadence: Sendable, Hashable {
    /// The beacon.
    package let beacon: BeaconIdentity
    /// The number of gaps on which the figures are based. Older gaps have less weight, also in this number.
    package let gaps: Int
    /// Half of the gaps are at most this.
    package let median: Duration
    /// 99 of 100 gaps are at most this.
    package let p99: Duration
    /// The longest gap without the longest 0.1 % of the gaps, at least one, because the beacon may have been absent in
    /// these.
    package let longest: Duration

    /// The shortest exit timeout that is safe for this cadence: twice ``longest``.
    ///
    /// A gap of twice the length needs the loss of twice as many reports. If losses are independent and a gap longer
    /// than ``longest`` occurs once in a thousand gaps, one of twice that length occurs once in a million, which at one
    /// report per second is once in 12 days.
    package var bearable: Duration { longest * 2 }
}
