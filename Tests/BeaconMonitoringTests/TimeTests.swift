import BaseTypes
import Testing

@testable import BeaconMonitoring

@Suite struct TimeTests {
    @Test(arguments: Implementation.allCases)
    func `T1: a jump of the wall clock changes dates and nothing else`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.setClock(ahead: .seconds(1_000_000))
        fixture.sighted(at: .seconds(1))
        #expect(fixture.events.map(\.date.microseconds) == [1_001_001_000_000])
        fixture.setClock(ahead: .seconds(-500))
        #expect(fixture.advance(to: .seconds(31)) == [.unsatisfied(at: .seconds(31))])
        #expect(fixture.events.map(\.date.microseconds) == [531_000_000])
        #expect(fixture.events.map(\.previous?.date.microseconds) == [1_001_001_000_000])
        #expect(fixture.visits.map(\.date.microseconds) == [531_000_000])
    }

    @Test(arguments: Implementation.allCases)
    func `T1: a date is truncated to microseconds, not rounded`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.setClock(ahead: .nanoseconds(998))
        fixture.sighted(at: .seconds(1) + .nanosecond)
        #expect(fixture.events.map(\.date.microseconds) == [1_001_000_000])
        fixture.setClock(ahead: .nanoseconds(999))
        fixture.advance(to: .seconds(40))
        #expect(fixture.events.map(\.date.microseconds) == [1_031_000_001])
    }

    @Test(arguments: Implementation.allCases)
    func `T2: an input with an earlier time is handled at the present and counted`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.advance(to: .seconds(5))
        #expect(fixture.sighted(at: .seconds(5)) == [.satisfied(at: .seconds(5))])
        #expect(fixture.monitoring.lateInputs == 0)
        fixture.add("late", at: .seconds(5))
        #expect(fixture.sighted(at: .seconds(5) - .nanosecond) == [.satisfied("late", at: .seconds(5))])
        #expect(fixture.monitoring.lateInputs == 1)
        #expect(fixture.monitoring.now == Fixture.start + .seconds(5))
        // The hold of the refresh starts at the present, not at the time of the input.
        #expect(fixture.advance(to: .seconds(35) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(35)).count == 2)
    }

    @Test(arguments: Implementation.allCases)
    func `T3: a silence that reaches the timeout is an exit, also if a sighting has the same time`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation)
        fixture.sighted(at: .zero)
        #expect(fixture.sighted(at: .seconds(30) - .nanosecond) == [])
        let reached = Duration.seconds(60) - .nanosecond
        #expect(fixture.sighted(at: reached) == [.unsatisfied(at: reached), .satisfied(at: reached)])
    }

    @Test(arguments: Implementation.allCases)
    func `T3: subjects due at the same time are in the order of UTF-8, a condition before its beacons`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, lobby: nil)
        // In UTF-16, U+1F4F6 is before U+FF5E. In UTF-8, e with a combining accent is before z, and é as one scalar
        // after z.
        let identifiers = ["\u{1f4f6}", "\u{ff5e}", "\u{e9}", "e\u{301}", "z", "Z"]
        for identifier in identifiers {
            fixture.add(identifier, assuming: .unsatisfied, at: .zero) { $0.perBeacon = identifier == "Z" }
        }
        fixture.sighted(.a(2, major: 1), at: .seconds(1))
        fixture.sighted(.a(1, major: 2), at: .seconds(1))
        fixture.sighted(.a(1, major: 1), at: .seconds(1))
        let time = Duration.seconds(31)
        #expect(
            fixture.advance(to: .seconds(50)) == [
                .unsatisfied("Z", at: time), .unsatisfied("Z", beacon: .a(1, major: 1), at: time),
                .unsatisfied("Z", beacon: .a(2, major: 1), at: time),
                .unsatisfied("Z", beacon: .a(1, major: 2), at: time), .unsatisfied("e\u{301}", at: time),
                .unsatisfied("z", at: time), .unsatisfied("\u{e9}", at: time), .unsatisfied("\u{ff5e}", at: time),
                .unsatisfied("\u{1f4f6}", at: time),
            ])
    }

    @Test(arguments: Implementation.allCases)
    func `T3: the due time is compared before the identifier`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, lobby: nil)
        fixture.add("a", assuming: .unsatisfied, at: .zero) { $0.exitTimeout = .seconds(30) + .nanosecond }
        fixture.add("b", assuming: .unsatisfied, at: .zero)
        fixture.sighted(at: .zero)
        #expect(
            fixture.advance(to: .seconds(40))
                == [.unsatisfied("b", at: .seconds(30)), .unsatisfied("a", at: .seconds(30) + .nanosecond)])
    }

    @Test(arguments: Implementation.allCases)
    func `T3: adapters become deaf by name, before the subjects of the same time`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, deafAfter: .seconds(10), listening: ["hci10", "hci2"]) {
            $0.exitTimeout = .seconds(10)
        }
        fixture.sighted(by: "hci2", at: .seconds(1))
        fixture.received(by: "hci10", at: .seconds(1))
        fixture.advance(to: .seconds(11))
        #expect(fixture.actions.map(\.identifier) == ["hci10", "hci2", "lobby", "lobby"])
        #expect(fixture.actions.compactMap(\.time) == Array(repeating: Fixture.start + .seconds(11), count: 4))
    }

    @Test(arguments: Implementation.allCases)
    func `T3: a hold whose time is up when its adapter stops ends at that moment`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.sighted(at: .zero)
        #expect(fixture.stopped(at: .seconds(30)) == [.unsatisfied(at: .seconds(30))])

        var earlier = Fixture(implementation)
        earlier.sighted(at: .zero)
        #expect(earlier.stopped(at: .seconds(30) - .nanosecond) == [])
        #expect(earlier.advance(to: .seconds(80)) == [])
        #expect(earlier.state() == .satisfied)

        var deaf = Fixture(implementation, deafAfter: .seconds(10)) { $0.exitTimeout = .seconds(10) + .nanosecond }
        deaf.sighted(at: .zero)
        #expect(deaf.advance(to: .seconds(59)) == [])
    }

    @Test(arguments: Implementation.allCases)
    func `T4: frequent wake-ups change nothing`(_ implementation: Implementation) {
        func run(wakes: Bool) -> [Action] {
            var fixture = Fixture(implementation, deafAfter: .seconds(7), outageTimeout: .seconds(20)) {
                $0.enterCount = 2
                $0.exitTimeout = .seconds(9)
                $0.perBeacon = true
            }
            var all: [Action] = []
            for (index, second) in [1, 2, 4, 13, 14, 30, 31, 60, 200].enumerated() {
                if wakes {
                    while let deadline = fixture.monitoring.nextDeadline, deadline <= Fixture.start + .seconds(second) {
                        fixture.advance(to: deadline - Fixture.start)
                        all += fixture.actions
                    }
                }
                fixture.sighted(.a(UInt16(index % 2)), at: .seconds(second))
                all += fixture.actions
            }
            return all
        }
        #expect(run(wakes: true) == run(wakes: false))
        #expect(run(wakes: false).count > 15)
    }

    @Test(arguments: Implementation.allCases)
    func `T4: an exit has the date of its deadline, however late it is noticed`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.sighted(at: .seconds(1))
        #expect(fixture.advance(to: .seconds(5000)) == [.unsatisfied(at: .seconds(31))])
        #expect(fixture.visits.map(\.time) == [Fixture.start + .seconds(31)])
    }

    @Test func `the bounds of the timeline do not trap`() {
        for nanoseconds in [0, 1, Int64.max] {
            var engine = MonitorEngine(start: .earliest)
            var buffer = ActionBuffer()
            do {
                let adapter = try engine.adapter(named: "hci0", at: .earliest, into: &buffer)
                let site = try Identifier("site")
                try engine.addMonitor(site)
                try engine.add(
                    .anyA, identifier: Identifier("lobby"), monitor: site, at: .earliest, into: &buffer)
                let time = Instant(nanoseconds: nanoseconds)
                engine.sighted(
                    Sighting(time: time, adapter: adapter, beacon: .a(1), measuredPower: -59, rssi: nil), into: &buffer)
                engine.listening(
                    ListeningChange(.stopped(since: .earliest), adapter: adapter), at: time, into: &buffer)
                engine.advance(to: .latest, into: &buffer)
            } catch {
                Issue.record("\(error)")
            }
            #expect(engine.now == .latest)
        }
    }
}
