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

// As it goes through the pair.
extension PublisherStatus {
    /// The octets.
    package var message: [UInt8] {
        var fields = Fields()
        fields.put("state", state.rawValue)
        fields.put("since", Int(since.nanoseconds))
        fields.put("trouble", trouble)
        fields.put("limitation", limitation)
        fields.put("localTrouble", localTrouble)
        fields.put("failure", failure)
        fields.put("nextAttempt", nextAttempt.map { Int($0.nanoseconds) })
        fields.put("version", version)
        for (name, number) in Self.numbers { fields.put(name, self[keyPath: number]) }
        return fields.octets
    }

    /// Reads one; `nil` where it is none. Who sent it is not trusted: texts are bounded and can be printed.
    package init?(_ octets: ArraySlice<UInt8>) {
        guard let fields = ReadFields(octets), let state = fields.text("state").flatMap({ State(rawValue: $0) }),
            let since = fields.number("since")
        else { return nil }
        self.init(since: Instant(nanoseconds: Int64(since)))
        self.state = state
        trouble = fields.text("trouble").map { PublisherRemark.clean($0.utf8) }
        limitation = fields.text("limitation").map { PublisherRemark.clean($0.utf8) }
        localTrouble = fields.text("localTrouble").map { PublisherRemark.clean($0.utf8) }
        failure = fields.text("failure").map { PublisherRemark.clean($0.utf8) }
        nextAttempt = fields.number("nextAttempt").map { Instant(nanoseconds: Int64($0)) }
        version = fields.text("version")
        guard version == nil || version == "5" || version == "3.1.1" else { return nil }
        for (name, number) in Self.numbers {
            guard let value = fields.number("\(name)") else { return nil }
            self[keyPath: number] = value
        }
    }

    // Key paths that only name stored properties are as good as constants.
    private static var numbers: [(StaticString, WritableKeyPath<PublisherStatus, Int>)] {
        [
            ("shipped", \.shipped), ("released", \.released), ("inFlight", \.inFlight),
            ("acknowledged", \.acknowledged), ("repeated", \.repeated), ("refusals", \.refusals),
            ("missed", \.missed), ("damaged", \.damaged), ("setAside", \.setAside), ("dropped", \.dropped),
            ("retained", \.retained),
            ("connections", \.connections), ("failures", \.failures), ("octets", \.octets),
        ]
    }

    /// Whether what operators are told is another: such news goes up the pair at once, mere numbers now and then.
    package func differs(from other: PublisherStatus) -> Bool {
        state != other.state || version != other.version || trouble != other.trouble
            || limitation != other.limitation || localTrouble != other.localTrouble || failure != other.failure
            || nextAttempt != other.nextAttempt
    }
}
