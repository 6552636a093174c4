/// How much time has gone by in a log, as far as it was in use: what the gateways' silence is measured by (rule M3).
///
/// Where nobody stored anything, the log itself was away, or all gateways were, and that is nobody's silence: such a stretch
/// counts for little, so that each gateway has time to come with what it kept. Nanoseconds.
struct LogClock: Sendable, Hashable {
    /// How much has gone by.
    private(set) var active: Int64 = 0
    private var latest: Int64?
    // What a stretch without anything stored counts for at most.
    private let stepMax: Int64

    init(stepMax: Int64) { self.stepMax = stepMax }

    /// Something was stored. A server's clock that is behind the one before lets no time go back.
    mutating func note(_ stored: Int64) {
        if let latest { active += min(max(stored - latest, 0), stepMax) }
        latest = stored
    }
}
