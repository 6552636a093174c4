/// The log time: how much time has passed in a log while it was in use. The silence of gateways is measured by it (rule
/// M3).
///
/// If nothing was stored, the log or all gateways were unreachable, which must not count as the silence of one gateway.
/// So the time between two stored batches is limited, and each gateway has time to send its backlog. Times are
/// nanoseconds.
struct LogClock: Sendable, Hashable {
    /// The log time.
    private(set) var active: Int64 = 0
    private var latest: Int64?
    // The maximum time that counts between two stored batches.
    private let stepMax: Int64

    init(stepMax: Int64) { self.stepMax = stepMax }

    /// Records that a batch was stored. If a server's clock is earlier than the previous one, log time does not go
    /// back.
    mutating func note(_ stored: Int64) {
        if let latest { active += min(max(stored - latest, 0), stepMax) }
        latest = stored
    }
}
