import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

@Suite struct ConditionTests {
    private static func circle(radius: Double = 100) -> Condition {
        do {
            return .circle(
                try BeaconMonitor.CircularGeographicCondition(latitude: 48.2, longitude: 16.4, radius: radius))
        } catch { preconditionFailure("a circle in Vienna is possible: \(error)") }
    }

    @Test(arguments: Implementation.allCases)
    func `C1: a condition starts in the assumed state, without an event`(_ implementation: Implementation) {
        for state in [BeaconMonitor.Event.State.unknown, .satisfied, .unsatisfied] {
            var fixture = Fixture(implementation, lobby: nil)
            #expect(fixture.add("lobby", assuming: state, at: .zero) == [])
            #expect(fixture.state() == state)
            #expect(fixture.conditionChanges.map(\.kind) == [.added])
            #expect(fixture.conditionChanges.map(\.assumed) == [state])
        }
        var fixture = Fixture(implementation, lobby: nil)
        fixture.add("lobby", assuming: .unmonitored, at: .zero)
        #expect(fixture.refusal != nil)
        #expect(fixture.state() == nil)
    }

    @Test(arguments: Implementation.allCases)
    func `C1: an assumed state counts as a refresh only for its deadline`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, lobby: nil)
        fixture.add("lobby", assuming: .satisfied, at: .seconds(1))
        #expect(fixture.advance(to: .seconds(31) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(31)) == [.unsatisfied(at: .seconds(31))])
        #expect(fixture.events.map(\.lastSeen) == [nil])
        #expect(fixture.events.map(\.sighting) == [nil])
        #expect(fixture.events.map(\.previous) == [nil])
        #expect(fixture.visits.map(\.arrival) == [nil])
        #expect(fixture.visits.map(\.departure) == [nil])
        #expect(fixture.visits.map(\.sightings) == [0])
    }

    // MARK: Adding again

    @Test(arguments: Implementation.allCases)
    func `C2: the same condition keeps its state, and deadlines move with its settings`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation)
        fixture.sighted(at: .zero)
        #expect(fixture.add("lobby", assuming: .unknown, at: .seconds(5)) { $0.exitTimeout = .seconds(10) } == [])
        #expect(fixture.conditionChanges.map(\.kind) == [.changed])
        #expect(fixture.conditionChanges.map(\.assumed) == [nil])
        #expect(fixture.advance(to: .seconds(10) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(10)) == [.unsatisfied(at: .seconds(10))])

        var longer = Fixture(implementation)
        longer.sighted(at: .zero)
        longer.add("lobby", at: .seconds(5)) { $0.exitTimeout = .seconds(40) }
        #expect(longer.advance(to: .seconds(40) - .nanosecond) == [])
        #expect(longer.advance(to: .seconds(40)) == [.unsatisfied(at: .seconds(40))])
    }

    @Test(arguments: Implementation.allCases)
    func `C2: a deadline that moves into the past is due now`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.sighted(at: .zero)
        #expect(
            fixture.add("lobby", at: .seconds(20)) { $0.exitTimeout = .seconds(10) } == [.unsatisfied(at: .seconds(20))]
        )

        var away = Fixture(implementation)
        away.sighted(at: .zero)
        away.stopped(at: .seconds(15))
        #expect(
            away.add("lobby", at: .seconds(20)) { $0.exitTimeout = .seconds(15) } == [.unsatisfied(at: .seconds(20))])
    }

    @Test(arguments: Implementation.allCases)
    func `C2: the same settings change nothing and cause no action`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.add("lobby", assuming: .satisfied, at: .seconds(1))
        #expect(fixture.actions.isEmpty)
        #expect(fixture.state() == .unsatisfied)
    }

    @Test(arguments: Implementation.allCases)
    func `C2: a change of enter settings restarts the entry, other changes do not`(_ implementation: Implementation) {
        var fixture = Fixture(implementation) { $0.enterCount = 2 }
        fixture.sighted(at: .seconds(1))
        fixture.add("lobby", at: .seconds(2)) {
            $0.enterCount = 2
            $0.exitTimeout = .seconds(60)
        }
        #expect(fixture.sighted(at: .seconds(3)) == [.satisfied(at: .seconds(3))])

        var entering = Fixture(implementation) { $0.enterCount = 3 }
        entering.sighted(at: .seconds(1))
        entering.add("lobby", at: .seconds(2)) { $0.enterCount = 2 }
        #expect(entering.sighted(at: .seconds(3)) == [])
        #expect(entering.sighted(at: .seconds(4)) == [.satisfied(at: .seconds(4))])
    }

    @Test(arguments: Implementation.allCases)
    func `C2: if identity or per_beacon changes, the state resets, visits end`(_ implementation: Implementation) {
        for isIdentity in [true, false] {
            var fixture = Fixture(implementation)
            fixture.sighted(at: .seconds(1))
            let condition = isIdentity ? Condition.a(1) : .anyA
            #expect(
                fixture.add("lobby", condition, assuming: .unsatisfied, at: .seconds(5)) { $0.perBeacon = !isIdentity }
                    == [])
            #expect(fixture.visits.map(\.reason) == [.replaced])
            #expect(fixture.visits.map(\.time) == [Fixture.start + .seconds(5)])
            #expect(fixture.conditionChanges.map(\.kind) == [.replaced])
            #expect(fixture.conditionChanges.map(\.assumed) == [.unsatisfied])
            #expect(fixture.state() == .unsatisfied)
            #expect(fixture.sighted(at: .seconds(6)).first == .satisfied(at: .seconds(6)))
            #expect(fixture.events.first?.previous == nil)
        }
    }

    @Test(arguments: Implementation.allCases)
    func `C3: a removal ends the monitoring and the visits, without an event`(_ implementation: Implementation) {
        var fixture = Fixture(implementation) { $0.perBeacon = true }
        fixture.sighted(.a(2), at: .seconds(1))
        fixture.sighted(.a(1), at: .seconds(2))
        #expect(fixture.remove("lobby", at: .seconds(5)) == [])
        #expect(fixture.visits.map(\.refinement) == [nil, .a(1), .a(2)])
        #expect(fixture.visits.map(\.reason) == [.removed, .removed, .removed])
        #expect(fixture.conditionChanges.map(\.kind) == [.removed])
        #expect(fixture.actions.last?.time == Fixture.start + .seconds(5))
        #expect(fixture.state() == nil)
        #expect(fixture.sighted(at: .seconds(6)) == [])
        fixture.remove("lobby", at: .seconds(6))
        #expect(fixture.refusal == .identifierUnknown("lobby"))
    }

    // MARK: Limits

    @Test(arguments: Implementation.allCases)
    func `C4: conditions beyond the limit are unmonitored, counted over all monitors`(_ implementation: Implementation)
    {
        var fixture = Fixture(implementation, conditionLimit: 2, lobby: nil)
        fixture.addMonitor("yard")
        #expect(fixture.add("b", at: .zero) == [])
        #expect(fixture.add("c", monitor: "yard", at: .zero) == [])
        #expect(fixture.add("a", assuming: .satisfied, at: .zero) == [.unmonitored("a", at: .zero)])
        #expect(fixture.events.map(\.diagnostics) == [.conditionLimitExceeded])
        #expect(
            fixture.sighted(at: .seconds(1)) == [.satisfied("b", at: .seconds(1)), .satisfied("c", at: .seconds(1))])
        #expect(fixture.state("a") == .unmonitored)
    }

    @Test(arguments: Implementation.allCases)
    func `C4: a free place goes to the first condition that waits, which becomes unknown`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, conditionLimit: 1, lobby: nil)
        fixture.add("c", at: .zero)
        fixture.add("b", assuming: .satisfied, at: .zero)
        fixture.add("a", at: .zero)
        #expect(fixture.remove("b", at: .seconds(1)) == [])
        fixture.add("b", assuming: .satisfied, at: .seconds(1))
        #expect(fixture.remove("c", at: .seconds(2)) == [.unknown("a", at: .seconds(2))])
        #expect(fixture.events.map(\.diagnostics) == [[]])
        #expect(fixture.events.map(\.previous?.state) == [.unmonitored])
        #expect(fixture.advance(to: .seconds(32)) == [.unsatisfied("a", at: .seconds(32))])
        #expect(fixture.remove("a", at: .seconds(33)) == [.unknown("b", at: .seconds(33))])
    }

    @Test(arguments: Implementation.allCases)
    func `C4: condition_limit 0 means no limit`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, conditionLimit: 0, lobby: nil)
        for number in 0..<30 { #expect(fixture.add("condition \(number)", at: .zero) == []) }
    }

    @Test(arguments: Implementation.allCases)
    func `C5: if there is no source, a circle is unmonitored and takes no place`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, conditionLimit: 1, lobby: nil)
        #expect(fixture.add("circle", Self.circle(), at: .zero) == [.unmonitored("circle", at: .zero)])
        #expect(fixture.events.map(\.diagnostics) == [.conditionUnsupported])
        #expect(fixture.add("lobby", at: .zero) == [])
        #expect(fixture.add("more", at: .zero) == [.unmonitored("more", at: .zero)])
        // A circle that replaces a beacon condition frees a place. A beacon condition that replaces a circle needs one.
        #expect(
            fixture.add("lobby", Self.circle(), at: .seconds(1))
                == [.unmonitored(at: .seconds(1)), .unknown("more", at: .seconds(1))])
        #expect(fixture.add("circle", at: .seconds(2)) == [.unmonitored("circle", at: .seconds(2))])
        #expect(fixture.events.map(\.diagnostics) == [.conditionLimitExceeded])
    }

    // MARK: Names and bounds

    @Test(arguments: Implementation.allCases)
    func `C6: identifiers must be unique over all monitors`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.addMonitor("yard")
        fixture.add("lobby", monitor: "yard", at: .zero)
        #expect(fixture.refusal == .identifierTaken("lobby", monitor: "site"))
        fixture.add("other", monitor: "nowhere", at: .zero)
        #expect(fixture.refusal == .nameUnknown("nowhere"))
        fixture.addMonitor("site")
        #expect(fixture.refusal == .nameTaken("site"))
    }

    @Test(arguments: Implementation.allCases)
    func `C7: settings out of bounds are refused and change nothing`(_ implementation: Implementation) {
        let changes: [(inout ConditionSettings) -> Void] = [
            { $0.enterCount = 0 }, { $0.enterCount = 1001 }, { $0.enterWindow = .milliseconds(1) - .nanosecond },
            { $0.exitTimeout = .seconds(30 * 86_400) + .nanosecond }, { $0.enterRSSI = RSSI(dBm: 21) },
            { $0.enterWindow = .seconds(60) + .nanosecond },
        ]
        for change in changes {
            var fixture = Fixture(implementation, lobby: nil)
            fixture.add("lobby", at: .zero, change)
            guard case .settingInvalid = fixture.refusal else {
                Issue.record("refused with \(fixture.refusal as Any)")
                continue
            }
            #expect(fixture.actions.isEmpty)
            #expect(fixture.state() == nil)
        }
        var fixture = Fixture(implementation, lobby: nil)
        fixture.add("lobby", at: .zero) {
            $0.enterCount = 1000
            $0.enterWindow = .seconds(60)
            $0.exitTimeout = .seconds(30 * 86_400)
            $0.enterRSSI = RSSI(dBm: 20)
        }
        #expect(fixture.refusal == nil)
    }

    @Test(arguments: [(10, 100), (11, 11), (11, 2_592_001)])
    func `C7: deaf_after < outage_timeout < forget_after, and forget_after is at most 30 d`(outage: Int, forget: Int) {
        let fixture = Fixture(
            .engine, deafAfter: .seconds(10), outageTimeout: .seconds(outage), forgetAfter: .seconds(forget), lobby: nil
        )
        var with = fixture
        with.add("lobby", at: .zero)
        #expect(with.refusal == .nameUnknown("site"))
        var right = Fixture(
            .engine, deafAfter: .seconds(10), outageTimeout: .seconds(11), forgetAfter: .seconds(12), lobby: nil)
        right.add("lobby", at: .zero)
        #expect(right.refusal == nil)
    }
}
