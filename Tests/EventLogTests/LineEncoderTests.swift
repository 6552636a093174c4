import BaseTypes
import BluetoothLE
import JSON
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// The exact bytes of every type of line.
@Suite struct LineEncoderTests {
    private let uuid = #"{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E"}"#

    @Test func `an event with all members is encoded exactly`() throws {
        var event = Sample.event
        event.previous = BeaconMonitor.Event.Previous(state: .unknown, date: WallDate(microseconds: 1_000_001))
        event.diagnostics = [.clockUnsynchronized, .scannerUnavailable]
        #expect(
            try Sample.line(.event(event), envelope: true) { $0.boot = "5f0c" } == """
                {"topic":"beacons/lobby/event/staff/F7826DA6-4FA2-4E98-8024-BC5B71E0893E/100/7","qos":1,"retain":false,\
                "payload":{"version":2,"type":"event",\
                "gateway":"lobby","boot":"5f0c","sequence":1,"monitor":"site","identifier":"staff","scope":"beacon",\
                "state":"satisfied","date":"2026-11-21T07:46:27.123456Z","time":1795247187123,\
                "monotonic":1795247187123456,\
                "condition":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E"},\
                "refinement":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":100,"minor":7},\
                "previous":{"state":"unknown","date":"1970-01-01T00:00:01.000001Z"},\
                "sighting":{"rssi":-61,"measuredPower":-59,"address":"C0:98:E5:00:00:07","adapter":"hci0"},\
                "lastSeen":"2026-11-21T07:46:27.123456Z",\
                "diagnostics":["scannerUnavailable","clockUnsynchronized"]}}
                """)
    }

    @Test func `an event omits members that are absent`() throws {
        var event = Sample.event
        event.scope = .condition
        event.state = .unmonitored
        event.refinement = nil
        event.sighting = nil
        event.lastSeen = nil
        #expect(
            try Sample.line(.event(event)) == """
                {"version":2,"type":"event","gateway":"lobby","sequence":1,"monitor":"site","identifier":"staff",\
                "scope":"condition","state":"unmonitored","date":"2026-11-21T07:46:27.123456Z","time":1795247187123,\
                "monotonic":1795247187123456,"condition":\(uuid),"diagnostics":[]}
                """)
    }

    @Test func `a sighting omits an absent RSSI and address, and an adapter without a name has an empty one`() throws {
        var event = Sample.event
        event.sighting?.rssi = nil
        event.sighting?.address = nil
        #expect(try Sample.line(.event(event)).contains(#""sighting":{"measuredPower":-59,"adapter":"hci0"}"#))
        #expect(
            try Sample.line(.event(event), adapter: nil).contains(#""sighting":{"measuredPower":-59,"adapter":""}"#))
    }

    @Test func `a sighting omits an unknown measured power, and a reader gets the same event`() throws {
        var event = Sample.event(at: 1)
        event.sighting?.measuredPower = nil
        let line = try Sample.line(.event(event))
        #expect(line.contains(#""sighting":{"rssi":-61,"address":"C0:98:E5:00:00:07","adapter":"hci0"}"#))
        var parser = LineParser()
        func read(_ line: String) throws -> BeaconMonitor.Event {
            parser.text = JSONText(Array(line.utf8))
            let isLine = parser.parse()
            try #require(isLine)
            let event = parser.event()
            return try #require(event)
        }
        #expect(try read(line) == event)
        let start = #""sighting":{"#
        #expect(try read(line.replacing(start, with: start + #""measuredPower":-128,"#)) == event)
        // A present value must be valid.
        for value in ["128", "-129", #""-59""#, "-59.5", "null"] {
            #expect(try read(line.replacing(start, with: start + #""measuredPower":\#(value),"#)).sighting == nil)
        }
    }

    @Test func `T1: dates are timeline plus offset, cut to microseconds; monotonic has no offset`() throws {
        var event = Sample.event
        event.time = Instant(nanoseconds: 8_020_980_000_999)
        event.lastSeen = Instant(nanoseconds: 8_020_980_000_001)
        event.clockOffset = ClockOffset(nanoseconds: 1_000_000_000_000_000)
        let line = try Sample.line(.event(event))
        #expect(line.contains(#""date":"1970-01-12T16:00:20.980000Z","time":1008020980,"monotonic":8020980000,"#))
        #expect(line.contains(#""lastSeen":"1970-01-12T16:00:20.980000Z""#))
    }

    @Test func `a visit with all members is encoded exactly`() throws {
        var visit = Sample.visit
        visit.scope = .beacon
        visit.refinement = Sample.beacon
        #expect(
            try Sample.line(.visit(visit), envelope: true) == """
                {"topic":"beacons/lobby/visit/staff/F7826DA6-4FA2-4E98-8024-BC5B71E0893E/100/7","qos":1,"retain":false,\
                "payload":{"version":2,"type":"visit",\
                "gateway":"lobby","sequence":1,"monitor":"site","identifier":"staff","scope":"beacon",\
                "date":"2026-11-21T07:46:27.123456Z","time":1795247187123,\
                "monotonic":1795247187123456,\
                "condition":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E"},\
                "refinement":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":100,"minor":7},\
                "arrival":"2026-11-21T07:44:47.123456Z","departure":"2026-11-21T07:45:57.623456Z","duration":70.5,\
                "sightings":3,"rssi":{"minimum":-70,"mean":-66.7,"maximum":-60},"reason":"exitTimeout"}}
                """)
    }

    @Test func `P3: a visit omits the arrival of an assumed entry, and the departure without sightings`() throws {
        var visit = Sample.visit
        visit.arrival = nil
        visit.strength = nil
        visit.reason = .removed
        let end = #""sightings":3,"reason":"removed"}"#
        #expect(
            try Sample.line(.visit(visit)).hasSuffix(
                #""condition":\#(uuid),"departure":"2026-11-21T07:45:57.623456Z",\#(end)"#))
        visit.departure = nil
        visit.sightings = 0
        visit.reason = .replaced
        #expect(
            try Sample.line(.visit(visit)).hasSuffix(#""condition":\#(uuid),"sightings":0,"reason":"replaced"}"#))
    }

    @Test(arguments: [
        (-200, 3, "-66.7"), (-201, 3, "-67.0"), (-61, 1, "-61.0"), (-1215, 20, "-60.8"), (-1214, 20, "-60.7"),
        (1215, 20, "60.8"), (1214, 20, "60.7"), (1213, 20, "60.7"), (0, 5, "0.0"), (-1, 20, "-0.1"), (1, 20, "0.1"),
        (-1, 21, "0.0"), (1, 21, "0.0"), (-128, 1, "-128.0"), (126, 1, "126.0"),
        (-128_000_000_000, 1_000_000_000, "-128.0"),
    ])
    func `P3: the mean has one decimal, rounded half away from zero`(sum: Int64, count: Int, mean: String) throws {
        var visit = Sample.visit
        visit.strength = Visit.Strength(minimum: -128, sum: sum, count: count, maximum: 126)
        #expect(try Sample.line(.visit(visit)).contains(#""rssi":{"minimum":-128,"mean":\#(mean),"maximum":126}"#))
    }

    @Test func `a condition is encoded exactly, with the default settings and with all settings`() throws {
        #expect(
            try Sample.line(.condition(Sample.change), envelope: true) == """
                {"topic":"beacons/lobby/condition/staff","qos":1,"retain":false,"payload":{"version":2,\
                "type":"condition","gateway":"lobby","sequence":1,"monitor":"site","identifier":"staff",\
                "change":"added","date":"2026-11-21T07:46:27.123456Z","time":1795247187123,\
                "monotonic":1795247187123456,\
                "condition":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E"},"settings":{"assuming":"unknown",\
                "perBeacon":false,"enterCount":1,"enterWindow":10.0,"exitTimeout":30.0}}}
                """)
        var change = Sample.change
        change.kind = .changed
        change.assumed = nil
        change.condition = .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: Sample.uuid, major: 0, minor: 65535))
        change.settings.perBeacon = true
        change.settings.enterCount = 1000
        change.settings.enterWindow = .milliseconds(1500)
        change.settings.enterRSSI = RSSI(dBm: -80)
        change.settings.exitRSSI = RSSI(dBm: -90)
        change.settings.exitTimeout = .microseconds(1_000_001)
        #expect(
            try Sample.line(.condition(change)).hasSuffix(
                """
                "change":"changed","date":"2026-11-21T07:46:27.123456Z","time":1795247187123,\
                "monotonic":1795247187123456,\
                "condition":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":0,"minor":65535},\
                "settings":{"perBeacon":true,"enterCount":1000,"enterWindow":1.5,"enterRSSI":-80,"exitRSSI":-90,\
                "exitTimeout":1.000001}}
                """))
    }

    @Test func `each kind of change of a condition, state of an adapter and state of an event has its word`() throws {
        for (kind, word) in [
            (ConditionChange.Kind.added, "added"), (.replaced, "replaced"), (.changed, "changed"),
            (.removed, "removed"),
        ] {
            var change = Sample.change
            change.kind = kind
            #expect(try Sample.line(.condition(change)).contains(#""change":"\#(word)""#))
        }
        for (state, word) in [
            (AdapterChange.State.listening, "listening"), (.deaf, "deaf"), (.off, "off"), (.gone, "gone"),
        ] {
            var change = Sample.adapterChange
            change.state = state
            #expect(try Sample.line(.adapter(change)).contains(#""state":"\#(word)""#))
        }
        for (state, word) in [
            (BeaconMonitor.Event.State.unknown, "unknown"), (.satisfied, "satisfied"), (.unsatisfied, "unsatisfied"),
            (.unmonitored, "unmonitored"),
        ] {
            var event = Sample.event
            event.state = state
            #expect(try Sample.line(.event(event)).contains(#""state":"\#(word)""#))
        }
    }

    @Test func `the numbers of a circle have the shortest form that is read back exactly`() throws {
        var change = Sample.change
        change.condition = .circle(
            try BeaconMonitor.CircularGeographicCondition(latitude: 48.2082, longitude: -16.3738, radius: 200))
        #expect(
            try Sample.line(.condition(change)).contains(#""condition":{"center":[48.2082,-16.3738],"radius":200.0}"#))
    }

    @Test func `an adapter is encoded exactly, with and without a reason`() throws {
        #expect(
            try Sample.line(.adapter(Sample.adapterChange), envelope: true) == """
                {"topic":"beacons/lobby/adapter/hci0","qos":1,"retain":false,"payload":{"version":2,"type":"adapter",\
                "gateway":"lobby","sequence":1,"adapter":"hci0","state":"listening",\
                "since":"2026-11-21T07:46:27.123456Z","reason":"first record",\
                "date":"2026-11-21T07:46:27.123456Z","time":1795247187123,"monotonic":1795247187123456}}
                """)
        var change = Sample.adapterChange
        change.state = .deaf
        change.reason = nil
        change.since = change.time - .seconds(10)
        #expect(
            try Sample.line(.adapter(change)).hasSuffix(
                """
                "state":"deaf","since":"2026-11-21T07:46:17.123456Z",\
                "date":"2026-11-21T07:46:27.123456Z","time":1795247187123,"monotonic":1795247187123456}
                """))
    }

    @Test(arguments: [
        ("lobby/hci0", "lobby/hci0"), ("a+b#c", "a_b_c"), ("a\u{0}b\u{1F}\u{7F}", "a_b__"), ("é\u{85}", "é_"),
        ("conférence", "conférence"), (#"a"b\"#, #"a\"b\\"#),
    ])
    func `an adapter's topic has _ for each character that MQTT forbids`(name: String, topic: String) throws {
        var change = Sample.adapterChange
        change.adapter = name
        let line = try Sample.line(.adapter(change), envelope: true)
        #expect(line.hasPrefix(#"{"topic":"beacons/lobby/adapter/\#(topic)","qos":1"#), "\(line)")
        // The payload has the unchanged name.
        #expect(line.contains("\"adapter\":\"" + text { $0.append(escaped: name) } + "\",\"state\""))
    }

    @Test func `sequence counts the lines of all types from 1, and actions without a line have no number`() throws {
        var encoder = LineEncoder(LineEncoder.Options(gateway: try Identifier("g")))
        #expect(encoder.sequence == 0)
        let lines = text { buffer in
            let actions: [Action] = [
                .condition(Sample.change), .adapter(Sample.adapterChange),
                .trackingLimitExceeded(identifier: "staff", .held),
                .event(Sample.event), .visit(Sample.visit),
            ]
            for action in actions { encoder.encode(action, into: &buffer) }
        }.split(separator: "\n")
        #expect(lines.count == 4)
        for (index, line) in lines.enumerated() { #expect(line.contains("\"sequence\":\(index + 1),")) }
        #expect(encoder.sequence == 4)
    }

    @Test func `events and visits of a beacon have a topic of their own, lines of its condition do not`() throws {
        let own = "\(Sample.uuid)/100/7"
        var (event, visit) = (Sample.event, Sample.visit)
        visit.scope = .beacon
        visit.refinement = Sample.beacon
        #expect(try Sample.line(.event(event), envelope: true).contains(#"/event/staff/\#(own)","qos""#))
        #expect(try Sample.line(.visit(visit), envelope: true).contains(#"/visit/staff/\#(own)","qos""#))
        // The event of the condition has the beacon too, but must keep the condition's topic.
        event.scope = .condition
        visit.scope = .condition
        visit.refinement = nil
        #expect(try Sample.line(.event(event), envelope: true).contains(#"/event/staff","qos""#))
        #expect(try Sample.line(.visit(visit), envelope: true).contains(#"/visit/staff","qos""#))
        #expect(try Sample.line(.condition(Sample.change), envelope: true).contains(#"/condition/staff","qos""#))
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000000Z", 0), (999, "1970-01-01T00:00:00.000999Z", 0),
        (1000, "1970-01-01T00:00:00.001000Z", 1), (-1, "1969-12-31T23:59:59.999999Z", -1),
        (-1000, "1969-12-31T23:59:59.999000Z", -1), (-1001, "1969-12-31T23:59:59.998999Z", -2),
        (1_795_247_187_999_999, "2026-11-21T07:46:27.999999Z", 1_795_247_187_999),
    ])
    func `time is the date in whole milliseconds, rounded down`(microseconds: Int64, date: String, time: Int) throws {
        var event = Sample.event
        event.clockOffset = ClockOffset(nanoseconds: microseconds * 1000)
        event.time = Instant(nanoseconds: 0)
        let line = try Sample.line(.event(event))
        #expect(line.contains(#""date":"\#(date)","time":\#(time),"monotonic":0,"#), "\(line)")
    }

    @Test func `topics start with the prefix, and names are escaped`() throws {
        var event = Sample.event
        event.identifier = #"a "b" \"#
        event.monitor = "dépôt"
        let line = try Sample.line(.event(event), envelope: true) { $0.prefix = #"x/"y""# }
        #expect(line.hasPrefix(#"{"topic":"x/\"y\"/lobby/event/a \"b\" \\/\#(Sample.uuid)/100/7","qos":1"#))
        #expect(line.contains(#""monitor":"dépôt","identifier":"a \"b\" \\","#))
    }
}
