internal import BaseTypes
internal import SiteMonitoring

/// The batches that were stored recently, with their offsets, for a log that stores them itself.
struct KnownBatches: Sendable {
    private let window: Duration
    private var offsets: [BatchKey: (offset: UInt64, at: Instant)] = [:]
    // In the order in which they were stored. The first ones, which are forgotten already, are still included.
    private var order: [(key: BatchKey, at: Instant)] = []
    private var forgotten = 0

    /// Creates an empty value that knows each batch for `window`.
    init(for window: Duration) { self.window = window }

    /// Returns the offset of the batch; `nil` if it was not stored within the window.
    mutating func offset(of key: BatchKey, at now: Instant) -> UInt64? {
        while forgotten < order.count, now - order[forgotten].at >= window {
            let (key, at) = order[forgotten]
            if offsets[key]?.at == at { offsets[key] = nil }
            forgotten += 1
        }
        // Forgotten entries are removed only if they are more than half, so that fewer entries are moved than removed.
        if forgotten > 1_024, forgotten > order.count / 2 {
            order.removeFirst(forgotten)
            forgotten = 0
        }
        return offsets[key]?.offset
    }

    /// Notes that the batch was stored.
    mutating func note(_ key: BatchKey, offset: UInt64, at now: Instant) {
        offsets[key] = (offset, now)
        order.append((key, now))
    }
}
