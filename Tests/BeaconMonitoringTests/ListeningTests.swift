import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

@Suite struct ListeningTests {
    @Test(arguments: Implementation.allCases)
    func `L1: the time of a hold runs only while its adapter scans`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.sighted(at: .zero)
        fixture.stopped(at: .seconds(10))
        #expect(fixture.started(at: .seconds(50)) == [])
        #expect(fixture.advance(to: .seconds(70) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(70)) == [.unsatisfied(at: .seconds(70))])
    }

    @Test(arguments: Implementation.allCases)
    func `L1: an unplugged adapter keeps its holds if another receives nothing`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, listening: ["hci0", "hci1"])
        fixture.sighted(by: "hci0", at: .seconds(1))
        fixture.stopped("hci0", at: .seconds(10))
        #expect(fixture.advance(to: .seconds(70) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(70)) == [.unknown(at: .seconds(70))])
    }

    @Test(arguments: Implementation.allCases)
    func `L1: a beacon is present if at least one adapter holds it`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, listening: ["hci0", "hci1"])
        fixture.sighted(by: "hci0", at: .seconds(1))
        fixture.sighted(by: "hci1", at: .seconds(20))
        #expect(fixture.advance(to: .seconds(50) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(50)) == [.unsatisfied(at: .seconds(50))])
    }

    // MARK: Outages

    @Test(arguments: Implementation.allCases)
    func `L2: a satisfied subject becomes unknown outage_timeout after its last holder stopped`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, listening: ["hci0", "hci1"])
        fixture.sighted(by: "hci0", at: .seconds(1))
        fixture.sighted(by: "hci1", at: .seconds(1))
        fixture.stopped("hci1", at: .seconds(10))
        fixture.stopped("hci0", at: .seconds(12))
        #expect(fixture.advance(to: .seconds(72) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(72)) == [.unknown(at: .seconds(72))])
        #expect(fixture.events.map(\.diagnostics) == [.scannerUnavailable])
        #expect(fixture.events.map(\.lastSeen) == [Fixture.start + .seconds(1)])
        #expect(fixture.events.map(\.refinement) == [nil])
        #expect(fixture.visits.isEmpty)
    }

    @Test(arguments: Implementation.allCases)
    func `L2: a holder that scans keeps the state, also if all other holders are off`(_ implementation: Implementation)
    {
        var fixture = Fixture(implementation, listening: ["hci0", "hci1"]) { $0.exitTimeout = .seconds(100) }
        fixture.sighted(by: "hci0", at: .seconds(1))
        fixture.sighted(by: "hci1", at: .seconds(1))
        fixture.stopped("hci0", at: .seconds(10))
        #expect(fixture.advance(to: .seconds(100)) == [])
        // The hold of the adapter that scans was not the last one. It ends now, and the other holder has been off for
        // longer than `outage_timeout`.
        #expect(fixture.advance(to: .seconds(101)) == [.unknown(at: .seconds(101))])
    }

    @Test(arguments: Implementation.allCases)
    func `L2: when a subject becomes unknown, its holds start again`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.sighted(at: .zero)
        fixture.stopped(at: .seconds(20))
        #expect(fixture.advance(to: .seconds(90)) == [.unknown(at: .seconds(80))])
        fixture.started(at: .seconds(100))
        #expect(fixture.advance(to: .seconds(130) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(130)) == [.unsatisfied(at: .seconds(130))])
        #expect(fixture.visits.map(\.time) == [Fixture.start + .seconds(130)])
    }

    @Test(arguments: Implementation.allCases)
    func `L2: an unsatisfied condition becomes unknown outage_timeout after the last adapter stopped`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, listening: ["hci0", "hci1"])
        fixture.stopped("hci0", at: .seconds(1))
        #expect(fixture.advance(to: .seconds(500)) == [])
        fixture.stopped("hci1", at: .seconds(500))
        #expect(fixture.advance(to: .seconds(560) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(560)) == [.unknown(at: .seconds(560))])
        // It has a shared hold, which ends after 30 s in which any adapter scans.
        fixture.started("hci0", at: .seconds(600))
        fixture.stopped("hci0", at: .seconds(610))
        fixture.started("hci1", at: .seconds(620))
        #expect(fixture.advance(to: .seconds(640) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(640)) == [.unsatisfied(at: .seconds(640))])
    }

    @Test(arguments: Implementation.allCases)
    func `L2: if no adapter has scanned yet, the time counts from the start`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, listening: [])
        #expect(fixture.monitoring.nextDeadline.map { $0 <= Fixture.start + .seconds(60) } == true)
        #expect(fixture.advance(to: .seconds(60) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(60)) == [.unknown(at: .seconds(60))])
        #expect(fixture.events.map(\.diagnostics) == [.scannerUnavailable])
    }

    @Test(arguments: Implementation.allCases)
    func `L2: a condition that is added in an outage is unknown at once`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, listening: [], lobby: nil)
        #expect(fixture.add("before", assuming: .satisfied, at: .seconds(60) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(60)) == [.unknown("before", at: .seconds(60))])
        #expect(fixture.add("at", assuming: .satisfied, at: .seconds(60)) == [.unknown("at", at: .seconds(60))])
        #expect(fixture.conditionChanges.map(\.assumed) == [.satisfied])
        #expect(fixture.add("not", assuming: .unsatisfied, at: .seconds(61)) == [.unknown("not", at: .seconds(61))])
        #expect(fixture.add("unknown", at: .seconds(61)) == [])
    }

    @Test(arguments: Implementation.allCases)
    func `L2: if a stop is noticed late, the outage counts from the stop, but holds run until the notice`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation)
        fixture.sighted(at: .seconds(1))
        #expect(fixture.stopped(since: .seconds(2), at: .seconds(20)) == [])
        #expect(fixture.advance(to: .seconds(62) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(62)) == [.unknown(at: .seconds(62))])

        var late = Fixture(implementation) { $0.exitTimeout = .seconds(100) }
        late.sighted(at: .seconds(1))
        #expect(late.stopped(since: .seconds(2), at: .seconds(90)) == [.unknown(at: .seconds(90))])
    }

    // MARK: After an outage

    @Test(arguments: Implementation.allCases)
    func `L3: a subject that was satisfied returns at the first sighting that X1 accepts`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation) {
            $0.enterCount = 3
            $0.enterRSSI = RSSI(dBm: -70)
            $0.exitRSSI = RSSI(dBm: -80)
        }
        for second in 0..<3 { fixture.sighted(at: .seconds(second)) }
        fixture.stopped(at: .seconds(10))
        #expect(fixture.advance(to: .seconds(70)) == [.unknown(at: .seconds(70))])
        #expect(fixture.sighted(by: "hci1", rssi: -81, at: .seconds(75)) == [])
        #expect(fixture.sighted(by: "hci1", rssi: nil, at: .seconds(75)) == [])
        #expect(fixture.sighted(by: "hci1", rssi: -80, at: .seconds(76)) == [.satisfied(at: .seconds(76))])
        #expect(fixture.events.map(\.previous?.state) == [.unknown])
    }

    @Test(arguments: Implementation.allCases)
    func `L3: an unknown subject that was not satisfied enters by E1`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, listening: []) { $0.enterCount = 2 }
        #expect(fixture.advance(to: .seconds(60)) == [.unknown(at: .seconds(60))])
        #expect(fixture.sighted(at: .seconds(70)) == [])
        #expect(fixture.sighted(at: .seconds(71)) == [.satisfied(at: .seconds(71))])
    }

    @Test(arguments: Implementation.allCases)
    func `L3: a refresh ends the hold of an adapter that stopped outage_timeout ago, not 1 ns earlier`(
        _ implementation: Implementation
    ) {
        for (refresh, end) in [
            (Duration.seconds(70), Outcome.unsatisfied(at: .seconds(100))),
            (.seconds(70) - .nanosecond, .unknown(at: .seconds(100) - .nanosecond)),
        ] {
            var fixture = Fixture(implementation, listening: ["hci0", "hci1"])
            fixture.sighted(by: "hci0", at: .seconds(5))
            fixture.stopped("hci0", at: .seconds(10))
            for second in [30, 50] { fixture.sighted(by: "hci1", at: .seconds(second)) }
            #expect(fixture.sighted(by: "hci1", at: refresh) == [])
            #expect(fixture.advance(to: .seconds(200)) == [end])
        }
    }

    @Test(arguments: Implementation.allCases)
    func `L3: an adapter that stopped forget_after ago loses its holds, and a shared hold replaces them`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, forgetAfter: .seconds(3600), listening: ["hci0", "hci1"])
        fixture.sighted(by: "hci0", at: .seconds(1))
        fixture.stopped("hci0", at: .seconds(10))
        #expect(fixture.advance(to: .seconds(3610)) == [.unknown(at: .seconds(70))])
        #expect(fixture.advance(to: .seconds(3640) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(3640)) == [.unsatisfied(at: .seconds(3640))])

        var returned = Fixture(implementation, forgetAfter: .seconds(3600), listening: ["hci0", "hci1"])
        returned.sighted(by: "hci0", at: .seconds(1))
        returned.stopped("hci0", at: .seconds(10))
        returned.started("hci0", at: .seconds(3610) - .nanosecond)
        #expect(returned.advance(to: .seconds(3640) - .nanoseconds(2)) == [])
        #expect(returned.advance(to: .seconds(3640)) == [.unsatisfied(at: .seconds(3640) - .nanosecond)])
    }

    @Test(arguments: Implementation.allCases)
    func `L3: an adapter that is removed loses its holds`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, listening: ["hci0", "hci1"])
        fixture.sighted(by: "hci0", at: .seconds(1))
        #expect(fixture.removed("hci0", at: .seconds(20)) == [])
        #expect(fixture.adapterChanges.map(\.state) == [.gone])
        #expect(fixture.advance(to: .seconds(50) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(50)) == [.unsatisfied(at: .seconds(50))])
    }

    @Test(arguments: Implementation.allCases)
    func `L3: if the only scanning holder is removed, L2 applies at once`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, listening: ["hci0", "hci1", "hci2"]) { $0.exitTimeout = .seconds(600) }
        fixture.sighted(by: "hci0", at: .seconds(1))
        fixture.sighted(by: "hci1", at: .seconds(1))
        fixture.stopped("hci0", at: .seconds(10))
        #expect(fixture.removed("hci1", at: .seconds(80)) == [.unknown(at: .seconds(80))])
    }

    @Test(arguments: Implementation.allCases)
    func `L3: a removed adapter that returns is like a new one`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.removed(at: .seconds(1))
        #expect(fixture.removed(at: .seconds(2)) == [])
        #expect(fixture.actions.isEmpty)
        fixture.received(at: .seconds(3))
        #expect(fixture.adapterChanges.map(\.state) == [.listening])
        #expect(fixture.sighted(at: .seconds(4)) == [.satisfied(at: .seconds(4))])
        #expect(fixture.events.map(\.diagnostics) == [[]])
    }

    @Test(arguments: Implementation.allCases, [8, 9])
    func `L3: at most 8 adapters hold a subject; a ninth replaces the one with the oldest refresh`(
        _ implementation: Implementation, count: Int
    ) {
        let adapters = (1...count).map { "hci\($0)" }
        var fixture = Fixture(implementation, listening: adapters)
        for (second, adapter) in adapters.enumerated() { fixture.sighted(by: adapter, at: .seconds(second)) }
        // The first adapter is off, so its own hold would last longer than those of the others.
        fixture.stopped("hci1", at: .seconds(10))
        let expected: [Outcome] =
            count == 8 ? [.unknown(at: .seconds(70))] : [.unsatisfied(at: .seconds(30 + count - 1))]
        #expect(fixture.advance(to: .seconds(100)) == expected)
    }

    @Test(arguments: Implementation.allCases)
    func `L3: holders that stopped outage_timeout ago do not count among the 8`(
        _ implementation: Implementation
    ) {
        let adapters = (1...9).map { "hci\($0)" }
        var fixture = Fixture(implementation, listening: adapters) { $0.exitTimeout = .seconds(200) }
        // Eight adapters hold the subject. The second one has been off for so long that the refresh by the ninth ends
        // its hold, and no other.
        for (second, adapter) in adapters.prefix(8).enumerated() { fixture.sighted(by: adapter, at: .seconds(second)) }
        fixture.stopped("hci2", at: .seconds(10))
        fixture.stopped("hci1", at: .seconds(60))
        fixture.sighted(by: "hci9", at: .seconds(70))
        // The other holds end by 270 s. The first adapter has the oldest refresh, is off, and still holds the subject.
        #expect(fixture.advance(to: .seconds(300)) == [.unknown(at: .seconds(270))])
    }

    @Test(arguments: Implementation.allCases)
    func `L3: a subject that stays unknown because no adapter scans still remembers that it was satisfied`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation) { $0.enterCount = 2 }
        for second in [1, 2] { fixture.sighted(at: .seconds(second)) }
        fixture.stopped(at: .seconds(10))
        #expect(fixture.advance(to: .seconds(70)) == [.unknown(at: .seconds(70))])
        fixture.started(at: .seconds(100))
        fixture.stopped(at: .seconds(120))
        // The time of its hold is up now. But no adapter has scanned for `outage_timeout`, so it is not known to be
        // absent.
        let change: (inout ConditionSettings) -> Void = {
            $0.enterCount = 2
            $0.exitTimeout = .seconds(20)
        }
        #expect(fixture.add("lobby", at: .seconds(180), change) == [])
        #expect(fixture.visits.isEmpty)
        #expect(fixture.sighted(at: .seconds(200)) == [.satisfied(at: .seconds(200))])

        var earlier = Fixture(implementation)
        earlier.sighted(at: .seconds(1))
        earlier.stopped(at: .seconds(10))
        #expect(earlier.started(at: .seconds(100)) == [.unknown(at: .seconds(70))])
        earlier.stopped(at: .seconds(120))
        #expect(
            earlier.add("lobby", at: .seconds(180) - .nanosecond) { $0.exitTimeout = .seconds(20) }
                == [.unsatisfied(at: .seconds(180) - .nanosecond)])
    }

    // MARK: No reports

    @Test(arguments: Implementation.allCases)
    func `L5: an adapter without a report for deaf_after counts as stopped at its last report`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, deafAfter: .seconds(10))
        fixture.received(at: .seconds(5))
        fixture.advance(to: .seconds(15) - .nanosecond)
        #expect(fixture.actions.isEmpty)
        fixture.advance(to: .seconds(15))
        #expect(fixture.adapterChanges.map(\.state) == [.deaf])
        #expect(fixture.adapterChanges.map(\.since) == [Fixture.start + .seconds(5)])
        #expect(fixture.adapterChanges.map(\.time) == [Fixture.start + .seconds(15)])
        // L2 also counts from the last report.
        #expect(fixture.advance(to: .seconds(65) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(65)) == [.unknown(at: .seconds(65))])
    }

    @Test(arguments: Implementation.allCases)
    func `L5: a gap in the reports counts for at most deaf_after of an absence`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, deafAfter: .seconds(10))
        fixture.sighted(at: .zero)
        // 10 of the 30 s have counted.
        fixture.received(at: .seconds(50))
        #expect(fixture.adapterChanges.map(\.state) == [.deaf, .listening])
        for second in [58, 66] { #expect(fixture.received(at: .seconds(second)) == []) }
        #expect(fixture.advance(to: .seconds(70) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(70)) == [.unsatisfied(at: .seconds(70))])
    }

    @Test(arguments: Implementation.allCases)
    func `L5: a mark that an adapter scans changes nothing if it scans already`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, deafAfter: .seconds(10))
        fixture.started(at: .seconds(9))
        #expect(fixture.actions.isEmpty)
        fixture.advance(to: .seconds(10))
        #expect(fixture.adapterChanges.map(\.state) == [.deaf])
        fixture.started(at: .seconds(12))
        #expect(fixture.adapterChanges.map(\.state) == [.listening])
        fixture.advance(to: .seconds(22) - .nanosecond)
        #expect(fixture.actions.isEmpty)
        fixture.advance(to: .seconds(22))
        #expect(fixture.adapterChanges.map(\.since) == [Fixture.start + .seconds(12)])
    }

    @Test(arguments: Implementation.allCases)
    func `L5: if a deaf adapter becomes off, its since does not change`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, deafAfter: .seconds(10))
        fixture.stopped(at: .seconds(30))
        #expect(fixture.adapterChanges.map(\.state) == [.deaf, .off])
        #expect(fixture.adapterChanges.map(\.since) == [Fixture.start, Fixture.start])
        fixture.stopped(at: .seconds(31))
        #expect(fixture.actions.isEmpty)
    }

    @Test(arguments: Implementation.allCases)
    func `L4: if L5 is off, an adapter without reports continues to scan`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, deafAfter: .seconds(10))
        fixture.sighted(at: .seconds(5))
        fixture.perform(.silenceMeansNotScanning(false))
        #expect(fixture.advance(to: .seconds(100)) == [.unsatisfied(at: .seconds(35))])
        #expect(fixture.adapterChanges.isEmpty)
        // Deadlines of L5 that passed in the meantime are due now.
        fixture.perform(.silenceMeansNotScanning(true))
        fixture.advance(to: .seconds(100))
        #expect(fixture.adapterChanges.map(\.time) == [Fixture.start + .seconds(100)])
    }

    @Test(arguments: Implementation.allCases)
    func `an event has scannerUnavailable while an adapter that should scan does not`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation)
        fixture.sighted(at: .zero)
        #expect(fixture.events.map(\.diagnostics) == [[]])
        fixture.perform(.adapter("hci1"))
        fixture.advance(to: .seconds(30))
        #expect(fixture.events.map(\.diagnostics) == [.scannerUnavailable])
        fixture.perform(.ambient(.clockUnsynchronized))
        fixture.removed("hci1", at: .seconds(31))
        fixture.sighted(at: .seconds(32))
        #expect(fixture.events.map(\.diagnostics) == [.clockUnsynchronized])
    }
}
