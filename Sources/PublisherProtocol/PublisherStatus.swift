package import BaseTypes

/// How a publisher stands: what `status` shows.
package struct PublisherStatus: Sendable, Hashable {
    /// What it is doing.
    package enum State: String, Sendable, Hashable {
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
    package var state = State.connecting
    /// Since when, on the timeline.
    package var since: Instant
    /// Why the broker does not take what is published, or did not lately, and what to do; absent where it does.
    package var trouble: String?
    /// What this broker can't do, and what that costs; absent where it does all.
    package var limitation: String?
    /// What is wrong here, with files; absent where nothing is.
    package var localTrouble: String?
    /// Why it ended by itself; absent where it was told to, or has shipped all that it was to ship.
    package var failure: String?
    /// When it is tried again, where it waits.
    package var nextAttempt: Instant?
    /// The version of MQTT that is spoken; absent while none is.
    package var version: String?
    /// The last line that the broker has, with all before it.
    package var shipped = 0
    /// The last line that will not be wanted again: what the journal may delete up to.
    package var released = 0
    /// Lines that were sent and not acknowledged.
    package var inFlight = 0
    /// Lines that the broker acknowledged, and those of them that were sent before.
    package var acknowledged = 0
    /// Lines that were sent again after a connection had ended, or a message was refused.
    package var repeated = 0
    /// Messages that the broker refused.
    package var refusals = 0
    /// Numbers whose lines were not there any more.
    package var missed = 0
    /// Lines that could not be made sense of.
    package var damaged = 0
    /// Lines and retained messages that MQTT can't carry, and that were passed over.
    package var setAside = 0
    /// Lines without a number that were not sent, since there was no room for them or they were too old.
    package var dropped = 0
    /// Retained messages that the broker acknowledged.
    package var retained = 0
    /// Connections that came about.
    package var connections = 0
    /// Attempts that failed, and connections that ended.
    package var failures = 0
    /// How many octets of lines were read.
    package var octets = 0

    /// A publisher that begins.
    package init(since: Instant) { self.since = since }
}
