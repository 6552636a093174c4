internal import BaseTypes

/// What is known of one start of one gateway: which of its batches have come, how far it is complete, who listens, and what
/// its clock is worth. Times are nanoseconds, in the site's time where nothing else is said.
struct GatewayStream: Sendable, Hashable {
    /// A batch that waits for one before it, and when, on the ``LogClock``, it came.
    struct Waiting: Sendable, Hashable {
        let batch: Batch
        let at: Int64
    }

    /// An adapter, and whether it listens.
    struct Listening: Sendable, Hashable {
        let adapter: SiteAdapterNumber
        var isListening: Bool
    }

    // What the first batch of a start has.
    private static let first: UInt64 = 1
    // Of more stretches than this the oldest is not known any more, and what comes of it late counts as repeated.
    private static let missingMax = 64

    let gateway: LogName
    let boot: UInt128
    /// The number of the batch that is to be taken in next.
    private(set) var next = Self.first
    private(set) var waiting: [UInt64: Waiting] = [:]
    private var missing: [ClosedRange<UInt64>] = []

    /// When, on the ``LogClock``, something of it was stored last; absent where that is too long ago (rule M3).
    var heardAt: Int64?
    /// When, on the ``LogClock``, it was last near the furthest of all.
    var timelyAt: Int64
    /// Up to when all that it heard is known; absent before its first batch is taken in.
    var completeTo: Int64?
    /// The same by the clock since its machine's start.
    var toldTo: Instant?
    /// From when on it has been waited for, where it is.
    var joinedAt: Int64 = 0
    /// The adapters that it has named, and whether they listen, as far as its batches are taken in.
    private(set) var adapters: [Listening] = []
    var clock: ClockEstimate
    /// By how much its clock is behind the log's, as ``ClockFleet`` counts it; absent where it does not.
    var skew: Int64?
    /// The batch that was taken in last, and how many places in it are taken.
    var sequence: UInt64 = 0
    var index: UInt32 = 0

    init(gateway: LogName, boot: UInt128, logAheadOfBoot: Int64, at active: Int64) {
        self.gateway = gateway
        self.boot = boot
        clock = ClockEstimate(logAheadOfBoot: logAheadOfBoot, at: active)
        timelyAt = active
    }

    // MARK: Which batches have come

    /// Whether a batch has come before: it was taken in, or waits.
    func has(_ sequence: UInt64) -> Bool {
        sequence < next ? !isMissing(sequence) : waiting[sequence] != nil
    }

    /// Whether a batch was given up.
    func isMissing(_ sequence: UInt64) -> Bool { missing.contains { $0.contains(sequence) } }

    /// Notes that a batch came which had been given up: it is known from then on.
    mutating func noteLate(_ sequence: UInt64) {
        guard let place = missing.firstIndex(where: { $0.contains(sequence) }) else { return }
        let range = missing.remove(at: place)
        if sequence < range.upperBound { missing.insert(sequence + 1...range.upperBound, at: place) }
        if sequence > range.lowerBound { missing.insert(range.lowerBound...sequence - 1, at: place) }
        forgetMissing()
    }

    /// Keeps a batch until those before it have come.
    mutating func wait(_ batch: Batch, at active: Int64) {
        waiting[batch.key.sequence] = Waiting(batch: batch, at: active)
    }

    /// The batch whose turn it is, where it waits.
    mutating func takeNext() -> Batch? { waiting.removeValue(forKey: next)?.batch }

    /// Notes that the batch is taken in whose turn it is.
    mutating func advance() {
        sequence = next
        index = 0
        // The last number there is has none after it: whatever comes under it again is one that was there.
        if next < .max { next += 1 }
    }

    /// Gives up what lies before the first that waits.
    /// - Returns: how many batches that are.
    mutating func giveUp() -> UInt64 {
        guard let first = waiting.keys.min(), first > next else { return 0 }
        missing.append(next...first - 1)
        forgetMissing()
        defer { next = first }
        return first - next
    }

    /// Goes on with the first that waits, where it is the first of the gateway's process: no number before it was used since
    /// the last that was taken in, but by a process that is over, and what that left unsent was not sent by now.
    /// - Returns: whether it is.
    mutating func leapToStart() -> Bool {
        guard let first = waiting.keys.min(), waiting[first]?.batch.span.isStart == true else { return false }
        return giveUp() > 0
    }

    /// When, on the ``LogClock``, the oldest of those came that wait; absent where none does.
    var waitingSince: Int64? { waiting.values.lazy.map(\.at).min() }

    private mutating func forgetMissing() {
        if missing.count > Self.missingMax { missing.removeFirst(missing.count - Self.missingMax) }
    }

    // MARK: Who listens

    /// Notes whether an adapter listens.
    mutating func note(_ adapter: SiteAdapterNumber, isListening: Bool) {
        if let place = adapters.firstIndex(where: { $0.adapter == adapter }) {
            adapters[place].isListening = isListening
        } else {
            adapters.append(Listening(adapter: adapter, isListening: isListening))
        }
    }

    /// Whether an adapter listens.
    func listens(_ adapter: SiteAdapterNumber) -> Bool { adapters.contains { $0.adapter == adapter && $0.isListening } }

    /// The adapters that listen, in the order in which they were named.
    var listeners: [SiteAdapterNumber] { adapters.filter(\.isListening).map(\.adapter) }
}
