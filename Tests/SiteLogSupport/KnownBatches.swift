internal import BaseTypes
internal import SiteMonitoring

/// Which batches were stored lately, and where, for a log that keeps them itself.
struct KnownBatches: Sendable {
    private let window: Duration
    private var offsets: [BatchKey: (offset: UInt64, at: Instant)] = [:]
    // In the order in which they were stored, those in front forgotten already.
    private var order: [(key: BatchKey, at: Instant)] = []
    private var forgotten = 0

    /// None, each to be known for `window`.
    init(for window: Duration) { self.window = window }

    /// Where the batch is; absent where it was not stored within the window.
    mutating func offset(of key: BatchKey, at now: Instant) -> UInt64? {
        while forgotten < order.count, now - order[forgotten].at >= window {
            let (key, at) = order[forgotten]
            if offsets[key]?.at == at { offsets[key] = nil }
            forgotten += 1
        }
        // Each is moved once for each that goes.
        if forgotten > 1_024, forgotten > order.count / 2 {
            order.removeFirst(forgotten)
            forgotten = 0
        }
        return offsets[key]?.offset
    }

    /// Notes that it was stored.
    mutating func note(_ key: BatchKey, offset: UInt64, at now: Instant) {
        offsets[key] = (offset, now)
        order.append((key, now))
    }
}
