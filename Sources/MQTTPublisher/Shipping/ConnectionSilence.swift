import BaseTypes

/// For how long a connection has been silent: when the broker is to be asked whether it is there, and when it has not
/// answered for too long.
struct ConnectionSilence {
    // The library counts in whole seconds.
    private static let second: Duration = .seconds(1)

    /// For how long it may be silent.
    private var longest: Duration
    private var lastSent: Instant
    private var lastHeard: Instant
    private var lastPing: Instant
    /// Since when something is under way and nothing was acknowledged.
    private var unacknowledgedSince: Instant?

    /// One of a connection that begins.
    init(upTo longest: Duration, at now: Instant) {
        self.longest = longest
        (lastSent, lastHeard, lastPing) = (now, now, now)
    }

    /// The broker took the connection, and may have said for how long it is to be silent at most (MQTT 5 §3.2.2.3.14).
    mutating func begin(upTo longest: Duration?, at now: Instant) {
        if let longest { self.longest = longest }
        (lastSent, lastHeard, lastPing) = (now, now, now)
    }

    /// Something was sent.
    mutating func sent(at now: Instant) { lastSent = now }
    /// Something came.
    mutating func heard(at now: Instant) { lastHeard = now }
    /// The broker was asked whether it is there.
    mutating func asked(at now: Instant) { lastPing = now }

    /// Whether the broker is to be asked.
    func isDue(at now: Instant) -> Bool { now >= begin + longest }
    /// When that is to be looked at.
    var next: Instant { begin + longest + Self.second }
    private var begin: Instant { max(lastPing, min(lastSent, lastHeard)) }

    /// Notes whether something is under way. Answers to pings alone would keep such a connection for ever.
    mutating func note(isUnderWay: Bool, at now: Instant) {
        if !isUnderWay {
            unacknowledgedSince = nil
        } else if unacknowledgedSince == nil {
            unacknowledgedSince = now
        }
    }

    /// Something was acknowledged.
    mutating func acknowledged() { unacknowledgedSince = nil }

    /// For how long nothing was acknowledged of what is under way, where that is too long.
    func unacknowledged(at now: Instant) -> Duration? {
        guard let since = unacknowledgedSince, now - since >= longest * 2 else { return nil }
        return now - since
    }
}
