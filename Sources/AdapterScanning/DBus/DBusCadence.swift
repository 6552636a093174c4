/// Whether the times between the reports of beacons look like those of a controller that filters duplicates.
///
/// Such a controller reports each advertiser once a scan, and the kernel begins a new scan every 10.24 s. It takes two
/// beacons that advertise faster than that to tell it apart from a slow beacon, so several gaps have to agree.
struct DBusCadence: Sendable, Hashable {
    // Once per 10.24 s scan: nine tenths of that.
    private static let thinnedGap: Duration = .milliseconds(9216)
    // Fewer say nothing. Of the gaps after that, one in eight may be short: a beacon that changes its data is repeated.
    private static let gapsMin = 8
    // What is longer is an absence.
    private static let gapMax: Duration = .seconds(32)

    // The latest 32 gaps, a bit each, the lowest the latest: whether it was long.
    private var longGaps: UInt32 = 0
    private var counted = 0

    /// Counts the time between two reports of one beacon.
    mutating func count(_ gap: Duration) {
        guard gap < Self.gapMax else { return }
        longGaps = longGaps << 1 | (gap >= Self.thinnedGap ? 1 : 0)
        counted = min(counted + 1, UInt32.bitWidth)
    }

    /// Forgets what it saw: the scan is another one now.
    mutating func reset() { self = DBusCadence() }

    /// Whether reports are thinned out.
    var isThinned: Bool { counted >= Self.gapsMin && longGaps.nonzeroBitCount * 8 >= counted * 7 }
}
