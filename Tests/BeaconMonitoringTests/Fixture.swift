import BaseTypes
import BluetoothLE

@testable import BeaconMonitoring

/// A gateway at a site, for tests of single rules. Times are relative to its start.
///
/// It has the monitor `site`, the adapter `hci0`, which scans from the start, and the condition `lobby`, which matches
/// every beacon with the UUID A. The condition is assumed `unsatisfied`, so the first event of a test is the first that
/// it causes.
struct Fixture {
    static let start = Instant(nanoseconds: 1_000_000_000_000)

    private(set) var monitoring: any Monitoring
    /// All actions of the last call.
    private(set) var actions: [Action] = []

    init(
        _ implementation: Implementation, deafAfter: Duration? = nil, conditionLimit: Int = 0, maxBeacons: Int = 10_000,
        maxNewBeacons: Int = 0, outageTimeout: Duration = .seconds(60), forgetAfter: Duration = .seconds(86_400),
        listening: [String] = ["hci0"], locationSource: String? = nil,
        lobby: ((inout ConditionSettings) -> Void)? = { _ in }
    ) {
        var settings = EngineSettings()
        settings.deafAfter = deafAfter
        settings.conditionLimit = conditionLimit
        settings.maxBeacons = maxBeacons
        settings.maxNewBeacons = maxNewBeacons
        settings.locationSource = locationSource
        monitoring = implementation.make(settings, start: Self.start, clockOffset: .zero)
        addMonitor("site", outageTimeout: outageTimeout, forgetAfter: forgetAfter)
        for adapter in listening { started(adapter, at: .zero) }
        if let lobby { add("lobby", assuming: .unsatisfied, at: .zero, lobby) }
    }

    mutating func addMonitor(
        _ name: String, outageTimeout: Duration = .seconds(60), forgetAfter: Duration = .seconds(86_400)
    ) {
        var settings = MonitorSettings()
        settings.outageTimeout = outageTimeout
        settings.forgetAfter = forgetAfter
        perform(.monitor(ScriptGenerator.identifier(name), settings))
    }

    // MARK: Inputs. Each returns the resulting events.

    @discardableResult mutating func sighted(
        _ beacon: BeaconIdentity = .a(1), by adapter: String = "hci0", rssi: Int8? = -60, at time: Duration
    ) -> [Outcome] {
        perform(.sighted(adapter, beacon, rssi.map { RSSI(dBm: $0) }, at: Self.start + time))
    }

    @discardableResult mutating func located(north: Double, accuracy: Double, at time: Duration) -> [Outcome] {
        perform(.located(north: north, accuracy: accuracy, at: Self.start + time))
    }

    @discardableResult mutating func received(by adapter: String = "hci0", at time: Duration) -> [Outcome] {
        perform(.received(adapter, at: Self.start + time))
    }

    @discardableResult mutating func started(_ adapter: String = "hci0", at time: Duration) -> [Outcome] {
        perform(.listening(.started, adapter, reason: nil, at: Self.start + time))
    }

    @discardableResult mutating func stopped(
        _ adapter: String = "hci0", since: Duration? = nil, at time: Duration
    ) -> [Outcome] {
        let kind = ListeningChange.Kind.stopped(since: since.map { Self.start + $0 })
        return perform(.listening(kind, adapter, reason: nil, at: Self.start + time))
    }

    @discardableResult mutating func removed(_ adapter: String = "hci0", at time: Duration) -> [Outcome] {
        perform(.listening(.removed, adapter, reason: nil, at: Self.start + time))
    }

    @discardableResult mutating func advance(to time: Duration) -> [Outcome] {
        perform(.advance(to: Self.start + time))
    }

    @discardableResult mutating func add(
        _ identifier: String, _ condition: Condition = .anyA, monitor: String = "site",
        assuming: BeaconMonitor.Event.State = .unknown,
        at time: Duration, _ change: (inout ConditionSettings) -> Void = { _ in }
    ) -> [Outcome] {
        var settings = ConditionSettings()
        change(&settings)
        return perform(
            .add(
                condition, ScriptGenerator.identifier(identifier), monitor: ScriptGenerator.identifier(monitor),
                assuming: assuming, settings, at: Self.start + time))
    }

    @discardableResult mutating func remove(_ identifier: String, at time: Duration) -> [Outcome] {
        perform(.remove(ScriptGenerator.identifier(identifier), at: Self.start + time))
    }

    /// Sets the beacons that have a name from then on.
    @discardableResult mutating func name(_ beacons: BeaconIdentity..., at time: Duration) -> [Outcome] {
        perform(.name(Set(beacons), at: Self.start + time))
    }

    mutating func setClock(ahead: Duration) {
        perform(.clockOffset(ClockOffset(nanoseconds: ahead.nanoseconds)))
    }

    /// Performs a step. If it is refused, ``refusal`` has the error.
    @discardableResult mutating func perform(_ step: Step) -> [Outcome] {
        (actions, refusal) = monitoring.perform(step)
        return actions.compactMap { Outcome($0) }
    }

    // MARK: Results

    /// The error with which the last call was refused.
    private(set) var refusal: MonitorError?

    func state(_ identifier: String = "lobby") -> BeaconMonitor.Event.State? {
        monitoring.state(of: ScriptGenerator.identifier(identifier))
    }

    var events: [BeaconMonitor.Event] { actions.compactMap { if case .event(let event) = $0 { event } else { nil } } }
    var visits: [Visit] { actions.compactMap { if case .visit(let visit) = $0 { visit } else { nil } } }
    var adapterChanges: [AdapterChange] {
        actions.compactMap { if case .adapter(let change) = $0 { change } else { nil } }
    }
    var conditionChanges: [ConditionChange] {
        actions.compactMap { if case .condition(let change) = $0 { change } else { nil } }
    }
    /// The conditions for which P2 or P4 raised `trackingLimitExceeded`.
    var overflows: [String] { conditions(at: .held) }
    /// The conditions for which P5 raised `trackingLimitExceeded`.
    var refusals: [String] { conditions(at: .new) }

    private func conditions(at limit: TrackingLimit) -> [String] {
        actions.compactMap {
            if case .trackingLimitExceeded(let identifier, limit) = $0 { identifier } else { nil }
        }
    }
}

/// The main values of an event.
struct Outcome: Equatable, CustomStringConvertible {
    let state: BeaconMonitor.Event.State
    let identifier: String
    /// The beacon, in events of a beacon; `nil` in events of a condition.
    let beacon: BeaconIdentity?
    let time: Duration

    init?(_ action: Action) {
        guard case .event(let event) = action else { return nil }
        state = event.state
        identifier = event.identifier
        beacon = event.scope == .beacon ? event.refinement : nil
        time = event.time - Fixture.start
    }

    private init(_ state: BeaconMonitor.Event.State, _ identifier: String, _ beacon: BeaconIdentity?, _ time: Duration)
    {
        self.state = state
        self.identifier = identifier
        self.beacon = beacon
        self.time = time
    }

    static func satisfied(
        _ identifier: String = "lobby", beacon: BeaconIdentity? = nil, at time: Duration
    ) -> Outcome { Outcome(.satisfied, identifier, beacon, time) }

    static func unsatisfied(
        _ identifier: String = "lobby", beacon: BeaconIdentity? = nil, at time: Duration
    ) -> Outcome { Outcome(.unsatisfied, identifier, beacon, time) }

    static func unknown(
        _ identifier: String = "lobby", beacon: BeaconIdentity? = nil, at time: Duration
    ) -> Outcome { Outcome(.unknown, identifier, beacon, time) }

    static func unmonitored(_ identifier: String = "lobby", at time: Duration) -> Outcome {
        Outcome(.unmonitored, identifier, nil, time)
    }

    var description: String { "\(identifier) \(beacon?.brief ?? "") \(state) at \(time)" }
}

extension ProximityUUID {
    static let a = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
    static let b = ProximityUUID(high: 0x2F23_4454_CF6D_4A0F, low: 0xADF2_F491_1BA9_FFA6)
}

extension BeaconIdentity {
    /// A beacon with the UUID A.
    static func a(_ minor: UInt16, major: UInt16 = 1) -> BeaconIdentity {
        BeaconIdentity(uuid: .a, major: major, minor: minor)
    }
}

extension Condition {
    static let anyA = Condition.beacon(BeaconMonitor.BeaconIdentityCondition(uuid: .a))
    static let anyB = Condition.beacon(BeaconMonitor.BeaconIdentityCondition(uuid: .b))
    static func a(_ minor: UInt16, major: UInt16 = 1) -> Condition {
        .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: .a, major: major, minor: minor))
    }
}

extension Duration {
    static let nanosecond = Duration.nanoseconds(1)
}
