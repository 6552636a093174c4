import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

/// The state that an engine takes over from the one before it (rule N4).
@Suite struct RestartTests {
    /// An engine that can be restarted.
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
            engine = MonitorEngine(start: Fixture.start)
            try begin(from: nil, at: .zero)
        }

        private mutating func begin(from snapshot: MonitorSnapshot?, at time: Duration) throws {
            engine = MonitorEngine(start: Fixture.start + time, clockOffset: offset)
            var buffer = ActionBuffer()
            try engine.begin(setups, from: snapshot, at: Fixture.start + time, into: &buffer)
            actions = Array(buffer.actions)
        }

        @discardableResult mutating func perform(_ step: Step) -> [Outcome] {
            actions = engine.perform(step).actions
            return actions.compactMap { Outcome($0) }
        }

        @discardableResult mutating func sighted(
            _ beacon: BeaconIdentity = .a(1), by adapter: String = "hci0", rssi: Int8? = -60, at time: Duration
        ) -> [Outcome] {
            perform(.sighted(adapter, beacon, rssi.map { RSSI(dBm: $0) }, at: Fixture.start + time))
        }

        @discardableResult mutating func listening(
            _ kind: ListeningChange.Kind = .started, _ adapter: String = "hci0", at time: Duration
        ) -> [Outcome] { perform(.listening(kind, adapter, reason: nil, at: Fixture.start + time)) }

        @discardableResult mutating func advance(to time: Duration) -> [Outcome] {
            perform(.advance(to: Fixture.start + time))
        }

        /// Restarts the process. Only the snapshot is passed on, as `change` has changed it.
        @discardableResult mutating func restart(
            at time: Duration, _ change: (inout MonitorSnapshot) -> Void = { _ in }
        ) throws -> [Outcome] {
            var snapshot = engine.snapshot
            change(&snapshot)
            try begin(from: snapshot, at: time)
            return actions.compactMap { Outcome($0) }
        }

        /// Restarts the machine: the timeline starts again, and the wall clock continues.
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

    @Test func `N4: ten restarts while a beacon is present cause no event and do not end its visit`() throws {
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
            // The adapter starts to scan after 50 s, which is longer than the exit timeout.
            #expect(site.advance(to: begin + .seconds(50)) == [])
            #expect(site.listening(at: begin + .seconds(50)) == [])
            #expect(site.sighted(at: begin + .seconds(79)) == [])
            // The silence of 29 s in between was shorter than the exit timeout, so the visit continues with the next
            // sightings.
            for second in 80..<99 { #expect(site.sighted(at: begin + .seconds(second)) == []) }
        }
        #expect(site.advance(to: .seconds(1099 + 29)).count == 2)
        #expect(site.visits.count == 2)
        #expect(site.visits[0].arrival == Fixture.start + .seconds(80))
        #expect(site.visits[0].departure == Fixture.start + .seconds(1098))
        // One sighting at first, one before each restart, and twenty after each.
        #expect(site.visits[0].sightings == 1 + 10 + 10 * 20)
        #expect(site.events[0].previous?.date == WallDate(Fixture.start + .seconds(80), offset: .zero))
    }

    @Test func `N4: a restored subject is held from the time at which its adapter scans, to the nanosecond`() throws {
        var site = try Site()
        site.listening(at: .zero)
        site.sighted(at: .seconds(1))
        try site.restart(at: .seconds(20))
        site.listening(at: .seconds(40))
        #expect(site.advance(to: .seconds(70) - .nanosecond) == [])
        #expect(site.advance(to: .seconds(70)) == [.unsatisfied(at: .seconds(70))])
        #expect(site.events.last?.lastSeen == Fixture.start + .seconds(1))
    }

    @Test func `N4: the time without the process is not an outage; the adapter's absence after it is`() throws {
        var site = try Site()
        site.listening(at: .zero)
        site.sighted(at: .seconds(1))
        // The process does not run for nearly an hour.
        #expect(try site.restart(at: .seconds(3600)) == [])
        #expect(site.advance(to: .seconds(3660) - .nanosecond) == [])
        #expect(site.advance(to: .seconds(3660)) == [.unknown(at: .seconds(3660))])
        // L3: an unknown subject remembers its earlier state, also over one more restart.
        #expect(try site.restart(at: .seconds(3700)) == [])
        #expect(site.state == .unknown)
        site.listening(at: .seconds(3701))
        #expect(site.sighted(at: .seconds(3702)) == [.satisfied(at: .seconds(3702))])
        #expect(site.engine.snapshot.conditions[0].own.visit?.arrival == .timeline(Fixture.start + .seconds(1)))
    }

    @Test func `N4: enter_count does not apply to an unknown subject that was satisfied before the restarts`() throws {
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

    @Test func `N4: an adapter that is not back is forgotten forget_after after it really stopped`() throws {
        var site = try Site({ _ in }, monitor: { $0.forgetAfter = .seconds(1000) })
        site.listening(at: .zero)
        site.listening(.started, "hci1", at: .zero)
        site.sighted(by: "hci1", at: .seconds(1))
        site.listening(.stopped(since: nil), "hci1", at: .seconds(10))
        // The process ends before L2 applies. When it starts again, the adapter has been absent for nearly
        // `forget_after`.
        try site.restart(at: .seconds(960))
        site.listening(at: .seconds(960))
        // For L2, `hci1` counts as stopped at 960 s. It is forgotten at 1010 s, and then the subject has a shared hold.
        #expect(site.advance(to: .seconds(1010)) == [])
        #expect(site.advance(to: .seconds(1040) - .nanosecond) == [])
        #expect(site.advance(to: .seconds(1040)) == [.unsatisfied(at: .seconds(1040))])
    }

    @Test
    func `N4: the time at which an adapter really stopped survives a reboot and one more start of the process`()
        throws
    {
        var site = try Site({ _ in }, monitor: { $0.forgetAfter = .seconds(1000) })
        site.offset = ClockOffset(nanoseconds: 1_795_219_200_000_000_000)
        site.engine.clockOffset = site.offset
        site.listening(at: .zero)
        site.listening(.started, "hci1", at: .zero)
        site.sighted(by: "hci1", at: .seconds(1))
        site.listening(.stopped(since: nil), "hci1", at: .seconds(10))
        // The machine restarts ten seconds after `hci1` stopped. Its timeline started five seconds after that stop.
        let later = ClockOffset(nanoseconds: site.offset.nanoseconds + 1_015_000_000_000)
        #expect(try site.reboot(at: .seconds(-995), clockOffset: later) == [])
        #expect(try site.restart(at: .seconds(-900)) == [])
        site.listening(at: .seconds(-900))
        #expect(site.advance(to: .seconds(-5)) == [.unknown(at: .seconds(-840))])
        // `hci1` is forgotten a thousand seconds after it stopped. From then on, the subject has a shared hold.
        #expect(site.advance(to: .seconds(25) - .nanosecond) == [])
        #expect(site.advance(to: .seconds(25)) == [.unsatisfied(at: .seconds(25))])
    }

    @Test
    func `N4, C2: a start applies changed settings, replaces conditions of another identity and removes missing ones`()
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

    @Test func `N4: if a monitor is not configured any more, its conditions are removed`() throws {
        var site = try Site()
        site.listening(at: .zero)
        site.sighted(at: .seconds(1))
        site.setups = [MonitorSetup(name: try Identifier("yard"))]
        try site.restart(at: .seconds(10))
        #expect(site.visits.map(\.reason) == [.removed])
        #expect(site.visits.map(\.monitor) == ["site"])
        #expect(site.engine.identifiers.isEmpty)
    }

    @Test(arguments: [true, false])
    func `N4: if the settings of a condition are lost, its beacons show that it had per_beacon`(
        isConfigured: Bool
    ) throws {
        var site = try Site({ $0.perBeacon = true })
        site.listening(at: .zero)
        site.sighted(at: .seconds(1))
        if isConfigured {
            site.setups[0].conditions[0].settings.perBeacon = false
        } else {
            site.setups[0].conditions = []
        }
        try site.restart(at: .seconds(10)) { $0.conditions[0].settings = nil }
        let reason = isConfigured ? Visit.Reason.replaced : .removed
        #expect(site.visits.map(\.reason) == [reason, reason])
        #expect(site.visits.map(\.scope) == [.condition, .beacon])
        #expect(site.visits.last?.refinement == .a(1))
    }

    @Test(arguments: [true, false])
    func `N4: an enter_window above outage_timeout is restored, so that its condition is changed or removed`(
        isConfigured: Bool
    ) throws {
        var site = try Site()
        site.listening(at: .zero)
        site.sighted(at: .seconds(1))
        // The restored settings have an `enter_window` of 10 s.
        site.setups[0].settings.outageTimeout = .seconds(6)
        if isConfigured {
            site.setups[0].conditions[0].settings.enterWindow = .seconds(6)
        } else {
            site.setups[0].conditions = []
        }
        try site.restart(at: .seconds(10)) { if !isConfigured { $0.conditions[0].settings = nil } }
        guard case .condition(let change)? = site.actions.last else { throw Missing() }
        #expect(change.kind == (isConfigured ? .changed : .removed))
        #expect(change.settings.enterWindow == (isConfigured ? .seconds(6) : .seconds(10)))
        #expect(site.visits.map(\.reason) == (isConfigured ? [] : [.removed]))
    }

    @Test func `N4: after a reboot, dates from before it do not change`() throws {
        var site = try Site()
        site.offset = ClockOffset(nanoseconds: 1_795_219_200_000_000_000)
        site.engine.clockOffset = site.offset
        site.listening(at: .zero)
        site.sighted(at: .seconds(1))
        let seen = WallDate(Fixture.start + .seconds(1), offset: site.offset)
        // The offset of the wall clock is one hour larger, and the timeline starts again at its first value.
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

    @Test func `N4: if the clock is set only after a reboot, dates from before the reboot do not change`() throws {
        var site = try Site()
        site.offset = ClockOffset(nanoseconds: 1_795_219_200_000_000_000)
        site.engine.clockOffset = site.offset
        site.listening(at: .zero)
        site.sighted(at: .seconds(1))
        let arrival = WallDate(Fixture.start + .seconds(1), offset: site.offset)
        // The clock of the machine is not set yet: it is in 1970.
        try site.reboot(at: .zero, clockOffset: .zero)
        site.listening(at: .zero)
        site.sighted(at: .seconds(5))
        // The clock is set.
        let now = ClockOffset(nanoseconds: site.offset.nanoseconds + 1_795_219_200_000_000_000 + 7_200_000_000_000)
        #expect(site.perform(.clockOffset(now)) == [])
        site.advance(to: .seconds(35))
        let visit = try #require(site.visits.first)
        #expect(visit.arrival.map { WallDate($0, offset: visit.clockOffset) } == arrival)
        #expect(
            visit.departure.map { WallDate($0, offset: visit.clockOffset) }
                == WallDate(Fixture.start + .seconds(5), offset: now))
        #expect(visit.sightings == 2)
    }

    @Test func `T1: jumps of the wall clock cause no event, with or without restarts`() throws {
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

    @Test func `a snapshot with invalid values does not trap`() throws {
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
        var engine = MonitorEngine(start: Fixture.start, clockOffset: ClockOffset(nanoseconds: .max))
        var buffer = ActionBuffer()
        try engine.begin(site.setups, from: snapshot, at: Fixture.start, into: &buffer)
        site.engine = engine
        site.advance(to: .seconds(100_000))
        #expect(site.engine.identifiers.map(\.text) == ["lobby"])
    }
}
