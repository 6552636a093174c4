import Foundation
import ProgramSupport
import Testing

/// Real output must conform to the schemas in docs/.
@Suite struct SchemaTests {
    @Test(arguments: Fixtures.captures + [Fixtures.rooms[2]])
    func `every line of a replay conforms to the schema`(name: String) throws {
        let arguments = Fixtures.arguments(for: name) + [Fixtures.path(name)]
        let lines = try Gateway.replay(["--settle", "--stats"] + arguments)
        try Schema.expectValid(lines.output, "--first", "1", "--empty")
        try Schema.expectValid(Array(lines.errors.utf8), "--kind", "stats")
        try Schema.expectValid(try Gateway.replay(["--sightings"] + arguments).output, "--kind", "sighting", "--empty")
    }

    @Test func `after an erasure, the erased lines and the others conform to the schema`() throws {
        let scratch = try Scratch()
        let config = try scratch.write(
            "c.yaml",
            """
            gateway: {name: lobby}
            monitor: {name: floor, per_beacon: true}
            conditions:
              - {identifier: all, uuid: \(Log.uuid), ranging: true}
              - {identifier: together, uuid: \(Log.uuid), per_beacon: false}
              - {identifier: one, uuid: \(Log.uuid), major: 1, minor: 1}
            """)
        let log = [
            Log.sighting("0"), Log.sighting("1", minor: 2), Log.sighting("2.5"), Log.sighting("3", minor: 2),
            Log.sighting("90", minor: 2),
        ]
        let folder = scratch.path("day")
        let input = Array(log.joined(separator: "\n").utf8)
        _ = try Gateway.replay(["--config", config, "--settle", "--evidence", "--output", folder, "-"], input: input)
        func lines() throws -> [UInt8] {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            return try names.filter { $0.hasPrefix("events-") }.sorted().flatMap { try contents(of: folder + "/" + $0) }
        }
        let before = try lines()
        try Schema.expectValid(before, "--first", "1")
        let ending = try Gateway.run("erase", "\(Log.uuid)/1/1", folder)
        #expect(ending.status == 0, "\(ending.errors)")
        let after = try lines()
        try Schema.expectValid(after, "--first", "1")
        #expect(after.count == before.count && after != before)
        let text = String(decoding: after, as: UTF8.self)
        #expect(text.contains("\"type\":\"erased\"") && text.contains("\"minor\":2"))
        #expect(!text.contains("\"minor\":1,") && !text.contains("\"minor\":1}") && !text.contains("/1/1\""))
        // `visits` reports the other beacon and not the erased one, and has no error.
        let visits = try Gateway.run("visits", folder, "--json")
        #expect(visits.status == 0 && visits.errors.isEmpty, "\(visits.errors)")
        #expect(visits.text.contains("\"minor\":2") && !visits.text.contains("\"minor\":1}"), "\(visits.text)")
    }

    @Test func `lines of thresholds, outages, visits and names that need escapes conform to the schema`() throws {
        let scratch = try Scratch()
        let config = try scratch.write(
            "c.yaml",
            """
            gateway: {name: "dépôt \\"2\\""}
            monitor: {name: floor, enter_count: 2, enter_rssi: -70, exit_rssi: -80, per_beacon: true, condition_limit: 2}
            conditions:
              - {identifier: 'a "b" \\', uuid: \(Log.uuid), assuming: satisfied}
              - {identifier: one, uuid: \(Log.uuid), major: 1, minor: 1, per_beacon: false}
              - {identifier: too many, uuid: \(Log.uuid), major: 2}
            """)
        let log = [
            Log.sighting("0", adapter: #"a\"+#/\u0001b"#), Log.sighting("1", adapter: "hci1"),
            Log.sighting("2.0000019"),
            Log.listening(false, "3"), Log.listening(false, "3", adapter: "hci1"),
            Log.listening(false, "3", adapter: #"a\"+#/\u0001b"#), Log.sighting("200"),
        ]
        let input = Array(log.joined(separator: "\n").utf8)
        let lines = try Gateway.replay(["--config", config, "--settle", "-"], input: input)
        try Schema.expectValid(lines.output, "--first", "1")
        let states = Set(try payloads(lines.lines, type: "event").compactMap { $0["state"] as? String })
        #expect(states == ["satisfied", "unsatisfied", "unknown", "unmonitored"])
        #expect(try !payloads(lines.lines, type: "visit").isEmpty)
        let sightings = try Gateway.replay(["--sightings", "-"], input: input).output
        try Schema.expectValid(sightings, "--kind", "sighting")
        #expect(String(decoding: sightings, as: UTF8.self).contains(#""time":"1970-01-01T00:00:02.000001900Z""#))
    }

    @Test func `the schema check finds an invalid line`() throws {
        let validator = Fixtures.tests.appendingPathComponent("Tools/Schema/validate.py").path
        let lines = try Gateway.replay(["-"], input: Array(Log.sighting("1").utf8)).text
        for (found, put) in [
            (#""version":2"#, #""version":1"#), (#""exitTimeout":30.0"#, #""exitTimeout":30"#),
            (#""time":1000,"#, #""time":1001,"#), (#""time":1000,"#, ""),
            ("event/\(Log.uuid)/\(Log.uuid)/1/1", "event/\(Log.uuid)/\(Log.uuid)/1/2"),
            (#""sequence":2"#, #""sequence":3"#), (#""qos":1"#, #""qos":3"#),
            (#""state":"satisfied""#, #""state":"gone""#), ("000000Z", "0Z"),
        ] {
            #expect(lines.contains(found))
            let wrong = lines.replacing(found, with: put)
            #expect(try run(Tool.python, [validator], input: Array(wrong.utf8)).status == 1, "\(put)")
        }
    }
}
