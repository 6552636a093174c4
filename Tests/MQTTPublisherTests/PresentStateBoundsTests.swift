import BluetoothLE
import EventLog
import Foundation
import TestSupport
import Testing

@testable import BeaconMonitoring
@testable import MQTTPublisher

/// The limits of the present state, and its behavior if lines are invalid.
@Suite struct PresentStateBoundsTests {
    @Test func `a condition that exceeds the limit is left out and counted; a removed one makes room`() throws {
        var options = try PresentOptions.make()
        options.conditionsMax = 2
        var (fixture, state, broker) = (try PresentFixture(), PresentState(options), RetainingBroker())
        for name in ["a", "b", "c"] { try fixture.add(name, perBeacon: true, at: 1) }
        state.follow(fixture)
        #expect(state.counters.conditionsLeftOut == 1)
        fixture.sighted(at: 2)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.topics("/state/").count == 4 && broker.topics("/state/c").isEmpty)
        try fixture.remove("a", at: 3)
        try fixture.add("d", at: 4)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(try broker.states().keys.contains("beacons/lobby/state/d"))
    }

    @Test func `a beacon that exceeds the limit is left out and counted; exited ones make room`() throws {
        var options = try PresentOptions.make()
        options.beaconsMax = 3
        var (fixture, state, broker) = (try PresentFixture(), PresentState(options), RetainingBroker())
        try fixture.add("staff", perBeacon: true, at: 1)
        for minor in 0..<4 as Range<UInt16> { fixture.sighted(.badge(minor), at: 2) }
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.topics("/state/staff/").count == 3 && broker.topics("device_tracker").count == 3)
        #expect(state.counters.beaconsLeftOut == 1)
        fixture.advance(to: 100)
        fixture.sighted(.badge(4), at: 101)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.topics("/state/staff/").count == 1)
        #expect(state.counters.beaconsLeftOut == 1)
    }

    @Test func `above the limit, trackers of beacons that exited first are deleted, never of present ones`() throws {
        var options = try PresentOptions.make()
        options.trackersMax = 3
        var (fixture, state, broker) = (try PresentFixture(), PresentState(options), RetainingBroker())
        try fixture.add("staff", perBeacon: true, at: 1)
        for minor in 0..<6 as Range<UInt16> { fixture.sighted(.badge(minor), at: Double(minor) + 2) }
        for second in 8..<60 { fixture.sighted(.badge(0), at: Double(second)) }
        state.follow(fixture)
        state.deliver(to: &broker)
        let ends = broker.topics("/tracker/").compactMap { $0.split(separator: "/").last }
        #expect(ends == ["0", "3", "4", "5"])
        #expect(broker.topics("device_tracker").count == 4 && state.counters.trackersGivenUp == 2)
        // The order of deletion is the same after the state was stored and read.
        state = try PresentState(options, decoding: state.encoded)
        fixture.advance(to: 200)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.topics("/tracker/").compactMap { $0.split(separator: "/").last } == ["0", "4", "5"])
    }

    @Test func `forged beacons while the broker is unreachable cost a bounded number of messages`() throws {
        var options = try PresentOptions.make(homeAssistant: false)
        #expect(options.clearsMax == 100_000)
        options.clearsMax = 1000
        var state = PresentState(options)
        let lines =
            [Self.event.replacing("unsatisfied", with: "unknown")]
            + (0..<1500).flatMap { minor in
                ["satisfied", "unsatisfied"].map { word in
                    Self.event.replacing(#""condition","state":"unsatisfied""#, with: #""beacon","state":"\#(word)""#)
                        .replacing(
                            #","diagnostics""#,
                            with:
                                #","refinement":{"uuid":"\#(ProximityUUID.badges)","major":1,"minor":\#(minor)},"diagnostics""#
                        )
                }
            }
        for (index, line) in lines.enumerated() {
            let sequence = index + 1
            state.take(Array(line.replacing(":5,", with: ":\(sequence),").utf8), sequence: sequence)
        }
        #expect(state.counters.linesIgnored == 0)
        #expect(state.counters.clearsGivenUp == 500)
        #expect(state.delivery.waiting == 1001)
        var publications: [Publication] = []
        state.nextChanges(.max, into: &publications)
        #expect(publications.count == 1001)
        for publication in publications { state.acknowledge(publication.topic) }
        #expect(!state.hasChanges && state.table.beaconCount == 0)
    }

    @Test func `beacons that enter and exit repeatedly do not increase the memory`() throws {
        var (fixture, state) = (try PresentFixture(), PresentState(try PresentOptions.make(), lastWritten: 0))
        try fixture.add("staff", perBeacon: true, at: 1)
        for round in 0..<3000 {
            fixture.sighted(.badge(UInt16(round % 5)), at: Double(round) * 40 + 2)
            fixture.advance(to: Double(round) * 40 + 38)
        }
        state.follow(fixture)
        #expect(state.table.awayCount == 5 && state.table.awayQueueLength <= 2 * 5 + 1025)
        #expect(state.delivery.waiting == 2 + HomeAssistantHealth.all.count + 10)
        #expect(state.delivery.queueLength <= 2 * state.delivery.waiting + 1025)
    }

    static let event = """
        {"version":2,"type":"event","gateway":"lobby","sequence":5,"monitor":"site","identifier":"staff",\
        "scope":"condition","state":"unsatisfied","date":"2026-11-21T07:46:27.123456Z","time":1795247187123,"monotonic":1,\
        "condition":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E"},"diagnostics":[]}
        """

    @Test(arguments: [
        ("", ""), ("{", ""), ("}", ""), (#""identifier":"staff""#, #""identifier":"a/b""#),
        (#""identifier":"staff""#, #""identifier":"a+""#), (#""identifier":"staff""#, ##""identifier":"a#""##),
        (#""identifier":"staff""#, #""identifier":"a\u0000b""#), (#""identifier":"staff""#, #""identifier":"""#),
        (#""identifier":"staff""#, #""identifier":".."#), (#""identifier":"staff""#, #""identifier":7"#),
        (#""monitor":"site""#, #""monitor":"a/b""#), (#""state":"unsatisfied""#, #""state":"gone""#),
        (#""scope":"condition""#, #""scope":"beacon""#), (#""scope":"condition""#, #""scope":"all""#),
        (#""uuid":"F7"#, #""uuid":"G7"#), (#""sequence":5"#, #""sequence":6"#), (#""sequence":5"#, #""sequence":"5""#),
        (#""date":"2026-11"#, #""date":"2026-13"#), (#""version":2"#, #""version":"2""#),
    ])
    func `an invalid line or one of another program is counted and ignored`(part: String, other: String) throws {
        var state = PresentState(try PresentOptions.make(homeAssistant: false))
        let text = part.isEmpty ? other : Self.event.replacing(part, with: other)
        #expect(text != Self.event)
        state.take(Array(text.utf8), sequence: 5)
        #expect(state.counters.linesIgnored == 1 && !state.hasChanges)
        state.take(Array(Self.event.utf8), sequence: 6)
        #expect(state.counters.linesIgnored == 2 && !state.hasChanges)
    }

    @Test func `a line feed is accepted, an unknown type is skipped, and a repeated line changes nothing`() throws {
        var state = PresentState(try PresentOptions.make(homeAssistant: false))
        state.take(Array((Self.event + "\n").utf8), sequence: 5)
        #expect(state.hasChanges && state.sequence == 5)
        let unknown = Self.event.replacing(#""event""#, with: #""omen""#).replacing(":5", with: ":6")
        state.take(Array(unknown.utf8), sequence: 6)
        #expect(state.sequence == 6 && state.counters == PresentStateCounters())
        state.take(Array(Self.event.replacing("unsatisfied", with: "satisfied").utf8), sequence: 5)
        #expect(state.table.conditions.values.first?.own.state == .unsatisfied)
    }

    @Test
    func `random lines, mutations and acknowledgements never trap, and the broker ends with a new state's messages`()
        throws
    {
        var random = SeededGenerator(state: SeededGenerator.seed)
        for _ in 0..<20 {
            var options = try PresentOptions.make(homeAssistant: Bool.random(using: &random))
            options.trackersMax = Int.random(in: 0...4, using: &random)
            var (fixture, state, broker) = (try PresentFixture(), PresentState(options), RetainingBroker())
            var second = 1.0
            var inFlight: [Publication] = []
            for _ in 0..<120 {
                second += Double.random(in: 0...25, using: &random)
                let name = ["a", "b", "c"].randomElement(using: &random) ?? "a"
                switch Int.random(in: 0..<10, using: &random) {
                case 0: try? fixture.add(name, perBeacon: Bool.random(using: &random), at: second)
                case 1: try? fixture.remove(name, at: second)
                case 2: fixture.listening(Bool.random(using: &random), at: second)
                case 3: fixture.advance(to: second)
                default: fixture.sighted(.badge(UInt16.random(in: 0..<6, using: &random)), at: second)
                }
                if Int.random(in: 0..<4, using: &random) == 0, var line = fixture.lines.last, !line.isEmpty {
                    line[Int.random(in: 0..<line.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                    var copy = state
                    copy.take(line, sequence: fixture.lines.count)
                    var publications: [Publication] = []
                    copy.nextChanges(50, into: &publications)
                    _ = copy.encoded
                }
                state.follow(fixture)
                switch Int.random(in: 0..<6, using: &random) {
                case 0:
                    // The broker receives the messages in flight, in order, and acknowledges some of them. Then the
                    // connection ends.
                    for publication in inFlight { broker.receive(publication) }
                    for publication in inFlight where Bool.random(using: &random) {
                        state.acknowledge(publication.topic)
                    }
                    inFlight.removeAll()
                    if Bool.random(using: &random) { state.reconnected() } else { state.repeatAll() }
                case 1:
                    // The process is killed, and another one starts.
                    for publication in inFlight { broker.receive(publication) }
                    inFlight.removeAll()
                    state = try PresentState(options, decoding: state.encoded)
                default:
                    state.nextChanges(Int.random(in: 0...4, using: &random), into: &inFlight)
                }
            }
            for publication in inFlight { broker.receive(publication) }
            state.reconnected()
            state.deliver(to: &broker)
            var (fresh, other) = (PresentState(options), RetainingBroker())
            fresh.follow(fixture)
            fresh.deliver(to: &other)
            #expect(broker.retained == other.retained)
        }
    }
}
