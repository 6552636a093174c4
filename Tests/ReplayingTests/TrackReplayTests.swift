import Foundation
import ProgramSupport
import Testing

/// GPX files in a replay: the positions of the gateway, on one timeline with captures.
@Suite struct TrackReplayTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    static let configuration = """
        conditions:
        - {identifier: depot, center: [48.2082, 16.3738], radius: 200, assuming: unsatisfied}
        - {identifier: staff, uuid: \(Log.uuid), assuming: unsatisfied}
        """

    /// Returns the events of the circle and the adapters, and the entries and exits of `staff`. At first no adapter
    /// scans, so `staff` is unknown after a minute; this is left out. Times are without their first digits, 17952.
    private func reported(_ arguments: String...) throws -> [String] {
        let config = try scratch.write("c.yaml", Self.configuration)
        return try ShortLines(try Gateway.replay(["--config", config] + arguments).lines, "event", "adapter").lines
            .map { String($0.replacing("17952", with: "")) }.filter { !$0.hasSuffix("staff unknown") }
    }

    @Test func `a ride gives events, a visit without RSSI, and the same lines at any speed`() throws {
        let ride = try scratch.write("ride.gpx", Fixtures.ride)
        #expect(
            try reported(ride) == ["47160.0 gpx listening", "47254.0 depot satisfied", "47309.0 depot unsatisfied"])
        let config = try scratch.write("c.yaml", Self.configuration)
        let lines = try Gateway.replay(["--config", config, ride]).lines
        let visit = try #require(try payloads(lines, type: "visit").first)
        #expect(visit["reason"] as? String == "left")
        #expect(visit["rssi"] == nil)
        #expect(visit["sightings"] as? Int == 54)
        let condition = try #require(visit["condition"] as? [String: Any])
        #expect(condition["center"] as? [Double] == [48.2082, 16.3738])
        #expect(condition["radius"] as? Double == 200)
        // The lines are the same, byte for byte, at another speed.
        #expect(try Gateway.replay(["--config", config, "--speed", "1000", ride]).lines == lines)
    }

    @Test(arguments: ["2101-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2025-09-31T10:00:00Z", "1763971200"])
    func `a track whose times cannot be used is refused with the times, unless there is a pace`(time: String) throws {
        func track(_ time: String) throws -> String {
            try scratch.write(
                "ride.gpx",
                "<gpx version='1.1' xmlns='http://www.topografix.com/GPX/1/1'><wpt lat='x' lon='1'/><trk><trkseg>"
                    + "<trkpt lat='48.2' lon='16.3'><time> \(time) </time></trkpt></trkseg></trk></gpx>")
        }
        let (ride, config) = (try track(time), try scratch.write("c.yaml", Self.configuration))
        let ending = try Gateway.run("replay", "--config", config, ride)
        #expect(ending.status == 65 && ending.text == "")
        let damages = """
            \(ride):1:62: a point without a latitude in −90…90 and a longitude in −180…180 is skipped
            \(ride):1:\(time == "1763971200" ? 144 : 154): a time is “\(time)”; must be such as 2026-11-21T07:46:27Z, exist, and be \
            within 1970…2100

            """
        #expect(ending.errors == "\(ride): the file has 1 time, which cannot be used.\n\(damages)")
        let paced = try Gateway.run("replay", "--config", config, "--pace", "10", "--lenient", ride)
        #expect(paced.status == 0 && paced.errors == damages && !paced.lines.isEmpty)
        // An empty element does not count as a time.
        let empty = try Gateway.run("replay", "--config", config, track(""))
        #expect(empty.status == 65 && empty.errors.contains("the file has no times; set the speed"), "\(empty.errors)")
    }

    @Test func `a capture and a track are on one timeline, in either order of the arguments`() throws {
        let ride = try scratch.write("ride.gpx", Fixtures.ride)
        let log = try scratch.log("log", [Log.sighting("1795247254"), Log.report("1795247320", adapter: "hci1")])
        let expected = [
            "47160.0 gpx listening", "47254.0 depot satisfied", "47254.0 hci0 listening", "47254.0 staff satisfied",
            "47284.0 staff unsatisfied", "47309.0 depot unsatisfied", "47320.0 hci1 listening", "47320.0 hci0 off",
            "47320.0 hci1 off",
        ]
        #expect(try reported(ride, log) == expected)
        #expect(try reported(log, ride).sorted() == expected.sorted())
        #expect(try reported("bus=\(ride)", log)[0] == "47160.0 bus/gpx listening")
    }

    @Test func `a break in the track is not an exit, and after the outage the circle is unknown`() throws {
        let broken = Fixtures.ride.replacing("<trkpt lat=\"48.2200\"", with: "</trkseg><trkseg><trkpt lat=\"48.2200\"")
        let ride = try scratch.write("ride.gpx", broken)
        #expect(
            try reported(ride) == [
                "47160.0 gpx listening", "47254.0 depot satisfied", "47280.0 gpx off", "47340.0 depot unknown",
                "47460.0 gpx listening", "47460.0 depot unsatisfied",
            ])
    }

    @Test func `without a track, circles are unmonitored`() throws {
        let log = try scratch.log("log", [Log.report("5")])
        #expect(try reported(log).contains("5.0 depot unmonitored"))
    }

    @Test func `a track without times needs a pace`() throws {
        let untimed = try scratch.write("u.gpx", Fixtures.ride.replacing(#/<time>[^<]*</time>/#, with: ""))
        let config = try scratch.write("c.yaml", Self.configuration)
        let refused = try Gateway.run("replay", "--config", config, untimed)
        #expect(refused.status == 65)
        #expect(refused.errors.contains("--pace"))
        let lines = try Gateway.replay(["--config", config, "--pace", "10", untimed]).lines
        func depot(_ lines: [String]) throws -> [String] {
            try ShortLines(lines, "event").lines.filter { $0.contains("depot") }
        }
        // At 10 m/s, the center is reached after 91.179 s. From there on, there is a fix each second.
        #expect(try depot(lines) == ["72.0 depot satisfied", "112.179318 depot unsatisfied"])
        // With a capture, the track starts at the start of the capture.
        let log = try scratch.log("log", [Log.report("1000"), Log.report("2000")])
        let both = try Gateway.replay(["--config", config, "--pace", "10", untimed, log]).lines
        #expect(
            try depot(both) == [
                "1072.0 depot satisfied", "1112.179318 depot unsatisfied",
                // The track ends before the capture, so the circle is unknown one minute later.
                "1282.388812 depot unknown",
            ])
        #expect(try Gateway.run("replay", "--pace", "0", untimed).status == 64)
    }

    @Test func `the valid part of a truncated track is used, the rest is reported with a line, exit 65`() throws {
        let cut = String(Fixtures.ride.prefix(Fixtures.ride.count - 60))
        let ride = try scratch.write("cut.gpx", cut)
        let config = try scratch.write("c.yaml", Self.configuration)
        let ending = try Gateway.run("replay", "--config", config, ride)
        #expect(ending.status == 65)
        #expect(ending.errors.contains("cut.gpx:"))
        #expect(try ShortLines(ending.lines, "event").lines.last?.hasSuffix("depot satisfied") == true)
        #expect(try Gateway.replay(["--config", config, "--lenient", ride]).lines == ending.lines)
        let empty = try scratch.write("empty.gpx", "<gpx></gpx>")
        #expect(try Gateway.run("replay", empty).status == 65)
    }

    @Test func `visits and explain support circles`() throws {
        let ride = try scratch.write("ride.gpx", Fixtures.ride)
        let config = try scratch.write("c.yaml", Self.configuration)
        let folder = scratch.path("events")
        _ = try Gateway.replay(["--config", config, "--output", folder, ride])
        let visits = try Gateway.run("visits", folder, "--csv", "--utc")
        #expect(visits.status == 0)
        #expect(visits.text.contains("depot"), "\(visits.text)")
        let numbers = try TrackReplayTests.numbers(in: folder, of: "depot")
        let entering = try Gateway.run("explain", "\(numbers[0])", folder)
        #expect(entering.text.contains("(rule G2)"), "\(entering.text)\(entering.errors)")
        let leaving = try Gateway.run("explain", "\(numbers[1])", folder)
        #expect(leaving.text.contains("was outside the circle by more than its accuracy"), "\(leaving.text)")
    }

    private static func numbers(in folder: String, of identifier: String) throws -> [Int] {
        let text = String(decoding: try contents(of: folder + "/current"), as: UTF8.self)
        return try payloads(text.split(separator: "\n").map(String.init), type: "event")
            .filter { $0["identifier"] as? String == identifier }.compactMap { $0["sequence"] as? Int }
    }

    @Test func `every line conforms to the schema in docs`() throws {
        let ride = try scratch.write("ride.gpx", Fixtures.ride)
        let config = try scratch.write("c.yaml", Self.configuration)
        let lines = try Gateway.replay(["--config", config, "--settle", ride])
        try Schema.expectValid(lines.output, "--first", "1")
    }
}
