import BaseTypes
import BluetoothLE

/// Finds out that an adapter's reports are thinned out to one per scan (`accuracyLimited`).
///
/// A controller that filters duplicates reports a beacon once per scan, and a discovery's scan is ended and begun anew
/// every 10.24 s (kernel: DISCOV_LE_TIMEOUT). So nearly all gaps are that long, and hardly one is shorter. A sample of the
/// beacons is enough: 32 places, which a beacon holds while it is heard.
struct ThinningMeter: Sendable {
    private struct Entry: Sendable {
        var beacon: BeaconIdentity
        var last: Int64
    }

    // A controller that filters duplicates repeats itself once per 10.24 s scan: nine tenths of that.
    static let thinnedMin: Int64 = 9_216_000_000
    // A scan, the time until the next begins, and an advertising interval of 1.28 s.
    static let thinnedMax: Int64 = 12_000_000_000
    // Past this a beacon's place is free; it takes two scans that missed it.
    static let placeHeld: Int64 = 30_000_000_000
    private static let placeCount = 32
    // A dozen are no chance; beyond 64 the older ones count half, so that a change shows within as many gaps.
    private static let gapsMin = 12
    private static let gapsMax = 64

    private var entries: [Entry?] = []
    private var thinnedGaps = 0
    private var shortGaps = 0
    /// Whether the adapter gives each beacon one report a scan: nearly all gaps were as long as a scan.
    private(set) var isThinned = false

    /// A report of a beacon.
    ///
    /// - Returns: whether ``isThinned`` changed.
    mutating func heard(_ beacon: BeaconIdentity, at time: Instant) -> Bool {
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

    /// Nothing was heard for a reason of the adapter's: no gap spans it.
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

    // Any spread will do, and a beacon's own numbers spread: nobody gains by choosing them badly.
    private static func place(of beacon: BeaconIdentity) -> Int {
        let number = UInt64(beacon.major) << 16 | UInt64(beacon.minor)
        let mixed = (beacon.uuid.high ^ beacon.uuid.low ^ number) &* 0x9E37_79B9_7F4A_7C15
        return Int(mixed >> 59)
    }
}
