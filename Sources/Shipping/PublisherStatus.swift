public import BluetoothLE

/// How a publisher stands: what `status` shows.
public struct PublisherStatus: Sendable, Hashable {
    /// What it is doing.
    public enum State: String, Sendable, Hashable {
        /// It reaches for the broker.
        case connecting
        /// It is connected and ships what has waited.
        case draining
        /// It is connected and has shipped all there is.
        case connected
        /// It is connected, and the broker refuses a message; the lines after it wait.
        case refused
        /// It waits before it tries again.
        case waiting
        /// It has ended.
        case ended
    }

    /// What it is doing.
    public var state = State.connecting
    /// Since when, on the timeline.
    public var since: Instant
    /// Why the broker does not take what is published, or did not lately, and what to do; absent where it does.
    public var trouble: String?
    /// What this broker can't do, and what that costs; absent where it does all.
    public var limitation: String?
    /// What is wrong here, with files; absent where nothing is.
    public var localTrouble: String?
    /// Why it ended by itself; absent where it was told to, or has shipped all that it was to ship.
    public var failure: String?
    /// When it is tried again, where it waits.
    public var nextAttempt: Instant?
    /// The version of MQTT that is spoken; absent while none is.
    public var version: String?
    /// The last line that the broker has, with all before it.
    public var shipped = 0
    /// The last line that will not be wanted again: what the journal may delete up to.
    public var released = 0
    /// Lines that were sent and not acknowledged.
    public var inFlight = 0
    /// Lines that the broker acknowledged, and those of them that were sent before.
    public var acknowledged = 0
    /// Lines that were sent again after a connection had ended, or a message was refused.
    public var repeated = 0
    /// Messages that the broker refused.
    public var refusals = 0
    /// Numbers whose lines were not there any more.
    public var missed = 0
    /// Lines that could not be made sense of.
    public var damaged = 0
    /// Lines and retained messages that MQTT can't carry, and that were passed over.
    public var setAside = 0
    /// Lines without a number that were not sent, since there was no room for them or they were too old.
    public var dropped = 0
    /// Retained messages that the broker acknowledged.
    public var retained = 0
    /// Connections that came about.
    public var connections = 0
    /// Attempts that failed, and connections that ended.
    public var failures = 0
    /// How many octets of lines were read.
    public var octets = 0

    /// A publisher that begins.
    public init(since: Instant) { self.since = since }
}
