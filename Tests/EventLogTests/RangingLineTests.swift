import BeaconMonitoring
import BluetoothLE
import Testing

@testable import EventLog

@Suite struct RangingLineTests {
    private static let ranging = Ranging(
        condition: BeaconMonitor.BeaconIdentityCondition(uuid: Sample.uuid, major: 100), time: Sample.time,
        clockOffset: .zero,
        beacons: [
            RangedBeacon(
                beacon: Sample.beacon, rssi: -60.55, proximity: .near, accuracy: 1.194_9, count: 50,
                lastSighting: Sample.time),
            RangedBeacon(
                beacon: BeaconIdentity(uuid: Sample.uuid, major: 100, minor: 8), rssi: nil, proximity: .unknown,
                accuracy: nil, count: 1, lastSighting: Sample.time),
        ])

    private func line(_ ranging: Ranging, envelope: Bool = false) throws -> (String, sequence: Int) {
        var options = LineEncoder.Options(gateway: try Identifier("lobby"))
        options.envelope = envelope
        options.boot = "5f0c"
        let encoder = LineEncoder(options, after: 7)
        let line = text { encoder.encode(ranging, monitor: "site", identifier: "staff", into: &$0) }
        return (line, encoder.sequence)
    }

    @Test func `a ranging line has qos 0, no number, and the nearest beacon first`() throws {
        let (line, sequence) = try line(Self.ranging, envelope: true)
        #expect(
            line == """
                {"topic":"beacons/lobby/ranging/staff","qos":0,"retain":false,"payload":{"version":2,"type":"ranging",\
                "gateway":"lobby","boot":"5f0c","monitor":"site","identifier":"staff",\
                "date":"2026-11-21T07:46:27.123456Z","time":1795247187123,"monotonic":1795247187123456,\
                "condition":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":100},\
                "beacons":[{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":100,"minor":7,"rssi":-60.6,\
                "proximity":"near","accuracy":1.19,"count":50},\
                {"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":100,"minor":8,"proximity":"unknown","count":1}]}}

                """)
        #expect(sequence == 7)
    }

    @Test(arguments: [
        (-60.0, "-60.0"), (-60.04, "-60.0"), (-60.05, "-60.1"), (-0.04, "0.0"), (0.05, "0.1"), (20, "20.0"),
    ])
    func `a mean has one decimal, rounded half away from zero`(rssi: Double, text: String) throws {
        var ranging = Self.ranging
        ranging.beacons[0].rssi = rssi
        #expect(try line(ranging).0.contains(#""rssi":\#(text),"#))
    }

    @Test(arguments: [
        (0.0, "0.0"), (0.004, "0.0"), (0.005, "0.01"), (1.5, "1.5"), (12, "12.0"), (1e9, "10000000.0"),
        (.infinity, "10000000.0"),
    ])
    func `a distance is rounded to centimeters, and is 10,000 km at most`(metres: Double, text: String) throws {
        var ranging = Self.ranging
        ranging.beacons[0].accuracy = metres
        #expect(try line(ranging).0.contains(#""accuracy":\#(text),"#))
    }

    @Test func `a ranging line without a beacon in view has an empty list`() throws {
        var ranging = Self.ranging
        ranging.beacons = []
        #expect(try line(ranging).0.hasSuffix("\"beacons\":[]}\n"))
    }

    @Test func `a ranging line is published as a message of qos 0, without a number`() throws {
        for envelope in [true, false] {
            let bytes = Array(try line(Self.ranging, envelope: envelope).0.utf8.dropLast())
            var message = LineMessage(prefix: "beacons")
            let isParsed = message.parse(bytes)
            #expect(isParsed)
            #expect(message.isPublished)
            #expect(message.sequence == nil)
            #expect(String(decoding: message.topic.dropLast(), as: UTF8.self) == "beacons/lobby/ranging/staff")
            #expect(bytes[message.payload].starts(with: Array(#"{"version":2,"type":"ranging","#.utf8)))
            #expect(bytes[message.payload].last == UInt8(ascii: "}"))
        }
    }
}
