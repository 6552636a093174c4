package import BaseTypes

/// The status of a publisher, which `status` shows.
package struct PublisherStatus: Sendable, Hashable {
    /// The activity of a publisher.
    package enum State: String, Sendable, Hashable {
        /// It connects to the broker.
        case connecting
        /// It is connected and publishes the backlog.
        case draining
        /// It is connected and has published all lines.
        case connected
        /// It is connected, and the broker refuses a message. The lines after that message wait.
        case refused
        /// It waits before the next attempt.
        case waiting
        /// It has ended.
        case ended
    }

    /// The present activity.
    package var state = State.connecting
    /// The start of this activity, on the timeline.
    package var since: Instant
    /// Why the broker does not accept messages, or recently did not, with a remedy; `nil` if it accepts them.
    package var brokerFailure: String?
    /// The features that this broker does not support, and the effects; `nil` if it supports all.
    package var limitation: String?
    /// The problem on this machine, such as one with files; `nil` if there is none.
    package var localFailure: String?
    /// Why the publisher ended by itself; `nil` if it was stopped, or has published everything that it had to publish.
    package var failure: String?
    /// The time of the next attempt, if the publisher waits.
    package var nextAttempt: Instant?
    /// The version of MQTT of the present connection; `nil` without a connection.
    package var version: String?
    /// The number of the last line that the broker has acknowledged together with all lines before it.
    package var published = 0
    /// The number of the last line that the publisher will not need again. The journal may delete lines up to it.
    package var released = 0
    /// The number of lines that were sent and not acknowledged.
    package var inFlight = 0
    /// The number of acknowledged lines, including those that were sent again.
    package var acknowledged = 0
    /// The number of lines that were sent again after a connection ended or the broker refused a message.
    package var repeated = 0
    /// The number of messages that the broker refused.
    package var refusals = 0
    /// The number of sequence numbers whose lines did not exist any more.
    package var missed = 0
    /// The number of lines that could not be parsed.
    package var damaged = 0
    /// The number of lines and retained messages that were skipped because MQTT cannot carry them.
    package var setAside = 0
    /// The number of lines without a sequence number that were not sent, because there was no room for them or they
    /// were too old.
    package var dropped = 0
    /// The number of retained messages that the broker acknowledged.
    package var retained = 0
    /// The number of connections that were established.
    package var connections = 0
    /// The number of failed attempts and ended connections.
    package var failures = 0
    /// The number of bytes of lines that were read.
    package var bytesRead = 0

    /// Creates the status of a publisher that starts.
    package init(since: Instant) { self.since = since }
}

// The encoding for the pair of sockets.
extension PublisherStatus {
    /// The encoded status.
    package var message: [UInt8] {
        var fields = Fields()
        fields.put("state", state.rawValue)
        fields.put("since", Int(since.nanoseconds))
        fields.put("trouble", brokerFailure)
        fields.put("limitation", limitation)
        fields.put("localTrouble", localFailure)
        fields.put("failure", failure)
        fields.put("nextAttempt", nextAttempt.map { Int($0.nanoseconds) })
        fields.put("version", version)
        for (name, number) in Self.numbers { fields.put(name, self[keyPath: number]) }
        return fields.bytes
    }

    /// Decodes a status; `nil` if it is invalid. The sender is not trusted, so texts are truncated and made printable.
    package init?(_ bytes: ArraySlice<UInt8>) {
        guard let fields = ReadFields(bytes), let state = fields.text("state").flatMap({ State(rawValue: $0) }),
            let since = fields.number("since")
        else { return nil }
        self.init(since: Instant(nanoseconds: Int64(since)))
        self.state = state
        brokerFailure = fields.text("trouble").map { PublisherRemark.clean($0.utf8) }
        limitation = fields.text("limitation").map { PublisherRemark.clean($0.utf8) }
        localFailure = fields.text("localTrouble").map { PublisherRemark.clean($0.utf8) }
        failure = fields.text("failure").map { PublisherRemark.clean($0.utf8) }
        nextAttempt = fields.number("nextAttempt").map { Instant(nanoseconds: Int64($0)) }
        version = fields.text("version")
        guard version == nil || version == "5" || version == "3.1.1" else { return nil }
        for (name, number) in Self.numbers {
            guard let value = fields.number("\(name)") else { return nil }
            self[keyPath: number] = value
        }
    }

    // Key paths that refer only to stored properties cost as little as constants.
    private static var numbers: [(StaticString, WritableKeyPath<PublisherStatus, Int>)] {
        [
            ("shipped", \.published), ("released", \.released), ("inFlight", \.inFlight),
            ("acknowledged", \.acknowledged), ("repeated", \.repeated), ("refusals", \.refusals),
            ("missed", \.missed), ("damaged", \.damaged), ("setAside", \.setAside), ("dropped", \.dropped),
            ("retained", \.retained),
            ("connections", \.connections), ("failures", \.failures), ("octets", \.bytesRead),
        ]
    }

    /// Returns whether a part other than ``since`` and the counters differs. The publisher sends such changes
    /// immediately, and counters only from time to time.
    package func differs(from other: PublisherStatus) -> Bool {
        state != other.state || version != other.version || brokerFailure != other.brokerFailure
            || limitation != other.limitation || localFailure != other.localFailure || failure != other.failure
            || nextAttempt != other.nextAttempt
    }
}
