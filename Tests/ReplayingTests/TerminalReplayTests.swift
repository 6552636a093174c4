import Foundation
import ProgramSupport
import Testing

/// A replay on a terminal, where events are short lines.
@Suite struct TerminalReplayTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private func day() throws -> (configuration: String, capture: String) {
        let configuration = try scratch.write(
            "g.yaml",
            """
            beacons:
            - {name: Ada Lovelace, uuid: \(Log.uuid), major: 1, minor: 1}
            conditions:
            - {identifier: staff, uuid: \(Log.uuid), per_beacon: true, assuming: unsatisfied}

            """)
        // 2026-10-25T00:59:30Z, half a minute before the clocks of Vienna go back.
        let start = 1_792_889_970
        let capture = try scratch.log(
            "day.jsonl",
            [
                Log.sighting("\(start)"), Log.sighting("\(start + 5)", minor: 2), Log.sighting("\(start + 10)"),
                Log.listening(false, "\(start + 15)"), Log.listening(true, "\(start + 100)"),
                Log.sighting("\(start + 101)"), Log.report("\(start + 140)"),
            ])
        return (configuration, capture)
    }

    private static let summary = "7 records, 5 reports, 4 iBeacons: 11 events"

    @Test func `each event is one short line in the machine's zone, with a date at the start and if the clocks change`()
        throws
    {
        let (configuration, capture) = try day()
        let ending = try Gateway.run(
            columns: 200, zone: "Europe/Vienna", "replay", "--config", configuration, capture)
        #expect(ending.status == 0)
        #expect(
            ending.lines == [
                "2026-10-25 (+0200)",
                "02:59:30  hci0 scans  first record",
                "02:59:30  staff is present  Ada Lovelace, −60 dBm",
                "02:59:30  Ada Lovelace arrived (staff)  −60 dBm",
                "02:59:35  1/2 arrived (staff)  −60 dBm",
                "02:59:45  hci0 does not scan  marked in the capture",
                "2026-10-25 (+0100)",
                "02:00:45  staff is unknown  its adapters do not scan",
                "02:00:45  Ada Lovelace is unknown (staff)  its adapters do not scan",
                "02:00:45  1/2 is unknown (staff)  its adapters do not scan",
                "02:01:10  hci0 scans  marked in the capture",
                "02:01:11  staff is present  Ada Lovelace, −60 dBm",
                "02:01:11  Ada Lovelace is present (staff)  −60 dBm",
                "02:01:40  1/2 is absent (staff)  last sighting 02:59:35 +0200, −60 dBm",
                "02:01:41  staff is absent  last sighting 02:01:11, −60 dBm",
                "02:01:41  Ada Lovelace left (staff)  last sighting 02:01:11, −60 dBm",
                Self.summary,
            ], "\(ending.text)")
    }

    @Test func `if the machine does not know its zone, times are UTC and the date says so`() throws {
        let (configuration, capture) = try day()
        let ending = try Gateway.run(columns: 200, zone: "Europe/Viena", "replay", "--config", configuration, capture)
        #expect(
            ending.lines.first == "2026-10-25 (UTC)" && ending.lines[1].hasPrefix("00:59:30  hci0"), "\(ending.text)")
    }

    @Test func `with --zone, times are in the zone that the times of the capture have`() throws {
        let (configuration, capture) = try day()
        let ending = try Gateway.run(
            columns: 200, "replay", "--zone", "Europe/Vienna", "--config", configuration, capture)
        #expect(ending.lines.first == "2026-10-25 (+0200)", "\(ending.text)")
    }

    @Test func `with --json, a terminal gets the lines of a pipe, and with --evidence and --sightings too`() throws {
        let (configuration, capture) = try day()
        for options in [["--json"], ["--evidence"], ["--json", "--evidence"], ["--sightings"]] {
            let arguments = options + ["--config", configuration, capture]
            let terminal = try Gateway.run(columns: 200, ["replay"] + arguments)
            let pipe = try Gateway.replay(arguments)
            #expect(terminal.lines.dropLast() == pipe.lines[...], "\(options)")
            #expect(pipe.lines.count > 3 && pipe.lines.allSatisfy { $0.hasPrefix("{") }, "\(options)")
        }
    }

    @Test func `a folder gets JSON also if the command runs on a terminal`() throws {
        let (configuration, capture) = try day()
        let ending = try Gateway.run(
            columns: 200, "replay", "--config", configuration, "--output", scratch.path("lines"), capture)
        #expect(ending.lines == [Self.summary], "\(ending.text)")
        let piped = try Gateway.replay(["--config", configuration, capture])
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path("lines"))
        let name = try #require(names.first { $0.hasPrefix("events-") })
        #expect(try contents(of: scratch.path("lines/\(name)")) == piped.output)
    }

    @Test func `the beacons in view of each second are not shown`() throws {
        let (_, capture) = try day()
        let ranging = try scratch.write(
            "r.yaml",
            """
            conditions:
            - {identifier: staff, uuid: \(Log.uuid), per_beacon: true, assuming: unsatisfied, ranging: true}

            """)
        let with = try Gateway.run(columns: 200, "replay", "--config", ranging, capture)
        let without = try Gateway.run(columns: 200, "replay", "--config", try day().configuration, capture)
        #expect(with.lines.map { $0.replacing("1/1", with: "Ada Lovelace") } == without.lines, "\(with.text)")
        #expect(try Gateway.replay(["--config", ranging, capture]).text.contains("\"type\":\"ranging\""))
    }
}
