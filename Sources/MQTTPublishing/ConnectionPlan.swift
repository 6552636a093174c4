public import BluetoothLE

/// When a broker is tried again, and with which version of the protocol: failures in, moments out.
public struct ConnectionPlan: Sendable {
    /// A version of the protocol.
    public enum Version: String, Sendable, Hashable {
        /// MQTT 5.0.
        case five = "5"
        /// MQTT 3.1.1.
        case three = "3.1.1"
    }

    // A connection that held so long was a good one, even if nothing was to be sent.
    static let steadyAfter: Duration = .seconds(60)
    // Brokers learn new versions; until then an attempt in vain at each connection would be a waste.
    static let remembersVersion: Duration = .seconds(86_400)
    // Old brokers close the connection at a version they do not know, without a word. So do others, for other reasons.
    static let silentEndsMax = 2

    private let options: PublisherOptions.BackOff
    private var random: SplitMix
    private var failures = 0
    private var silentEnds = 0
    private var connectedAt: Instant?
    private var threeUntil: Instant?
    private var triesThree = false

    /// When the next attempt is due; absent while one is under way or stands.
    public private(set) var nextAttempt: Instant?

    /// A plan that begins with an attempt at `now`.
    public init(_ options: PublisherOptions.BackOff, seed: UInt64, at now: Instant) {
        self.options = options
        random = SplitMix(state: seed)
        nextAttempt = now
    }

    /// The version that the next attempt speaks.
    public func version(at now: Instant) -> Version {
        if triesThree { return .three }
        return threeUntil.map { now < $0 } ?? false ? .three : .five
    }

    /// An attempt begins.
    public mutating func begin() { nextAttempt = nil }

    /// The broker took the connection.
    public mutating func connected(_ version: Version, at now: Instant) {
        connectedAt = now
        silentEnds = 0
        if version == .three, threeUntil == nil { threeUntil = now + Self.remembersVersion }
        if version == .five { threeUntil = nil }
        triesThree = false
    }

    /// The broker acknowledged a message: what failed before is over.
    public mutating func progressed() { failures = 0 }

    /// An attempt failed, or a connection ended.
    ///
    /// - Parameters:
    ///   - trouble: why.
    ///   - version: what the attempt spoke.
    ///   - wasAnswered: whether the broker had answered to the connection's request.
    ///   - now: the present.
    public mutating func failed(_ trouble: BrokerTrouble, _ version: Version, wasAnswered: Bool, at now: Instant) {
        if let connectedAt, now - connectedAt >= Self.steadyAfter { failures = 0 }
        connectedAt = nil
        if threeUntil.map({ now >= $0 }) ?? false { threeUntil = nil }
        if trouble == .versionRefused, version == .five {
            // Not a failure: the other version, at once.
            triesThree = true
            nextAttempt = now
            return
        }
        if case .lost = trouble, !wasAnswered, version == .five {
            silentEnds += 1
            triesThree = silentEnds >= Self.silentEndsMax
            if triesThree { silentEnds = 0 }
        } else {
            triesThree = false
        }
        nextAttempt = now + delay(trouble.needsSomebody)
        failures += 1
    }

    /// How long to wait after a refusal on a connection that goes on.
    public mutating func refusalDelay(_ refusals: Int) -> Duration {
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
        var whole = first
        for _ in 0..<min(failures, 20) where whole < last { whole *= 2 }
        whole = min(whole, last)
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
