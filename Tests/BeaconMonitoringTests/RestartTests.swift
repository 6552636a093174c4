import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

/// What an engine takes over from the one before it (rule N4).
@Suite struct RestartTests {
    /// An engine that can be started anew.
    struct Site {
        var engine: MonitorEngine
        var setups: [MonitorSetup]
        var actions: [Action] = []
        var offset = ClockOffset.zero

        init(
            _ change: (inout ConditionSettings) -> Void = { _ in }, monitor: (inout MonitorSettings) -> Void = { _ in }
        ) throws {
            var settings = ConditionSettings()
            change(&settings)
            var monitorSettings = MonitorSettings()
            monitor(&monitorSettings)
            setups = [
                MonitorSetup(
                    name: try Identifier("site"), settings: monitorSettings,
                    conditions: [
                        MonitorSetup.Condition(
                            identifier: try Identifier("lobby"), condition: .anyA, assuming: .unsatisfied,
                            settings: settings)
                    ])
            ]
            engine = MonitorEngine(start: World.start)
            try begin(from: nil, at: .zero)
        }

        private mutating func begin(from snapshot: MonitorSnapshot?, at time: Duration) throws {
            engine = MonitorEngine(start: World.start + time, clockOffset: offset)
            var buffer = ActionBuffer()
            try engine.begin(setups, from: snapshot, at: World.start + time, into: &buffer)
            actions = Array(buffer.actions)
        }

        @discardableResult mutating func perform(_ step: Step) -> [Outcome] {
            actions = engine.perform(step).actions
            return actions.compactMap { Outcome($0) }
        }

        @discardableResult mutating func sighted(
            _ beacon: BeaconIdentity = .a(1), by adapter: String = "hci0", rssi: Int8? = -60, at time: Duration
        ) -> [Outcome] {
            perform(.sighted(adapter, beacon, rssi.map { RSSI(dBm: $0) }, at: World.start + time))
        }

        @discardableResult mutating func listening(
            _ kind: ListeningChange.Kind = .started, _ adapter: String = "hci0", at time: Duration
        ) -> [Outcome] { perform(.listening(kind, adapter, reason: nil, at: World.start + time)) }

        @discardableResult mutating func advance(to time: Duration) -> [Outcome] {
            perform(.advance(to: World.start + time))
        }

        /// Starts the process anew: all that is handed over is the snapshot.
        @discardableResult mutating func restart(at time: Duration) throws -> [Outcome] {
            try begin(from: engine.snapshot, at: time)
            return actions.compactMap { Outcome($0) }
        }

        /// Starts the machine anew: the timeline begins again, and the wall clock goes on.
        @discardableResult mutating func reboot(at time: Duration, clockOffset: ClockOffset) throws -> [Outcome] {
            let snapshot = engine.snapshot.afterReboot(offset: offset)
            offset = clockOffset
            try begin(from: snapshot, at: time)
            return actions.compactMap { Outcome($0) }
        }

        var state: BeaconMonitor.Event.State? { engine.state(of: ScriptGenerator.identifier("lobby")) }
        var events: [BeaconMonitor.Event] {
            actions.compactMap { if case .event(let event) = $0 { event } else { nil } }
        }
        var visits: [Visit] { actions.compactMap { if case .visit(let visit) = $0 { visit } else { nil } } }
    }

    @Test func `N4: ten restarts while a beacon stays present make no event, and one visit`() throws {
        var site = try Site({ $0.perBeacon = true })
        site.listening(at: .zero)
        #expect(
            site.sighted(at: .seconds(80)) == [
                .satisfied(at: .seconds(80)), .satisfied(beacon: .a(1), at: .seconds(80)),
            ])
        for restart in 1...10 {
            let begin = Duration.seconds(restart * 100)
            #expect(site.sighted(at: begin - .seconds(1)) == [])
            #expect(try site.restart(at: begin) == [])
            #expect(site.actions == [])
            // It takes a while until the adapter scans, longer than the exit timeout.
            #expect(site.advance(to: begin + .seconds(50)) == [])
            #expect(site.listening(at: begin + .seconds(50)) == [])
            #expect(site.sighted(at: begin + .seconds(79)) == [])
            // In between, silence up to the exit timeout: once more is heard, it goes on.
            for second in 80..<99 { #expect(site.sighted(at: begin + .seconds(second)) == []) }
        }
        #expect(site.advance(to: .seconds(1099 + 29)).count == 2)
        #expect(site.visits.count == 2)
        #expect(site.visits[0].arrival == World.start + .seconds(80))
        #expect(site.visits[0].departure == World.start + .seconds(1098))
        // 1, then one before each restart, and twenty after it.
        #expect(site.visits[0].sightings == 1 + 10 + 10 * 20)
        #expect(site.events[0].previous?.date == WallDate(World.start + .seconds(80), offset: .zero))
    }

    @Test func `N4: a restored subject is held from when its adapter listens, to the nanosecond`() throws {
        var site = try Site()
        site.listening(at: .zero)
        site.sighted(at: .seconds(1))
        try site.restart(at: .seconds(20))
        site.listening(at: .seconds(40))
        #expect(site.advance(to: .seconds(70) - .nanosecond) == [])
        #expect(site.advance(to: .seconds(70)) == [.unsatisfied(at: .seconds(70))])
        #expect(site.events.last?.lastSeen == World.start + .seconds(1))
    }

    @Test func `N4: the process's own absence is no outage; the adapter's from the start is`() throws {
        var site = try Site()
        site.listening(at: .zero)
        site.sighted(at: .seconds(1))
        // Away for an hour.
        #expect(try site.restart(at: .seconds(3600)) == [])
        #expect(site.advance(to: .seconds(3660) - .nanosecond) == [])
        #expect(site.advance(to: .seconds(3660)) == [.unknown(at: .seconds(3660))])
        // L3: an unknown one remembers what it was, over one more restart too.
        #expect(try site.restart(at: .seconds(3700)) == [])
        #expect(site.state == .unknown)
        site.listening(at: .seconds(3701))
        #expect(site.sighted(at: .seconds(3702)) == [.satisfied(at: .seconds(3702))])
        #expect(site.engine.snapshot.conditions[0].own.visit?.arrival == .timeline(World.start + .seconds(1)))
    }

    @Test func `N4: what enter_count asks for is not asked of an unknown one that was there`() throws {
        var site = try Site({ $0.enterCount = 3 })
        site.listening(at: .zero)
        for second in 1...3 { site.sighted(at: .seconds(second)) }
        #expect(site.state == .satisfied)
        try site.restart(at: .seconds(100))
        site.advance(to: .seconds(160))
        #expect(site.state == .unknown)
        try site.restart(at: .seconds(200))
        site.listening(at: .seconds(201))
        #expect(site.sighted(at: .seconds(202)) == [.satisfied(at: .seconds(202))])
    }

    @Test func `N4: an adapter that is away is forgotten by when it really stopped`() throws {
        var site = try Site({ _ in }, monitor: { $0.forgetAfter = .seconds(1000) })
        site.listening(at: .zero)
        site.listening(.started, "hci1", at: .zero)
        site.sighted(by: "hci1", at: .seconds(1))
        site.listening(.stopped(since: nil), "hci1", at: .seconds(10))
        // Before L2 speaks, the process ends; it is back when the adapter has been away for nearly forget_after.
        try site.restart(at: .seconds(960))
        site.listening(at: .seconds(960))
        // hci1 counts as stopped since 960 for L2, and is forgotten at 1010: all together hold the subject then.
        #expect(site.advance(to: .seconds(1010)) == [])
        #expect(site.advance(to: .seconds(1040) - .nanosecond) == [])
        #expect(site.advance(to: .seconds(1040)) == [.unsatisfied(at: .seconds(1040))])
    }

    @Test
    func `N4: when an adapter really stopped is known after a start of the machine, and one more of the process`()
        throws
    {
        var site = try Site({ _ in }, monitor: { $0.forgetAfter = .seconds(1000) })
        site.offset = ClockOffset(nanoseconds: 1_795_219_200_000_000_000)
        site.engine.clockOffset = site.offset
        site.listening(at: .zero)
        site.listening(.started, "hci1", at: .zero)
        site.sighted(by: "hci1", at: .seconds(1))
        site.listening(.stopped(since: nil), "hci1", at: .seconds(10))
        // Ten seconds later the machine starts anew, and its timeline begins five seconds after hci1 stopped.
        let later = ClockOffset(nanoseconds: site.offset.nanoseconds + 1_015_000_000_000)
        #expect(try site.reboot(at: .seconds(-995), clockOffset: later) == [])
        #expect(try site.restart(at: .seconds(-900)) == [])
        site.listening(at: .seconds(-900))
        #expect(site.advance(to: .seconds(-5)) == [.unknown(at: .seconds(-840))])
        // Forgotten a thousand seconds after it stopped: all together hold the subject from then on.
        #expect(site.advance(to: .seconds(25) - .nanosecond) == [])
        #expect(site.advance(to: .seconds(25)) == [.unsatisfied(at: .seconds(25))])
    }

    @Test
    func `N4, C2: other settings hold from the start on, another identity starts afresh, what is gone is removed`()
        throws
    {
        var site = try Site()
        site.listening(at: .zero)
        site.sighted(at: .seconds(1))
        site.setups[0].conditions[0].settings.exitTimeout = .seconds(5)
        #expect(try site.restart(at: .seconds(10)) == [])
        guard case .condition(let change)? = site.actions.first else { throw Missing() }
        #expect(change.kind == .changed && site.actions.count == 1)
        site.listening(at: .seconds(10))
        #expect(site.sighted(at: .seconds(11)) == [])
        #expect(site.state == .satisfied)

        site.setups[0].conditions[0].condition = .anyB
        try site.restart(at: .seconds(12))
        #expect(site.visits.map(\.reason) == [.replaced])
        #expect(site.state == .unsatisfied)

        site.setups[0].conditions = []
        try site.restart(at: .seconds(13))
        #expect(site.state == nil)
        guard case .condition(let last)? = site.actions.last else { throw Missing() }
        #expect(last.kind == .removed)
    }

    private struct Missing: Error {}

    @Test func `N4: a monitor that is gone takes its conditions with it`() throws {
        var site = try Site()
        site.listening(at: .zero)
        site.sighted(at: .seconds(1))
        site.setups = [MonitorSetup(name: try Identifier("yard"))]
        try site.restart(at: .seconds(10))
        #expect(site.visits.map(\.reason) == [.removed])
        #expect(site.visits.map(\.monitor) == ["site"])
        #expect(site.engine.identifiers.isEmpty)
    }

    @Test func `N4: over a start of the machine dates stay what they were, and durations follow from them`() throws {
        var site = try Site()
        site.offset = ClockOffset(nanoseconds: 1_795_219_200_000_000_000)
        site.engine.clockOffset = site.offset
        site.listening(at: .zero)
        site.sighted(at: .seconds(1))
        let seen = WallDate(World.start + .seconds(1), offset: site.offset)
        // An hour later by the wall clock, and the timeline begins anew, ten thousand seconds before where it was.
        let later = ClockOffset(nanoseconds: site.offset.nanoseconds + 3_600_000_000_000)
        #expect(try site.reboot(at: .zero, clockOffset: later) == [])
        site.listening(at: .zero)
        #expect(site.advance(to: .seconds(30)) == [.unsatisfied(at: .seconds(30))])
        let event = try #require(site.events.first)
        #expect(event.lastSeen.map { WallDate($0, offset: event.clockOffset) } == seen)
        #expect(event.previous?.date == seen)
        let visit = try #require(site.visits.first)
        #expect(visit.arrival.map { WallDate($0, offset: visit.clockOffset) } == seen)
    }

    @Test func `N4: a clock that is set only after the machine was started moves no date from before`() throws {
        var site = try Site()
        site.offset = ClockOffset(nanoseconds: 1_795_219_200_000_000_000)
        site.engine.clockOffset = site.offset
        site.listening(at: .zero)
        site.sighted(at: .seconds(1))
        let arrival = WallDate(World.start + .seconds(1), offset: site.offset)
        // 1970, as far as the machine knows.
        try site.reboot(at: .zero, clockOffset: .zero)
        site.listening(at: .zero)
        site.sighted(at: .seconds(5))
        // Then the time comes.
        let now = ClockOffset(nanoseconds: site.offset.nanoseconds + 1_795_219_200_000_000_000 + 7_200_000_000_000)
        #expect(site.perform(.clockOffset(now)) == [])
        site.advance(to: .seconds(35))
        let visit = try #require(site.visits.first)
        #expect(visit.arrival.map { WallDate($0, offset: visit.clockOffset) } == arrival)
        #expect(
            visit.departure.map { WallDate($0, offset: visit.clockOffset) }
                == WallDate(World.start + .seconds(5), offset: now))
        #expect(visit.sightings == 2)
    }

    @Test func `T1: a wall clock that jumps makes no event, restarts or not`() throws {
        var site = try Site()
        site.listening(at: .zero)
        site.sighted(at: .seconds(1))
        for (second, hours) in [(5, 495_000), (10, 494_999), (15, 0)] {
            #expect(site.perform(.clockOffset(ClockOffset(nanoseconds: Int64(hours) * 3_600_000_000_000))) == [])
            site.offset = ClockOffset(nanoseconds: Int64(hours) * 3_600_000_000_000)
            #expect(try site.restart(at: .seconds(second)) == [])
            #expect(site.listening(at: .seconds(second)) == [])
        }
        #expect(site.advance(to: .seconds(45) - .nanosecond) == [])
        #expect(site.advance(to: .seconds(45)) == [.unsatisfied(at: .seconds(45))])
    }

    @Test func `what somebody wrote into a snapshot by hand traps nothing`() throws {
        var snapshot = MonitorSnapshot()
        var own = MonitorSnapshot.Subject(state: .satisfied)
        own.holders = ["hci0", "hci0", "nobody", ""]
        own.visit = MonitorSnapshot.OpenVisit(
            arrival: .date(WallDate(microseconds: .min)), refreshes: .min,
            strength: Visit.Strength(minimum: 127, sum: .max, count: 1, maximum: -128))
        own.lastRefresh = MonitorSnapshot.Refresh(
            time: .date(WallDate(microseconds: .max)), beacon: .a(1), measuredPower: 0, rssi: nil, address: nil,
            adapter: "")
        var beacon = own
        beacon.beacon = .a(1)
        for (identifier, monitor) in [("lobby", "site"), ("lobby", "site"), ("a/b", "site"), ("x", "a/b"), ("y", "y")] {
            var condition = MonitorSnapshot.Condition(
                monitor: monitor, identifier: identifier, condition: .anyA, settings: nil, own: own)
            condition.beacons = [beacon, beacon, own]
            snapshot.conditions.append(condition)
        }
        snapshot.adapters = [
            MonitorSnapshot.Adapter(name: "hci0", stopped: .date(WallDate(microseconds: .min))),
            MonitorSnapshot.Adapter(name: "", stopped: .date(WallDate(microseconds: .max))),
        ]
        var site = try Site({ $0.perBeacon = true })
        var engine = MonitorEngine(start: World.start, clockOffset: ClockOffset(nanoseconds: .max))
        var buffer = ActionBuffer()
        try engine.begin(site.setups, from: snapshot, at: World.start, into: &buffer)
        site.engine = engine
        site.advance(to: .seconds(100_000))
        #expect(site.engine.identifiers.map(\.text) == ["lobby"])
    }
}
