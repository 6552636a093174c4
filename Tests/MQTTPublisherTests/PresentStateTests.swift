import BluetoothLE
import EventLog
import Foundation
import Testing

@testable import BeaconMonitoring
@testable import MQTTPublisher

@Suite struct PresentStateTests {
    private let staff = "beacons/lobby/state/staff"
    private let badge = "beacons/lobby/state/staff/F7826DA6-4FA2-4E98-8024-BC5B71E0893E/100/7"

    private func make(_ change: (inout PresentStateOptions) -> Void = { _ in }, lastWritten: Int = .max) throws
        -> PresentState
    {
        var options = try PresentOptions.make(homeAssistant: false)
        change(&options)
        return PresentState(options, lastWritten: lastWritten)
    }

    @Test(arguments: [true, false])
    func `states follow the life of a condition and a beacon, with and without an envelope`(envelope: Bool) throws {
        var (fixture, broker, state) = (try PresentFixture(envelope: envelope), RetainingBroker(), try make())
        var seen: [[String: String]] = []
        func look() throws {
            state.follow(fixture)
            state.deliver(to: &broker)
            seen.append(try broker.states())
        }
        try fixture.add("staff", perBeacon: true, at: 1)
        try look()
        fixture.sighted(at: 2)
        try look()
        fixture.listening(false, at: 3)
        fixture.advance(to: 100)
        try look()
        fixture.listening(true, at: 101)
        fixture.sighted(at: 102)
        try look()
        fixture.advance(to: 200)
        try look()
        try fixture.remove("staff", at: 201)
        try look()
        #expect(
            seen == [
                [staff: "unknown"], [staff: "satisfied", badge: "satisfied"], [staff: "unknown", badge: "unknown"],
                [staff: "satisfied", badge: "satisfied"], [staff: "unsatisfied"], [:],
            ])
        #expect(state.counters == PresentStateCounters())
        #expect(state.sequence == fixture.lines.count)
    }

    @Test func `a state has the values of its line, with the keys in a fixed order`() throws {
        var (fixture, broker, state) = (try PresentFixture(), RetainingBroker(), try make())
        try fixture.add("staff", perBeacon: true, at: 1)
        fixture.sighted(at: 2.5)
        state.follow(fixture)
        state.deliver(to: &broker)
        let rest = """
            "state":"satisfied","present":1,"date":"2026-11-21T07:46:29.500000Z","time":1795247189500,\
            "condition":{"uuid":"\(ProximityUUID.badges)"},\
            "refinement":{"uuid":"\(ProximityUUID.badges)","major":100,"minor":7},\
            "lastSeen":"2026-11-21T07:46:29.500000Z","diagnostics":[]}
            """
        #expect(
            broker.retained[staff] == """
                {"version":2,"type":"state","gateway":"lobby","sequence":3,"monitor":"site","identifier":"staff",\
                "scope":"condition",\(rest)
                """)
        #expect(
            broker.retained[badge] == """
                {"version":2,"type":"state","gateway":"lobby","sequence":4,"monitor":"site","identifier":"staff",\
                "scope":"beacon",\(rest)
                """)
    }

    @Test func `P4: the topics of a beacon are cleared when a named beacon takes its place`() throws {
        var (fixture, broker) = (try PresentFixture(maxBeacons: 1), RetainingBroker())
        var state = try make { $0.homeAssistant = HomeAssistantOptions() }
        fixture.name([.badge(9)], at: 0)
        try fixture.add("staff", perBeacon: true, at: 1)
        fixture.sighted(at: 2)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.retained[badge] != nil)
        let trackers = broker.topics("device_tracker").count
        #expect(trackers == 1)
        fixture.sighted(.badge(9), at: 3)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(try broker.states() == [staff: "satisfied", badge.dropLast() + "9": "satisfied"])
        // Its tracker was cleared too, and the other beacon has one.
        #expect(broker.topics("device_tracker").count == trackers)
        #expect(broker.topics("device_tracker").allSatisfy { broker.retained[$0]?.contains("100/9") == true })
        #expect(state.counters == PresentStateCounters())
    }

    @Test func `the state and tracker of an erased beacon are cleared, and its condition does not name it any more`()
        throws
    {
        var (fixture, broker) = (try PresentFixture(), RetainingBroker())
        var state = try make { $0.homeAssistant = HomeAssistantOptions() }
        try fixture.add("staff", perBeacon: true, at: 1)
        fixture.sighted(at: 2)
        fixture.sighted(.badge(9), at: 3)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.retained[badge] != nil)
        #expect(broker.topics("device_tracker").count == 2)
        state.forget(.badge(7))
        state.deliver(to: &broker)
        #expect(try broker.states() == [staff: "satisfied", badge.dropLast() + "9": "satisfied"])
        #expect(broker.topics("device_tracker").count == 1)
        #expect(!broker.retained.values.contains { $0.contains("\"minor\":7") })
        // After the broker's acknowledgements, the stored state does not contain the beacon either.
        #expect(!String(decoding: state.encoded, as: UTF8.self).contains("100/7"))
        #expect(!String(decoding: state.encoded, as: UTF8.self).contains("\"minor\":7"))
    }

    @Test func `C1: an assumed state is marked as assumed until a state is observed`() throws {
        var (fixture, broker, state) = (try PresentFixture(), RetainingBroker(), try make())
        try fixture.add("staff", assuming: .satisfied, at: 1)
        state.follow(fixture)
        state.deliver(to: &broker)
        let assumed = try presentObject(broker.retained[staff] ?? "")
        #expect(assumed["state"] as? String == "satisfied" && assumed["assumed"] as? Bool == true)
        fixture.advance(to: 40)
        state.follow(fixture)
        state.deliver(to: &broker)
        let observed = try presentObject(broker.retained[staff] ?? "")
        #expect(observed["state"] as? String == "unsatisfied" && observed["assumed"] == nil)
    }

    @Test func `C2: a replaced condition starts again without its beacons; a changed one keeps its state`() throws {
        var (fixture, broker, state) = (
            try PresentFixture(), RetainingBroker(), try make { $0.homeAssistant = .init() }
        )
        try fixture.add("staff", perBeacon: true, at: 1)
        fixture.sighted(at: 2)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.topics("/100/7").count == 2 && broker.topics("device_tracker").count == 1)
        try fixture.add("staff", perBeacon: true, exitTimeout: .seconds(90), at: 2)
        state.follow(fixture)
        #expect(!state.hasChanges && state.sequence == fixture.lines.count)
        let before = broker.messages.count
        try fixture.add("staff", .everyOther, assuming: .unsatisfied, perBeacon: true, at: 3)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.messages.count > before)
        #expect(try broker.states() == [staff: "unsatisfied"])
        #expect(broker.topics("/100/7").isEmpty && broker.topics("device_tracker").isEmpty)
    }

    @Test func `each topic is published once, with its last state, after many changes during an outage of the broker`()
        throws
    {
        var (fixture, broker, state) = (try PresentFixture(), RetainingBroker(), try make())
        try fixture.add("staff", perBeacon: true, at: 1)
        for round in 0..<100 {
            fixture.sighted(at: Double(100 * round + 2))
            fixture.advance(to: Double(100 * round + 50))
        }
        fixture.sighted(at: 20_000)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.messages.map(\.topic) == [staff, badge])
        #expect(try broker.states() == [staff: "satisfied", badge: "satisfied"])
    }

    @Test func `a condition that is removed while the broker is unreachable is cleared when it is back`() throws {
        var (fixture, broker, state) = (
            try PresentFixture(), RetainingBroker(), try make { $0.homeAssistant = .init() }
        )
        try fixture.add("staff", perBeacon: true, at: 1)
        try fixture.add("door", .everyOther, at: 1)
        fixture.sighted(at: 2)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.topics("staff").count == 5)
        try fixture.remove("staff", at: 3)
        state.follow(fixture)
        // The process ends while the broker is still unreachable.
        state = try PresentState(PresentOptions.make(), decoding: state.encoded)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.topics("staff").isEmpty)
        #expect(broker.topics("door").count == 2)
    }

    @Test func `topics that a process published but did not store are cleared by the next process`() throws {
        var (fixture, broker) = (try PresentFixture(), RetainingBroker())
        var state = try make({ $0.homeAssistant = .init() })
        try fixture.add("door", .everyOther, at: 1)
        state.follow(fixture)
        let kept = state.encoded
        try fixture.add("staff", perBeacon: true, at: 2)
        fixture.sighted(at: 3)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.topics("staff").count == 5)
        try fixture.remove("staff", at: 4)
        // The process is killed here. Its stored state is older than `staff`.
        state = try PresentState(PresentOptions.make(), decoding: kept, lastWritten: fixture.lines.count)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.topics("staff").isEmpty)
    }

    @Test func `topics that the broker never received are not cleared`() throws {
        var (fixture, broker, state) = (try PresentFixture(), RetainingBroker(), try make(lastWritten: 0))
        try fixture.add("staff", perBeacon: true, at: 1)
        for minor in 0..<50 as Range<UInt16> { fixture.sighted(.badge(minor), at: Double(minor) + 2) }
        fixture.advance(to: 200)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.messages.map(\.topic) == [staff])
    }

    @Test func `messages in flight are returned again after a new connection, but not before`() throws {
        var (fixture, state) = (try PresentFixture(), try make())
        try fixture.add("staff", at: 1)
        state.follow(fixture)
        var publications: [Publication] = []
        state.nextChanges(10, into: &publications)
        #expect(publications.map(\.topic) == [staff] && !state.hasChanges)
        state.nextChanges(10, into: &publications)
        #expect(publications.count == 1)
        state.reconnected()
        #expect(state.hasChanges)
        state.nextChanges(10, into: &publications)
        #expect(publications.map(\.topic) == [staff, staff] && publications[0] == publications[1])
        state.acknowledge(staff)
        state.acknowledge(staff)
        state.acknowledge("beacons/lobby/state/else")
        state.reconnected()
        #expect(!state.hasChanges)
        state.repeatAll()
        #expect(state.hasChanges)
    }

    @Test func `a topic that changes while its message is in flight is published after the acknowledgement`() throws {
        var (fixture, broker, state) = (try PresentFixture(), RetainingBroker(), try make())
        try fixture.add("staff", at: 1)
        state.follow(fixture)
        var publications: [Publication] = []
        state.nextChanges(1, into: &publications)
        fixture.sighted(at: 2)
        state.follow(fixture)
        #expect(!state.hasChanges)
        state.acknowledge(staff)
        #expect(state.hasChanges)
        state.deliver(to: &broker)
        #expect(try broker.states() == [staff: "satisfied"])
        // The same applies if the condition is removed meanwhile.
        fixture.advance(to: 100)
        state.follow(fixture)
        publications.removeAll()
        state.nextChanges(1, into: &publications)
        try fixture.remove("staff", at: 101)
        state.follow(fixture)
        state.acknowledge(staff)
        state.deliver(to: &broker)
        #expect(broker.retained.isEmpty)
        #expect(!state.hasChanges)
    }

    @Test func `at most the given number of messages is returned, and none for 0 or a negative number`() throws {
        var (fixture, state) = (try PresentFixture(), try make())
        for index in 0..<5 { try fixture.add("c\(index)", at: 1) }
        state.follow(fixture)
        var publications: [Publication] = []
        state.nextChanges(0, into: &publications)
        state.nextChanges(-1, into: &publications)
        #expect(publications.isEmpty)
        state.nextChanges(3, into: &publications)
        #expect(publications.map(\.topic) == (0..<3).map { "beacons/lobby/state/c\($0)" })
        state.nextChanges(.max, into: &publications)
        #expect(publications.count == 5)
    }

    @Test func `after missing lines, all states are unknown until a later line sets them`() throws {
        var (fixture, broker, state) = (try PresentFixture(), RetainingBroker(), try make())
        try fixture.add("staff", perBeacon: true, at: 1)
        fixture.sighted(at: 2)
        fixture.lose(1)
        try fixture.add("door", .everyOther, assuming: .unsatisfied, at: 3)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(
            try broker.states() == [
                staff: "unknown", badge: "unknown", "beacons/lobby/state/door": "unsatisfied",
            ])
        #expect(state.counters.gaps == 1)
        fixture.advance(to: 100)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(try broker.states() == [staff: "unsatisfied", "beacons/lobby/state/door": "unsatisfied"])
    }

    @Test func `if the files start after the first line, a new state counts no gap`() throws {
        var (fixture, broker, state) = (try PresentFixture(), RetainingBroker(), try make())
        fixture.lose(1000)
        try fixture.add("staff", assuming: .satisfied, at: 3)
        state.take(try #require(fixture.lines.last), sequence: fixture.lines.count)
        state.deliver(to: &broker)
        #expect(try broker.states() == [staff: "satisfied"])
        #expect(state.counters.gaps == 0)
    }

    @Test func `an event creates its beacon and condition if their earlier lines were deleted`() throws {
        var (fixture, broker) = (try PresentFixture(), RetainingBroker())
        var state = try make({ $0.homeAssistant = .init() })
        try fixture.add("staff", perBeacon: true, at: 1)
        fixture.sighted(at: 2)
        #expect(fixture.lines.count == 4)
        state.take(fixture.lines[3], sequence: 4)
        state.deliver(to: &broker)
        #expect(try broker.states() == [staff: "unknown", badge: "satisfied"])
        fixture.advance(to: 100)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(try broker.states() == [staff: "unsatisfied"])
    }

    @Test func `the engine's state corrects states whose lines are missing`() throws {
        var (fixture, broker, state) = (
            try PresentFixture(), RetainingBroker(), try make { $0.homeAssistant = .init() }
        )
        try fixture.add("staff", perBeacon: true, at: 1)
        try fixture.add("door", .everyOther, assuming: .unsatisfied, at: 1)
        try fixture.add("old", at: 1)
        fixture.sighted(at: 2)
        fixture.sighted(.badge(8), at: 2)
        state.follow(fixture)
        state.deliver(to: &broker)
        let reported = broker.messages.count
        // Adopting the same state changes nothing.
        let wasAdopted1 = state.adopt(fixture.engine.snapshot, at: fixture.lines.count, offset: .zero)
        #expect(wasAdopted1)
        #expect(!state.hasChanges)
        // Beacon 8 exits and `old` is removed, in lines that are lost.
        for second in 3..<60 { fixture.sighted(at: Double(second)) }
        try fixture.remove("old", at: 60)
        fixture.lose(2)
        let wasAdopted2 = state.adopt(fixture.engine.snapshot, at: fixture.lines.count, offset: .zero)
        #expect(wasAdopted2)
        state.deliver(to: &broker)
        #expect(
            try broker.states() == [staff: "satisfied", badge: "satisfied", "beacons/lobby/state/door": "unsatisfied"])
        #expect(try broker.states("/tracker/").values.sorted() == ["satisfied", "unsatisfied"])
        #expect(broker.topics("old").isEmpty)
        #expect(!broker.messages[reported...].contains { $0.topic == staff }, "the state of staff is unchanged")
        #expect(state.counters.gaps == 0)
        let wasAdopted3 = state.adopt(fixture.engine.snapshot, at: fixture.lines.count - 1, offset: .zero)
        #expect(!wasAdopted3)
    }

    @Test func `a new state that adopts the engine's state publishes all of it`() throws {
        var (fixture, broker, state) = (try PresentFixture(), RetainingBroker(), try make())
        try fixture.add("staff", perBeacon: true, at: 1)
        try fixture.add("door", .everyOther, assuming: .unsatisfied, at: 1)
        fixture.sighted(at: 2)
        var whole = try make()
        whole.follow(fixture)
        var other = RetainingBroker()
        whole.deliver(to: &other)
        state.adopt(fixture.engine.snapshot, at: fixture.lines.count, offset: .zero)
        state.deliver(to: &broker)
        #expect(try broker.states() == other.states())
        let reported = try presentObject(broker.retained[badge] ?? "")
        #expect(reported["date"] as? String == "2026-11-21T07:46:29.000000Z" && reported["sequence"] == nil)
        #expect(try presentObject(broker.retained["beacons/lobby/state/door"] ?? "")["assumed"] as? Bool == true)
    }
}
