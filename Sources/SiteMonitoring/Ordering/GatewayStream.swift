internal import BaseTypes

/// The state of one boot of one gateway: which of its batches have arrived, to which time it is complete, which
/// adapters scan, and how accurate its clock is. Times are nanoseconds, in the site's time unless stated otherwise.
struct GatewayStream: Sendable, Hashable {
    /// A batch that waits for an earlier one, and when it arrived, on the ``LogClock``.
    struct Waiting: Sendable, Hashable {
        let batch: Batch
        let at: Int64
    }

    /// An adapter, and whether it scans.
    struct AdapterState: Sendable, Hashable {
        let adapter: SiteAdapterNumber
        var isListening: Bool
    }

    // The sequence number of a boot's first batch, unless its process skips numbers.
    private static let first: UInt64 = 1
    // The maximum number of ranges of missing batches. If there are more, the oldest range is forgotten, and late
    // batches in it count as repeated.
    private static let missingMax = 64

    let gateway: LogName
    let boot: UInt128
    /// The sequence number of the batch that is accepted next.
    private(set) var next = Self.first
    private(set) var waiting: [UInt64: Waiting] = [:]
    private var missing: [ClosedRange<UInt64>] = []

    /// When a batch of the stream was stored last, on the ``LogClock``; `nil` if the stream is silent (rule M3).
    var lastStoredAt: Int64?
    /// When the stream was last near the furthest stream, on the ``LogClock``.
    var timelyAt: Int64
    /// The time before which everything that the gateway received is known; `nil` before its first batch is accepted.
    var completeTo: Int64?
    /// The same time, by the clock since the machine's start.
    var completeToSinceBoot: Instant?
    /// The time from which the stream has been waited for, if it is waited for.
    var joinedAt: Int64 = 0
    /// The adapters that the accepted batches have named, and whether they scan.
    private(set) var adapters: [AdapterState] = []
    var clock: ClockEstimate
    /// How far the stream's clock is behind the log's, as counted in ``ClockFleet``; `nil` if it is not counted.
    var skew: Int64?
    /// The sequence number of the batch that was accepted last, and the number of its indexes that are used.
    var sequence: UInt64 = 0
    var index: UInt32 = 0

    init(gateway: LogName, boot: UInt128, logAheadOfBoot: Int64, at active: Int64) {
        self.gateway = gateway
        self.boot = boot
        clock = ClockEstimate(logAheadOfBoot: logAheadOfBoot, at: active)
        timelyAt = active
    }

    // MARK: Arrival of batches

    /// Returns whether a batch has arrived before: it was accepted, or it waits.
    func has(_ sequence: UInt64) -> Bool {
        sequence < next ? !isMissing(sequence) : waiting[sequence] != nil
    }

    /// Returns whether a batch was given up.
    func isMissing(_ sequence: UInt64) -> Bool { missing.contains { $0.contains(sequence) } }

    /// Records the arrival of a batch that was given up. From then on it counts as arrived.
    mutating func noteLate(_ sequence: UInt64) {
        guard let place = missing.firstIndex(where: { $0.contains(sequence) }) else { return }
        let range = missing.remove(at: place)
        if sequence < range.upperBound { missing.insert(sequence + 1...range.upperBound, at: place) }
        if sequence > range.lowerBound { missing.insert(range.lowerBound...sequence - 1, at: place) }
        forgetMissing()
    }

    /// Stores a batch until the earlier ones have arrived.
    mutating func wait(_ batch: Batch, at active: Int64) {
        waiting[batch.key.sequence] = Waiting(batch: batch, at: active)
    }

    /// Removes and returns the next batch in sequence, if it waits.
    mutating func takeNext() -> Batch? { waiting.removeValue(forKey: next)?.batch }

    /// Records that the next batch in sequence is accepted.
    mutating func advance() {
        sequence = next
        index = 0
        // The largest number has no successor, so a batch with this number is not recognized if it is repeated.
        if next < .max { next += 1 }
    }

    /// Gives up the batches before the first waiting one.
    ///
    /// - Returns: the number of batches that were given up.
    mutating func giveUp() -> UInt64 {
        guard let first = waiting.keys.min(), first > next else { return 0 }
        missing.append(next...first - 1)
        forgetMissing()
        defer { next = first }
        return first - next
    }

    /// Continues with the first waiting batch if it is the first of the gateway's process.
    ///
    /// The skipped numbers were not used, or were used by an earlier process that has ended. If its unsent batches were
    /// stored, the new process has sent them before this one (rule R2).
    ///
    /// - Returns: whether any numbers were skipped.
    mutating func leapToStart() -> Bool {
        guard let first = waiting.keys.min(), waiting[first]?.batch.span.isStart == true else { return false }
        return giveUp() > 0
    }

    /// When the oldest waiting batch arrived, on the ``LogClock``; `nil` if none waits.
    var waitingSince: Int64? { waiting.values.lazy.map(\.at).min() }

    private mutating func forgetMissing() {
        if missing.count > Self.missingMax { missing.removeFirst(missing.count - Self.missingMax) }
    }

    // MARK: Adapters that scan

    /// Records whether an adapter scans.
    mutating func note(_ adapter: SiteAdapterNumber, isListening: Bool) {
        if let place = adapters.firstIndex(where: { $0.adapter == adapter }) {
            adapters[place].isListening = isListening
        } else {
            adapters.append(AdapterState(adapter: adapter, isListening: isListening))
        }
    }

    /// Returns whether an adapter scans.
    func listens(_ adapter: SiteAdapterNumber) -> Bool { adapters.contains { $0.adapter == adapter && $0.isListening } }

    /// The adapters that scan, in the order in which they were first named.
    var listeners: [SiteAdapterNumber] { adapters.filter(\.isListening).map(\.adapter) }
}
