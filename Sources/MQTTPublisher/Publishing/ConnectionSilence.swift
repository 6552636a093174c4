import BaseTypes

/// Measures how long a connection has been silent. It decides when a ping must be sent, and when the broker has not
/// acknowledged messages for too long.
struct ConnectionSilence {
    // The library counts whole seconds.
    private static let second: Duration = .seconds(1)

    /// The keep-alive time: how long the connection may be silent.
    private var longest: Duration
    private var lastSent: Instant
    private var lastReceived: Instant
    private var lastPing: Instant
    /// The start of the time in which messages are in flight and none was acknowledged; `nil` if there is no such time.
    private var unacknowledgedSince: Instant?

    /// Creates a value for a new connection.
    init(upTo longest: Duration, at now: Instant) {
        self.longest = longest
        (lastSent, lastReceived, lastPing) = (now, now, now)
    }

    /// Notes that the broker accepted the connection. It may have set another keep-alive time (MQTT 5 §3.2.2.3.14).
    mutating func begin(upTo longest: Duration?, at now: Instant) {
        if let longest { self.longest = longest }
        (lastSent, lastReceived, lastPing) = (now, now, now)
    }

    /// Notes that data was sent.
    mutating func sent(at now: Instant) { lastSent = now }
    /// Notes that data was received.
    mutating func received(at now: Instant) { lastReceived = now }
    /// Notes that a ping was sent.
    mutating func asked(at now: Instant) { lastPing = now }

    /// Returns whether a ping must be sent.
    func isDue(at now: Instant) -> Bool { now >= begin + longest }
    /// The time of the next check.
    var next: Instant { begin + longest + Self.second }
    private var begin: Instant { max(lastPing, min(lastSent, lastReceived)) }

    /// Notes whether a message is in flight. Without this check, a broker that only answers pings would keep such a
    /// connection forever.
    mutating func note(isUnderWay: Bool, at now: Instant) {
        if !isUnderWay {
            unacknowledgedSince = nil
        } else if unacknowledgedSince == nil {
            unacknowledgedSince = now
        }
    }

    /// Notes that a message was acknowledged.
    mutating func acknowledged() { unacknowledgedSince = nil }

    /// Returns how long no message was acknowledged, if messages are in flight and the time is at least twice the
    /// keep-alive time; otherwise `nil`.
    func unacknowledged(at now: Instant) -> Duration? {
        guard let since = unacknowledgedSince, now - since >= longest * 2 else { return nil }
        return now - since
    }
}
