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
            var world = World(implementation, lobby: nil)
            #expect(world.add("lobby", assuming: state, at: .zero) == [])
            #expect(world.state() == state)
            #expect(world.conditionChanges.map(\.kind) == [.added])
            #expect(world.conditionChanges.map(\.assumed) == [state])
        }
        var world = World(implementation, lobby: nil)
        world.add("lobby", assuming: .unmonitored, at: .zero)
        #expect(world.refusal != nil)
        #expect(world.state() == nil)
    }

    @Test(arguments: Implementation.allCases)
    func `C1: an assumed state counts as a refresh only for its deadline`(_ implementation: Implementation) {
        var world = World(implementation, lobby: nil)
        world.add("lobby", assuming: .satisfied, at: .seconds(1))
        #expect(world.advance(to: .seconds(31) - .nanosecond) == [])
        #expect(world.advance(to: .seconds(31)) == [.unsatisfied(at: .seconds(31))])
        #expect(world.events.map(\.lastSeen) == [nil])
        #expect(world.events.map(\.sighting) == [nil])
        #expect(world.events.map(\.previous) == [nil])
        #expect(world.visits.map(\.arrival) == [nil])
        #expect(world.visits.map(\.departure) == [nil])
        #expect(world.visits.map(\.sightings) == [0])
    }

    // MARK: Adding again

    @Test(arguments: Implementation.allCases)
    func `C2: the same condition keeps its state, and deadlines move with its settings`(
        _ implementation: Implementation
    ) {
        var world = World(implementation)
        world.sighted(at: .zero)
        #expect(world.add("lobby", assuming: .unknown, at: .seconds(5)) { $0.exitTimeout = .seconds(10) } == [])
        #expect(world.conditionChanges.map(\.kind) == [.changed])
        #expect(world.conditionChanges.map(\.assumed) == [nil])
        #expect(world.advance(to: .seconds(10) - .nanosecond) == [])
        #expect(world.advance(to: .seconds(10)) == [.unsatisfied(at: .seconds(10))])

        var longer = World(implementation)
        longer.sighted(at: .zero)
        longer.add("lobby", at: .seconds(5)) { $0.exitTimeout = .seconds(40) }
        #expect(longer.advance(to: .seconds(40) - .nanosecond) == [])
        #expect(longer.advance(to: .seconds(40)) == [.unsatisfied(at: .seconds(40))])
    }

    @Test(arguments: Implementation.allCases)
    func `C2: a deadline that moves into the past is due now`(_ implementation: Implementation) {
        var world = World(implementation)
        world.sighted(at: .zero)
        #expect(
            world.add("lobby", at: .seconds(20)) { $0.exitTimeout = .seconds(10) } == [.unsatisfied(at: .seconds(20))])

        var away = World(implementation)
        away.sighted(at: .zero)
        away.stopped(at: .seconds(15))
        #expect(
            away.add("lobby", at: .seconds(20)) { $0.exitTimeout = .seconds(15) } == [.unsatisfied(at: .seconds(20))])
    }

    @Test(arguments: Implementation.allCases)
    func `C2: the same settings change nothing and cause no action`(_ implementation: Implementation) {
        var world = World(implementation)
        world.add("lobby", assuming: .satisfied, at: .seconds(1))
        #expect(world.actions.isEmpty)
        #expect(world.state() == .unsatisfied)
    }

    @Test(arguments: Implementation.allCases)
    func `C2: a change of enter settings restarts the entry, other changes do not`(_ implementation: Implementation) {
        var world = World(implementation) { $0.enterCount = 2 }
        world.sighted(at: .seconds(1))
        world.add("lobby", at: .seconds(2)) {
            $0.enterCount = 2
            $0.exitTimeout = .seconds(60)
        }
        #expect(world.sighted(at: .seconds(3)) == [.satisfied(at: .seconds(3))])

        var entering = World(implementation) { $0.enterCount = 3 }
        entering.sighted(at: .seconds(1))
        entering.add("lobby", at: .seconds(2)) { $0.enterCount = 2 }
        #expect(entering.sighted(at: .seconds(3)) == [])
        #expect(entering.sighted(at: .seconds(4)) == [.satisfied(at: .seconds(4))])
    }

    @Test(arguments: Implementation.allCases)
    func `C2: if identity or per_beacon changes, the state resets, visits end`(_ implementation: Implementation) {
        for isIdentity in [true, false] {
            var world = World(implementation)
            world.sighted(at: .seconds(1))
            let condition = isIdentity ? Condition.a(1) : .anyA
            #expect(
                world.add("lobby", condition, assuming: .unsatisfied, at: .seconds(5)) { $0.perBeacon = !isIdentity }
                    == [])
            #expect(world.visits.map(\.reason) == [.replaced])
            #expect(world.visits.map(\.time) == [World.start + .seconds(5)])
            #expect(world.conditionChanges.map(\.kind) == [.replaced])
            #expect(world.conditionChanges.map(\.assumed) == [.unsatisfied])
            #expect(world.state() == .unsatisfied)
            #expect(world.sighted(at: .seconds(6)).first == .satisfied(at: .seconds(6)))
            #expect(world.events.first?.previous == nil)
        }
    }

    @Test(arguments: Implementation.allCases)
    func `C3: a removal ends the monitoring and the visits, without an event`(_ implementation: Implementation) {
        var world = World(implementation) { $0.perBeacon = true }
        world.sighted(.a(2), at: .seconds(1))
        world.sighted(.a(1), at: .seconds(2))
        #expect(world.remove("lobby", at: .seconds(5)) == [])
        #expect(world.visits.map(\.refinement) == [nil, .a(1), .a(2)])
        #expect(world.visits.map(\.reason) == [.removed, .removed, .removed])
        #expect(world.conditionChanges.map(\.kind) == [.removed])
        #expect(world.actions.last?.time == World.start + .seconds(5))
        #expect(world.state() == nil)
        #expect(world.sighted(at: .seconds(6)) == [])
        world.remove("lobby", at: .seconds(6))
        #expect(world.refusal == .identifierUnknown("lobby"))
    }

    // MARK: Limits

    @Test(arguments: Implementation.allCases)
    func `C4: conditions beyond the limit are unmonitored, counted over all monitors`(_ implementation: Implementation)
    {
        var world = World(implementation, conditionLimit: 2, lobby: nil)
        world.addMonitor("yard")
        #expect(world.add("b", at: .zero) == [])
        #expect(world.add("c", monitor: "yard", at: .zero) == [])
        #expect(world.add("a", assuming: .satisfied, at: .zero) == [.unmonitored("a", at: .zero)])
        #expect(world.events.map(\.diagnostics) == [.conditionLimitExceeded])
        #expect(world.sighted(at: .seconds(1)) == [.satisfied("b", at: .seconds(1)), .satisfied("c", at: .seconds(1))])
        #expect(world.state("a") == .unmonitored)
    }

    @Test(arguments: Implementation.allCases)
    func `C4: a free place goes to the first condition that waits, which becomes unknown`(
        _ implementation: Implementation
    ) {
        var world = World(implementation, conditionLimit: 1, lobby: nil)
        world.add("c", at: .zero)
        world.add("b", assuming: .satisfied, at: .zero)
        world.add("a", at: .zero)
        #expect(world.remove("b", at: .seconds(1)) == [])
        world.add("b", assuming: .satisfied, at: .seconds(1))
        #expect(world.remove("c", at: .seconds(2)) == [.unknown("a", at: .seconds(2))])
        #expect(world.events.map(\.diagnostics) == [[]])
        #expect(world.events.map(\.previous?.state) == [.unmonitored])
        #expect(world.advance(to: .seconds(32)) == [.unsatisfied("a", at: .seconds(32))])
        #expect(world.remove("a", at: .seconds(33)) == [.unknown("b", at: .seconds(33))])
    }

    @Test(arguments: Implementation.allCases)
    func `C4: condition_limit 0 means no limit`(_ implementation: Implementation) {
        var world = World(implementation, conditionLimit: 0, lobby: nil)
        for number in 0..<30 { #expect(world.add("condition \(number)", at: .zero) == []) }
    }

    @Test(arguments: Implementation.allCases)
    func `C5: if there is no source, a circle is unmonitored and takes no place`(_ implementation: Implementation) {
        var world = World(implementation, conditionLimit: 1, lobby: nil)
        #expect(world.add("circle", Self.circle(), at: .zero) == [.unmonitored("circle", at: .zero)])
        #expect(world.events.map(\.diagnostics) == [.conditionUnsupported])
        #expect(world.add("lobby", at: .zero) == [])
        #expect(world.add("more", at: .zero) == [.unmonitored("more", at: .zero)])
        // A circle that replaces a beacon condition frees a place. A beacon condition that replaces a circle needs one.
        #expect(
            world.add("lobby", Self.circle(), at: .seconds(1))
                == [.unmonitored(at: .seconds(1)), .unknown("more", at: .seconds(1))])
        #expect(world.add("circle", at: .seconds(2)) == [.unmonitored("circle", at: .seconds(2))])
        #expect(world.events.map(\.diagnostics) == [.conditionLimitExceeded])
    }

    // MARK: Names and bounds

    @Test(arguments: Implementation.allCases)
    func `C6: identifiers must be unique over all monitors`(_ implementation: Implementation) {
        var world = World(implementation)
        world.addMonitor("yard")
        world.add("lobby", monitor: "yard", at: .zero)
        #expect(world.refusal == .identifierTaken("lobby", monitor: "site"))
        world.add("other", monitor: "nowhere", at: .zero)
        #expect(world.refusal == .nameUnknown("nowhere"))
        world.addMonitor("site")
        #expect(world.refusal == .nameTaken("site"))
    }

    @Test(arguments: Implementation.allCases)
    func `C7: settings out of bounds are refused and change nothing`(_ implementation: Implementation) {
        let changes: [(inout ConditionSettings) -> Void] = [
            { $0.enterCount = 0 }, { $0.enterCount = 1001 }, { $0.enterWindow = .milliseconds(1) - .nanosecond },
            { $0.exitTimeout = .seconds(30 * 86_400) + .nanosecond }, { $0.enterRSSI = RSSI(dBm: 21) },
            { $0.enterWindow = .seconds(60) + .nanosecond },
        ]
        for change in changes {
            var world = World(implementation, lobby: nil)
            world.add("lobby", at: .zero, change)
            guard case .settingInvalid = world.refusal else {
                Issue.record("refused with \(world.refusal as Any)")
                continue
            }
            #expect(world.actions.isEmpty)
            #expect(world.state() == nil)
        }
        var world = World(implementation, lobby: nil)
        world.add("lobby", at: .zero) {
            $0.enterCount = 1000
            $0.enterWindow = .seconds(60)
            $0.exitTimeout = .seconds(30 * 86_400)
            $0.enterRSSI = RSSI(dBm: 20)
        }
        #expect(world.refusal == nil)
    }

    @Test(arguments: [(10, 100), (11, 11), (11, 2_592_001)])
    func `C7: deaf_after < outage_timeout < forget_after, and forget_after is at most 30 d`(outage: Int, forget: Int) {
        let world = World(
            .engine, deafAfter: .seconds(10), outageTimeout: .seconds(outage), forgetAfter: .seconds(forget), lobby: nil
        )
        var with = world
        with.add("lobby", at: .zero)
        #expect(with.refusal == .nameUnknown("site"))
        var right = World(
            .engine, deafAfter: .seconds(10), outageTimeout: .seconds(11), forgetAfter: .seconds(12), lobby: nil)
        right.add("lobby", at: .zero)
        #expect(right.refusal == nil)
    }
}
