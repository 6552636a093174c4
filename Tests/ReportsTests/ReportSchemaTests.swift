import Foundation
import ProgramSupport
import Testing

/// The output of each command with `--json` must conform to docs/reports.schema.json.
@Suite struct ReportSchemaTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// Returns the arguments for two gateways, whose files have something of every kind, with names for two beacons.
    private func site() throws -> [String] {
        var (hall, yard) = (LineWriter(), LineWriter())
        (hall.gateway, yard.gateway) = ("hall", "yard")
        hall.started(0)
        hall.completeVisit("staff", 600, 1200, minor: 1)
        hall.completeVisit("desk", 600, 1200)
        hall.event("staff", "satisfied", 2000, minor: 2, seen: 2000)
        hall.adapter("deaf", 3610, since: 3600)
        hall.adapter("listening", 4000)
        yard.started(0, scans: false)
        yard.adapter("off", 500, named: "hci1")
        yard.boot = "aaaaaaaa-00000002"
        yard.adapter("listening", 900, named: "hci1")
        yard.completeVisit("staff", 1210, 1500, minor: 1)
        yard.event("staff", "satisfied", 2500, minor: 3, seen: 2500)
        yard.event("staff", "unknown", 3500, minor: 3, seen: 3400)
        yard.adapter("gone", 6000, named: "hci1")
        yard.stopped(9000)
        let configuration = """
            conditions:
              - {identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, per_beacon: true}
            beacons:
              - {major: 1, minor: 1, name: Ada, group: Sales}
              - {major: 1, minor: 3, name: Bo}
            """
        return [
            "--config", try scratch.write("gateway.yaml", configuration),
            try scratch.folder(hall, alive: hall.alive(10_000), name: "hall"),
            try scratch.folder(yard, alive: yard.alive(9000), name: "yard"),
        ]
    }

    private func validate(_ lines: String) throws -> Ending {
        try Schema.validate(Array(lines.utf8), ["--kind", "reports"])
    }

    @Test(arguments: [
        (["visits"], ["visit", "silence", "total", "asOf"]),
        (["visits", "--from", "2026-11-21T00:15", "--to", "2026-11-21T00:18"], ["visit", "total", "asOf"]),
        (["visits", "--now"], ["present", "asOf", "adapter"]),
        (["occupancy", "--every", "1h"], ["occupancy", "asOf"]),
        (["occupancy", "--by", "condition"], ["occupancy", "asOf"]),
        (["occupancy", "--by", "group"], ["occupancy", "asOf"]),
        (["occupancy", "--by", "gateway"], ["occupancy", "asOf"]),
        (["explain", "Ada"], ["explanation"]),
        (["explain", "Ada", "--at", "2026-11-21T00:15"], ["explanation"]),
        (["explain", "Bo"], ["explanation"]),
        (["explain", "desk"], ["explanation"]),
        (["explain", "hall:1"], ["explanation"]),
        (["explain", "hall:2"], ["explanation"]),
        (["explain", "hall:5"], ["explanation"]),
    ])
    func `each line of each report conforms to the schema`(command: [String], kinds: [String]) throws {
        let ending = try Gateway.run(command + ["--json", "--utc"] + site())
        #expect(ending.status == 0, "\(ending.errors)")
        #expect(Set(try ending.lines.map(object).compactMap { $0["kind"] as? String }) == Set(kinds))
        let right = try validate(ending.text)
        #expect(right.status == 0, "\(right.errors)")
    }

    @Test(arguments: [
        (["visits"], #""kind":"visit""#, #""kind":"stay""#), (["visits"], #""end":"left""#, #""end":"gone""#),
        (["visits"], #""sequence":"#, #""line":"#), (["visits"], #""kind":"silence","#, #""kind":"silence","why":"","#),
        (["visits"], #""identifiers":["staff"],"#, ""), (["visits"], #""duration":600.0"#, #""duration":600"#),
        (["visits", "--now"], #""name":"Bo","#, #""name":"","#),
        (["visits", "--now"], #""alive":false"#, #""alive":0"#),
        (["occupancy", "--every", "1h"], #""kind":"occupancy""#, #""kind":"occupied""#),
        (["occupancy", "--every", "1h"], #""peak":1,"#, ""),
        (["occupancy", "--every", "1h"], #""scope":"beacon""#, #""scope":"person""#),
        (["occupancy", "--every", "1h"], "000000Z", "0Z"),
        (["explain", "Ada"], #""rules":["X2"]"#, #""rules":["silence"]"#),
        (["explain", "Ada"], #""text":["#, #""words":["#),
    ])
    func `the schema check finds a line that does not conform`(
        command: [String], found: String, put: String
    ) throws {
        let lines = try Gateway.run(command + ["--json", "--utc"] + site()).text
        #expect(lines.contains(found), "\(lines)")
        #expect(try validate(lines.replacing(found, with: put)).status == 1)
    }
}
