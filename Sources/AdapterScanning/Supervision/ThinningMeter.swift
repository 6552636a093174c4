import BaseTypes
import BluetoothLE

/// Detects that an adapter delivers only one report of each beacon per scan (`accuracyLimited`).
///
/// A controller that filters duplicates reports a beacon once per scan, and the scan of a discovery is restarted every
/// 10.24 s (kernel: DISCOV_LE_TIMEOUT). So nearly all gaps are that long, and hardly any is shorter. A sample of the
/// beacons is sufficient: 32 entries, each used by one beacon while it is received.
struct ThinningMeter: Sendable {
    private struct Entry: Sendable {
        var beacon: BeaconIdentity
        var last: Int64
    }

    // In nanoseconds: nine tenths of 10.24 s, the length of a scan in which each beacon is reported once.
    static let thinnedMin: Int64 = 9_216_000_000
    // In nanoseconds: a scan, the time until the next one starts, and an advertising interval of 1.28 s.
    static let thinnedMax: Int64 = 12_000_000_000
    // In nanoseconds. After this time without a report, an entry can be used by another beacon. In this time two scans
    // must have missed it.
    static let placeHeld: Int64 = 30_000_000_000
    private static let placeCount = 32
    // A dozen gaps are not a coincidence. At 64 the counts are halved, so that a change is detected within as many
    // gaps.
    private static let gapsMin = 12
    private static let gapsMax = 64

    private var entries: [Entry?] = []
    private var thinnedGaps = 0
    private var shortGaps = 0
    /// Whether the adapter delivers one report of each beacon per scan: nearly all gaps were as long as a scan.
    private(set) var isThinned = false

    /// Records a report of a beacon.
    ///
    /// - Returns: whether ``isThinned`` changed.
    mutating func received(_ beacon: BeaconIdentity, at time: Instant) -> Bool {
        if entries.isEmpty { entries = Array(repeating: nil, count: Self.placeCount) }
        let now = time.nanoseconds
        let place = Self.place(of: beacon)
        guard let entry = entries[place], now - entry.last < Self.placeHeld else {
            entries[place] = Entry(beacon: beacon, last: now)
            return false
        }
        guard entry.beacon == beacon, now > entry.last else { return false }
        entries[place]?.last = now
        let gap = now - entry.last
        guard gap <= Self.thinnedMax else { return false }
        if gap < Self.thinnedMin { shortGaps += 1 } else { thinnedGaps += 1 }
        return judge()
    }

    /// Records that the adapter could not receive, so that no gap spans this time.
    mutating func interrupted() {
        for place in entries.indices { entries[place] = nil }
    }

    private mutating func judge() -> Bool {
        let before = isThinned
        if thinnedGaps >= Self.gapsMin, shortGaps * 8 <= thinnedGaps {
            isThinned = true
        } else if shortGaps * 2 >= thinnedGaps {
            isThinned = false
        }
        if thinnedGaps + shortGaps >= Self.gapsMax {
            thinnedGaps /= 2
            shortGaps /= 2
        }
        return before != isThinned
    }

    // The hash need not resist attacks, because a bad distribution of beacon numbers gives an attacker no advantage.
    private static func place(of beacon: BeaconIdentity) -> Int {
        let number = UInt64(beacon.major) << 16 | UInt64(beacon.minor)
        let mixed = (beacon.uuid.high ^ beacon.uuid.low ^ number) &* 0x9E37_79B9_7F4A_7C15
        return Int(mixed >> 59)
    }
}
