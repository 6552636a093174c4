package import BaseTypes
import PublisherProtocol

/// Decides when to connect again, and with which version of MQTT. Failures are the input, times are the output.
package struct ConnectionPlan: Sendable {
    /// A version of MQTT.
    package enum Version: String, Sendable, Hashable {
        /// MQTT 5.0.
        case five = "5"
        /// MQTT 3.1.1.
        case three = "3.1.1"
    }

    /// How far an attempt got.
    package enum Reach: Sendable, Hashable {
        /// No broker was asked for a connection: it could not be reached, or TLS failed.
        case notReached
        /// A broker was asked and gave no answer.
        case unanswered
        /// A broker answered.
        case answered
    }

    // A connection that lasted this long counts as successful, even if no message was sent in it.
    static let steadyAfter: Duration = .seconds(60)
    // The number of MQTT 5 attempts without an answer after which 3.1.1 is tried. An attempt that fails by chance
    // succeeds the second time.
    static let unansweredMax = 2
    // After this number of connections in a row that ended soon, another client with the same identifier is suspected.
    // A broker can restart twice in a row, so two are not enough.
    static let soonEndsMax = 3

    private let options: PublisherOptions.BackOff
    private let choice: PublisherOptions.VersionChoice
    private var random: SplitMix
    private var failures = 0
    private var refusals = 0
    private var unanswered = 0
    private var connectedAt: Instant?
    private var triesThree = false
    // Whether this broker accepts 3.1.1 and did not answer to 5.
    private var answersOnlyThree = false

    /// The time of the next attempt; `nil` during an attempt and while a connection exists.
    package private(set) var nextAttempt: Instant?
    /// Whether the broker is known to support MQTT 5, from this process or an earlier one.
    package private(set) var hasSeenFive: Bool
    /// Whether the next attempt uses no retained messages, because the broker refused them.
    package private(set) var isWithoutRetained = false
    /// The number of connections in a row that the broker closed soon after it had accepted them, without a reason.
    package private(set) var soonEnds = 0

    /// Creates a plan whose first attempt is at `now`.
    ///
    /// - Parameters:
    ///   - options: the delays.
    ///   - choice: the versions of MQTT that may be used.
    ///   - hasSeenFive: whether this broker is known to support MQTT 5.
    ///   - seed: determines the random part of the delays.
    ///   - now: the current time.
    package init(
        _ options: PublisherOptions.BackOff, _ choice: PublisherOptions.VersionChoice = .auto,
        hasSeenFive: Bool = false,
        seed: UInt64, at now: Instant
    ) {
        self.options = options
        self.choice = choice
        self.hasSeenFive = hasSeenFive
        random = SplitMix(state: seed)
        nextAttempt = now
    }

    /// The version of MQTT for the next attempt.
    package var version: Version {
        switch choice {
        case .auto: triesThree ? .three : .five
        case .five: .five
        case .three: .three
        }
    }

    /// Notes that an attempt starts.
    package mutating func begin() { nextAttempt = nil }

    /// Notes that the broker accepted the connection. The next one starts with MQTT 5, if allowed, and with retained
    /// messages again.
    package mutating func connected(_ version: Version, at now: Instant) {
        connectedAt = now
        unanswered = 0
        if version == .five { hasSeenFive = true }
        answersOnlyThree = version == .three
        triesThree = false
        isWithoutRetained = false
    }

    /// Notes that the broker acknowledged a message. Earlier failures do not increase the delay any more.
    package mutating func progressed() { failures = 0 }

    /// Notes that an attempt failed, or that a connection ended.
    ///
    /// - Parameters:
    ///   - failure: the reason.
    ///   - version: the version of MQTT that was used.
    ///   - reach: how far the attempt got.
    ///   - wasWithoutRetained: whether no retained messages were used.
    ///   - now: the current time.
    /// - Returns: `true` if the next attempt is immediate, with another version or without retained messages. Then this
    ///   one does not count as a failure.
    @discardableResult package mutating func failed(
        _ failure: BrokerError, _ version: Version, _ reach: Reach, wasWithoutRetained: Bool = false, at now: Instant
    ) -> Bool {
        noteEnd(failure, at: now)
        if failure == .versionRefused, version == .five, choice == .auto {
            triesThree = true
            nextAttempt = now
            return true
        }
        if failure == .retainRefused, !wasWithoutRetained {
            isWithoutRetained = true
            triesThree = version == .three
            nextAttempt = now
            return true
        }
        isWithoutRetained = false
        triesThree = false
        // A broker that restarts behind a proxy does not answer either. If a broker supports 5, it must not be used
        // with 3.1.1: there it cannot refuse a message, so lines would be lost.
        if reach == .unanswered, version == .five, !hasSeenFive {
            unanswered += 1
            triesThree = answersOnlyThree || unanswered >= Self.unansweredMax
            if triesThree { unanswered = 0 }
        }
        nextAttempt = now + delay(failure.needsSomebody)
        failures += 1
        return false
    }

    private mutating func noteEnd(_ failure: BrokerError, at now: Instant) {
        guard let began = connectedAt else { return }
        connectedAt = nil
        let wasSteady = now - began >= Self.steadyAfter
        if wasSteady { failures = 0 }
        if !wasSteady, case .lost = failure { soonEnds += 1 } else { soonEnds = 0 }
    }

    /// Notes that the broker refused a message on a connection that continues.
    ///
    /// - Returns: the delay before the message should be tried again.
    package mutating func refused() -> Duration {
        defer { refusals += 1 }
        return refusalDelay(refusals)
    }

    /// Notes that the broker has accepted the message that it had refused.
    package mutating func refusalIsOver() { refusals = 0 }

    mutating func refusalDelay(_ refusals: Int) -> Duration {
        jittered(options.firstForSomebody, options.lastForSomebody, refusals)
    }

    private mutating func delay(_ needsSomebody: Bool) -> Duration {
        needsSomebody
            ? jittered(options.firstForSomebody, options.lastForSomebody, failures)
            : jittered(options.first, options.last, failures)
    }

    /// Returns a delay that doubles with each failure, up to `last`. A random value between half and all of it is used,
    /// so that the gateways of a site do not all connect at once when their broker returns.
    private mutating func jittered(_ first: Duration, _ last: Duration, _ failures: Int) -> Duration {
        let whole = BackOff(first: first, most: last, failures: failures).pause
        return whole / 2 + whole / 2 * (Double(random.next() >> 11) / Double(1 << 53))
    }
}

/// A small random number generator with a seed (SplitMix64, Steele et al. 2014).
struct SplitMix: Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
