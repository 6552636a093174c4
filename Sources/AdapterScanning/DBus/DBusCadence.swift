/// Detects from the times between reports that a controller filters duplicates.
///
/// Such a controller reports each advertiser once per scan, and the kernel starts a new scan every 10.24 s. A slow
/// beacon can look the same, so several gaps must agree before the reports count as thinned.
struct DBusCadence: Sendable, Hashable {
    // Nine tenths of 10.24 s, the length of a scan in which a beacon is reported once.
    private static let thinnedGap: Duration = .milliseconds(9216)
    // Fewer gaps are not evidence. After that, one of eight gaps can be short, because a beacon whose data change is
    // reported again.
    private static let gapsMin = 8
    // A longer gap is an absence.
    private static let gapMax: Duration = .seconds(32)

    // The latest 32 gaps, one bit each, the latest in the lowest bit: 1 if the gap was long.
    private var longGaps: UInt32 = 0
    private var counted = 0

    /// Counts the time between two reports of one beacon.
    mutating func count(_ gap: Duration) {
        guard gap < Self.gapMax else { return }
        longGaps = longGaps << 1 | (gap >= Self.thinnedGap ? 1 : 0)
        counted = min(counted + 1, UInt32.bitWidth)
    }

    /// Discards the gaps, because another scan has started.
    mutating func reset() { self = DBusCadence() }

    /// Whether the reports are thinned out: nearly all gaps are as long as a scan.
    var isThinned: Bool { counted >= Self.gapsMin && longGaps.nonzeroBitCount * 8 >= counted * 7 }
}
