package import BaseTypes
import PublisherProtocol

/// When a broker is tried again, and with which version of the protocol: failures in, moments out.
package struct ConnectionPlan: Sendable {
    /// A version of the protocol.
    package enum Version: String, Sendable, Hashable {
        /// MQTT 5.0.
        case five = "5"
        /// MQTT 3.1.1.
        case three = "3.1.1"
    }

    /// How far an attempt came.
    package enum Reach: Sendable, Hashable {
        /// No broker was asked for a connection: there was no way to it, or no TLS.
        case nobody
        /// One was asked, and gave no answer.
        case unanswered
        /// One answered.
        case answered
    }

    // A connection that held so long was a good one, even if nothing was to be sent.
    static let steadyAfter: Duration = .seconds(60)
    // What goes wrong once by chance goes right the second time.
    static let unansweredMax = 2
    // One broker that restarts, and one that restarts again, are no sign of another client.
    static let soonEndsMax = 3

    private let options: PublisherOptions.BackOff
    private let choice: PublisherOptions.VersionChoice
    private var random: SplitMix
    private var failures = 0
    private var refusals = 0
    private var unanswered = 0
    private var connectedAt: Instant?
    private var triesThree = false
    // Whether this broker takes 3.1.1 and did not answer 5.
    private var answersThreeAlone = false

    /// When the next attempt is due; absent while one is under way or stands.
    package private(set) var nextAttempt: Instant?
    /// Whether the broker was heard to speak MQTT 5, in this process or before.
    package private(set) var hasSeenFive: Bool
    /// Whether the next attempt does without retained messages, which the broker refused.
    package private(set) var isWithoutRetained = false
    /// How many connections in a row the broker closed soon after it had taken them, and said no reason.
    package private(set) var soonEnds = 0

    /// A plan that begins with an attempt at `now`.
    ///
    /// - Parameters:
    ///   - options: the delays.
    ///   - choice: which version is spoken.
    ///   - hasSeenFive: whether this broker is known to speak MQTT 5.
    ///   - seed: determines the delays.
    ///   - now: the present.
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

    /// The version that the next attempt speaks.
    package var version: Version {
        switch choice {
        case .auto: triesThree ? .three : .five
        case .five: .five
        case .three: .three
        }
    }

    /// An attempt begins.
    package mutating func begin() { nextAttempt = nil }

    /// The broker took the connection; the next one begins with MQTT 5 and with retained messages again.
    package mutating func connected(_ version: Version, at now: Instant) {
        connectedAt = now
        unanswered = 0
        if version == .five { hasSeenFive = true }
        answersThreeAlone = version == .three
        triesThree = false
        isWithoutRetained = false
    }

    /// The broker acknowledged a message: what failed before is over.
    package mutating func progressed() { failures = 0 }

    /// An attempt failed, or a connection ended.
    ///
    /// - Parameters:
    ///   - trouble: why.
    ///   - version: what the attempt spoke.
    ///   - reach: how far it came.
    ///   - wasWithoutRetained: whether it did without retained messages.
    ///   - now: the present.
    /// - Returns: whether it goes on at once, in another way: then this was no failure.
    @discardableResult package mutating func failed(
        _ trouble: BrokerTrouble, _ version: Version, _ reach: Reach, wasWithoutRetained: Bool = false, at now: Instant
    ) -> Bool {
        noteEnd(trouble, at: now)
        if trouble == .versionRefused, version == .five, choice == .auto {
            triesThree = true
            nextAttempt = now
            return true
        }
        if trouble == .retainRefused, !wasWithoutRetained {
            isWithoutRetained = true
            triesThree = version == .three
            nextAttempt = now
            return true
        }
        isWithoutRetained = false
        triesThree = false
        // A broker that restarts behind a proxy is silent too. One that speaks 5 would be spoken to in a version in which it
        // can't say no: lines would be lost.
        if reach == .unanswered, version == .five, !hasSeenFive {
            unanswered += 1
            triesThree = answersThreeAlone || unanswered >= Self.unansweredMax
            if triesThree { unanswered = 0 }
        }
        nextAttempt = now + delay(trouble.needsSomebody)
        failures += 1
        return false
    }

    private mutating func noteEnd(_ trouble: BrokerTrouble, at now: Instant) {
        guard let began = connectedAt else { return }
        connectedAt = nil
        let wasSteady = now - began >= Self.steadyAfter
        if wasSteady { failures = 0 }
        if !wasSteady, case .lost = trouble { soonEnds += 1 } else { soonEnds = 0 }
    }

    /// The broker refused a message on a connection that goes on.
    ///
    /// - Returns: for how long it is not tried again.
    package mutating func refused() -> Duration {
        defer { refusals += 1 }
        return refusalDelay(refusals)
    }

    /// The broker has taken what it had refused.
    package mutating func refusalIsOver() { refusals = 0 }

    mutating func refusalDelay(_ refusals: Int) -> Duration {
        jittered(options.firstForSomebody, options.lastForSomebody, refusals)
    }

    private mutating func delay(_ needsSomebody: Bool) -> Duration {
        needsSomebody
            ? jittered(options.firstForSomebody, options.lastForSomebody, failures)
            : jittered(options.first, options.last, failures)
    }

    /// Doubled with each failure; then between a half and the whole of it, so that a site's gateways do not come all at
    /// once when their broker comes back.
    private mutating func jittered(_ first: Duration, _ last: Duration, _ failures: Int) -> Duration {
        let whole = BackOff(first: first, most: last, failures: failures).pause
        return whole / 2 + whole / 2 * (Double(random.next() >> 11) / Double(1 << 53))
    }
}

/// A small generator of numbers that a seed determines (SplitMix64, Steele et al. 2014).
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
