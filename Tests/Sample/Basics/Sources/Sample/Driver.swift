import BaseTypes
import BeaconMonitoring
import BeaconMonitoringTesting
import BluetoothLE

/// A random number generator (SplitMix64) that gives the same numbers for the same seed on every machine.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Simulates everything outside of the program: creates monitors with models, changes their conditions, and delivers
/// sightings of beacons.
struct Driver {
    struct Tally {
        var changes = 0
        var events = 0
        var visits = 0
        var owed = 0
        var recordsAhead = 0
        var surprise: String?
    }

    static let uuid = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
    static let identifiers = (0..<24).map { "place \($0)" }
    static let minors: Range<UInt16> = 0..<12

    private var random: SeededGenerator
    private let clock: ManualClock

    init(seed: UInt64, clock: ManualClock) {
        random = SeededGenerator(state: seed)
        self.clock = clock
    }

    /// Runs one monitor with its models from its creation to its end, with `changes` changes of its conditions. The
    /// name of the monitor is that of the previous round's monitor, which has just ended.
    mutating func round(changes: Int) async throws -> Tally {
        let monitor = try BeaconMonitor("sample", clock: clock)
        let (events, visits) = (Ledger(), Ledger())
        let adapter = try await monitor.adapter(named: "hci0")
        await monitor.listening(ListeningChange(.started, adapter: adapter), at: clock.now)
        let model = ObservableMonitorModel(monitor: monitor, ledger: events)
        let visitModel = ObservableMonitorModel(monitor: monitor, ledger: visits)
        let (eventIterator, visitIterator) = (monitor.events.makeAsyncIterator(), monitor.visits.makeAsyncIterator())
        async let following: Void = model.follow(eventIterator)
        async let visiting: Void = visitModel.follow(visitIterator)
        async let running: Void = monitor.run()
        var tally = Tally()
        var expectation = Expectation()
        while tally.changes < changes {
            let (planned, change) = plan(&expectation)
            events.expect(planned.events)
            visits.expect(planned.visits)
            try await change(model)
            tally.changes += 1
            for _ in 0..<Int.random(in: 0..<3, using: &random) {
                let step = Duration.milliseconds(Int.random(in: 0..<8000, using: &random))
                let beacon = BeaconIdentity(
                    uuid: Self.uuid, major: 1, minor: Self.minors.randomElement(using: &random) ?? 0)
                expectation.sighted(beacon.minor, at: clock.now + step)
                let planned = expectation.take()
                events.expect(planned.events)
                visits.expect(planned.visits)
                // The clock moves only after the expectation is complete, because events that become due can be
                // delivered before this call returns.
                clock.advance(by: step)
                await monitor.sighted(
                    Sighting(
                        time: clock.now, adapter: adapter, beacon: beacon, measuredPower: -59, rssi: RSSI(dBm: -60)))
            }
            if tally.changes.isMultiple(of: 50) {
                try await comeAndGo(monitor)
                await events.settled()
                await visits.settled()
            }
        }
        await events.settled()
        await visits.settled()
        await monitor.end()
        _ = try await (following, visiting, running)
        tally.recordsAhead = await model.recordsAhead
        (tally.events, tally.owed, tally.surprise) = events.balance
        let balance = visits.balance
        tally.visits = balance.delivered
        tally.owed += balance.owed
        tally.surprise = tally.surprise ?? balance.surprise
        return tally
    }

    /// Plans a random change of the set of conditions. Returns the events and visits that must result from it, and a
    /// function that makes the change.
    private mutating func plan(
        _ expectation: inout Expectation
    ) -> (
        (events: [Ledger.Entry], visits: [Ledger.Entry]), @Sendable (ObservableMonitorModel) async throws -> Void
    ) {
        let now = clock.now
        let identifier = Self.identifiers.randomElement(using: &random) ?? ""
        let minor = Self.minors.randomElement(using: &random) ?? 0
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5:
            expectation.add(identifier, minor: minor, at: now)
            return (expectation.take(), { try await $0.add(Self.condition(minor), identifier: identifier) })
        case 5..<8:
            expectation.remove(identifier, at: now)
            return (expectation.take(), { await $0.remove(identifier) })
        default:
            // Another set: about 80% of the existing conditions, and `identifier` if it is not among them.
            var wanted: [(String, UInt16)] = []
            for (identifier, stand) in expectation.stands.sorted(by: { $0.key < $1.key })
            where Int.random(in: 0..<5, using: &random) > 0 {
                wanted.append((identifier, stand.minor))
            }
            if !wanted.contains(where: { $0.0 == identifier }) { wanted.append((identifier, minor)) }
            let remaining = Set(wanted.map(\.0))
            let gone = expectation.stands.filter { !remaining.contains($0.key) }
            for (identifier, _) in gone.sorted(by: { $0.value.place < $1.value.place }) {
                expectation.remove(identifier, at: now)
            }
            for (identifier, minor) in wanted { expectation.add(identifier, minor: minor, at: now) }
            return (
                expectation.take(),
                { [wanted] model in
                    let conditions = try wanted.map {
                        try MonitorSetup.Condition(Self.condition($0.1), identifier: $0.0)
                    }
                    try await model.show(conditions)
                }
            )
        }
    }

    private static func condition(_ minor: UInt16) -> Condition {
        .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid, major: 1, minor: minor))
    }

    /// Adds subscribers that wait and are cancelled, like the tasks of a view. None of them may remain or take elements
    /// from other subscribers.
    private func comeAndGo(_ monitor: BeaconMonitor) async throws {
        var entries = monitor.events
        entries.notifyOnExit = false
        let (all, some, visits) = (monitor.events, entries, monitor.visits)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for try await _ in all {} }
            group.addTask { for try await _ in some {} }
            group.addTask { for try await _ in visits {} }
            group.cancelAll()
            try await group.waitForAll()
        }
    }
}
