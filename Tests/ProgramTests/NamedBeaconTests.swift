import Foundation
import Glibc
import ProgramSupport
import Testing

/// Beacons with and without names in the commands (rules P4, P5).
@Suite struct NamedBeaconTests {
    private let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private func configuration(_ rest: String) throws -> String {
        try scratch.write(
            "g.yaml",
            rest
                + "\nconditions:\n  - {identifier: staff, uuid: \(Log.uuid), per_beacon: true, assuming: unsatisfied}\n"
        )
    }

    @Test func `the file of names is found next to the configuration, and names are never in lines`() throws {
        _ = try scratch.write(
            "names/beacons.csv".replacing("names/", with: ""), "major;minor;name\r\n1;2;Ada Lovelace\r\n")
        let config = try configuration("beacons: {file: beacons.csv}\nmonitor: {unnamed: ignore}")
        let log = try scratch.log("a.jsonl", [Log.sighting("1", minor: 1), Log.sighting("2", minor: 2)])
        let ending = try Gateway.replay(["--config", config, "--settle", "--evidence", log])
        let events = try payloads(ending.lines.filter { $0.contains("payload") }, type: "event").filter {
            $0["scope"] as? String == "beacon"
        }
        #expect(events.compactMap { ($0["refinement"] as? [String: Any])?["minor"] as? Int } == [2, 2])
        #expect(!ending.text.contains("Ada") && !ending.text.contains("Lovelace"))
        let check = try Gateway.run("check", config)
        #expect(check.text == "\(config): no errors; monitors: 1, conditions: 1, named beacons: 1, warnings: 1\n")
        #expect(check.errors.hasPrefix("warning: all users can read "))
    }

    @Test func `check warns if all users can read or write the file of names`() throws {
        let names = try scratch.write("beacons.csv", "major,minor,name\n1,2,Ada\n")
        let config = try configuration("beacons: {file: \(names)}")
        for (mode, isReported) in [(0o640, false), (0o644, true), (0o642, true)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: names)
            let ending = try Gateway.run("check", config)
            #expect(ending.status == 0)
            #expect(ending.errors.contains("sudo chmod o= \(names)") == isReported, "\(ending.errors)")
            #expect(ending.text.hasSuffix("warnings: \(isReported ? 1 : 0)\n"), "\(ending.text)")
        }
    }

    @Test func `if the file of names is missing, invalid, unreadable or not a regular file, the error has a remedy`()
        throws
    {
        let config = try configuration("beacons: {file: beacons.csv}")
        let names = scratch.path("beacons.csv")
        func check(_ status: Int32, _ text: String) throws {
            for arguments in [["check", config], ["replay", "--config", config, Fixtures.path(Fixtures.captures[0])]] {
                let ending = try Gateway.runWithoutRights(arguments)
                #expect(ending.status == status && ending.output.isEmpty)
                #expect(ending.errors.contains(text), "\(ending.errors)")
            }
        }
        try check(66, "can't be read: No such file or directory; create it, or remove beacons from the configuration")
        #expect(mkfifo(names, 0o600) == 0)
        try check(78, "is not a regular file; name the CSV file itself")
        try FileManager.default.removeItem(atPath: names)
        try FileManager.default.createDirectory(atPath: names, withIntermediateDirectories: false)
        try check(78, "is not a regular file")
        try FileManager.default.removeItem(atPath: names)
        _ = try scratch.write("beacons.csv", "major,minor,name\n1,2,Ada\n1,x,Bob\n")
        try check(78, "\(names):3:3: minor is x; expected 0…65535")
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: names)
        try check(77, "sudo chgrp beacon-gateway \(names)")
    }

    @Test func `P4: visits and explain report a displaced beacon, and its lines conform to the schema`() throws {
        let config = try configuration(
            "monitor: {max_beacons: 1}\nbeacons: [{major: 1, minor: 9, name: Ada}]")
        let log = try scratch.log(
            "a.jsonl", [Log.sighting("1", minor: 1), Log.sighting("2", minor: 9), Log.sighting("3", minor: 1)])
        let folder = scratch.path("events")
        let replayed = try Gateway.replay(["--config", config, "--settle", "--evidence", "--output", folder, log])
        #expect(replayed.errors.contains("1 time a beacon lost its place to a named one; see max_beacons"))
        let visits = try Gateway.run("visits", folder, "--json", "--utc").lines.map { try object($0) }
            .filter { $0["kind"] as? String == "visit" }
        #expect(visits.compactMap { $0["end"] as? String } == ["displaced", "left", "left"])
        let lines = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("events-") }
            .flatMap {
                try String(decoding: contents(of: "\(folder)/\($0)"), as: UTF8.self).split(separator: "\n").map(
                    String.init)
            }
        let numbered = lines.filter { $0.contains("payload") }
        let visit = try #require(try payloads(numbered, type: "visit").first)
        let next = try #require(try payloads(numbered, type: "event").first { $0["sequence"] as? Int == 6 })
        #expect(visit["reason"] as? String == "displaced" && visit["sequence"] as? Int == 5)
        #expect(visit["date"] as? String == next["date"] as? String)
        let explained = try Gateway.run("explain", "5", folder)
        #expect(
            explained.text.contains("a beacon with a name took the place of this one (rule P4). This was not an exit."))
        #expect(explained.text.contains("Line 6 has the other beacon"))
        try Schema.expectValid(Array(lines.map { $0 + "\n" }.joined().utf8))
    }

    @Test func `P5: a flood of invented beacons writes a limited number of lines`() throws {
        let tool = Fixtures.tests.appendingPathComponent("Tools/Benchmark/flood").path
        let bound = try run(Tool.python, [tool, Gateway.path, "--seconds", "60", "--rate", "100", "--tokens", "50"])
        #expect(bound.status == 0, "\(bound.errors)")
        let reported = try object(bound.text)
        // There are 50 entries at the start, and one at 2, 4 … 58 s. Each beacon has lines for its entry, exit, visit
        // and evidence.
        #expect(reported["entries"] as? Int == 79)
        #expect(reported["lines"] as? Int ?? .max <= 79 * 4 + 10)
        // Without the limit, each of the 6,000 beacons enters and exits.
        let free = try object(
            try run(Tool.python, [tool, Gateway.path, "--seconds", "60", "--rate", "100", "--tokens", "0"]).text)
        #expect(free["entries"] as? Int == 6000)
    }
}

/// A running gateway with a UUID in the reversed byte order of btmon.
@Suite struct ReversedUUIDRunTests {
    @Test func `the log, status and doctor report a reversed UUID until a reload has the right one`() throws {
        let fixture = try LiveFixture()
        func configure(_ uuid: String) throws -> String {
            try fixture.write("g.yaml", fixture.configuration(conditions: "- {identifier: badge, uuid: \(uuid)}"))
        }
        let file = try configure("3e89e071-5bbc-2480-984e-a24fa66d82f7")
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise()
        let words =
            "received beacons with the UUID \(LiveFixture.uuid) match no condition; the uuid of condition badge has"
        try gateway.log.line(with: words)
        let status = try gateway.status()
        #expect(
            status["reversedUUIDs"] as? [[String: String]] == [["identifier": "badge", "received": LiveFixture.uuid]])
        try Schema.expectValid(Gateway.run("status", "--json", "--config", file).output, "--kind", "status")
        #expect(try Gateway.run("doctor", "--config", file).text.contains(words))
        _ = try configure(LiveFixture.uuid)
        gateway.signal(SIGHUP)
        try gateway.log.line(with: "badge")
        try gateway.until("the condition has its UUID") { $0["reversedUUIDs"] == nil }
        #expect(!(try Gateway.run("doctor", "--config", file).text.contains(words)))
        #expect(gateway.end() == 0)
    }
}

/// Reloads of a running gateway.
@Suite struct NamesReloadTests {
    private func visits(_ fixture: LiveFixture) throws -> [String] {
        try payloads(fixture.lines(), type: "visit").compactMap { $0["reason"] as? String }
    }

    private func counter(_ name: String, _ status: [String: Any]) -> Int? {
        (status["counters"] as? [String: Any])?[name] as? Int
    }

    @Test
    func `P4: a reload reads names again, refuses an invalid file as a whole, and ends visits of unnamed beacons`()
        throws
    {
        let fixture = try LiveFixture()
        let staff = "- {identifier: staff, uuid: \(LiveFixture.uuid), per_beacon: true, strangers: ignore}"
        // The beacon of the simulated bluetoothd is 100/7.
        _ = try fixture.write("beacons.csv", "major,minor,name\n100,7,Ada\n")
        let file = try fixture.write(
            "g.yaml", fixture.configuration("beacons: {file: beacons.csv}", conditions: staff))
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise()
        try gateway.until("a sighting was received") { counter("sightings", $0) ?? 0 > 0 }
        let status = try gateway.status()
        #expect(counter("newBeaconsLeft", status) == 2000 && counter("refusedBeacons", status) == 0)
        #expect(counter("displacedBeacons", status) == 0)
        _ = try fixture.write("beacons.csv", "major,minor,name\n100,x,Ada\n")
        gateway.signal(SIGHUP)
        try gateway.log.line(with: "was not applied; the gateway continues with the old configuration")
        try gateway.log.line(with: "beacons.csv:2:5: minor is x")
        #expect(try visits(fixture) == [])
        _ = try fixture.write("beacons.csv", "major,minor,name\n100,8,Bob\n100,9,Eve\n")
        gateway.signal(SIGHUP)
        try gateway.log.line(with: "named beacons: 2, before: 1")
        #expect(gateway.end() == 0)
        #expect(try visits(fixture) == ["removed"])
        let events = try payloads(fixture.lines(), type: "event").compactMap { $0["scope"] as? String }
        #expect(events == ["condition", "beacon"])
    }
}
