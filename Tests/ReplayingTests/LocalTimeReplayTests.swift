import Foundation
import ProgramSupport
import Testing

/// Captures whose times have no time zone.
@Suite struct LocalTimeReplayTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    /// Returns a beacon's report in the format of `hcidump --raw`.
    private static func dump(_ time: String) -> String {
        """
        \(time) > 04 3E 2A 02 01 03 01 07 00 00 E5 98 C0 1E 02 01 06 1A FF 4C\u{20}
          00 02 15 F7 82 6D A6 4F A2 4E 98 80 24 BC 5B 71 E0 89 3E 00\u{20}
          64 00 07 C5 C4\u{20}

        """
    }

    private static let heading = """
        HCI sniffer - Bluetooth packet analyzer ver 5.66
        btsnoop version: 1 datalink type: 1002

        """

    /// A report every 10 s from 02:40:00 in summer time to 02:20:00 in winter time.
    private static let night =
        heading
        + (0...240).map { step in
            let seconds = 2 * 3600 + 40 * 60 + 10 * step - (step >= 120 ? 3600 : 0)
            func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            return dump("2025-10-26 \(two(seconds / 3600)):\(two(seconds / 60 % 60)):\(two(seconds % 60)).000000")
        }.joined()

    @Test func `times of hcidump -t are read in the zone that --zone names`() throws {
        let dump = Self.heading + ["00", "01", "02"].map { Self.dump("2025-11-24 09:00:\($0).000000") }.joined()
        let path = try scratch.write("dump", dump)
        func times(_ ending: Ending) throws -> [String?] { try ending.lines.map { try object($0)["time"] as? String } }
        let there = try Gateway.replay(["--sightings", "--zone", "Europe/Vienna", path])
        #expect(
            try times(there) == [
                "2025-11-24T08:00:00.000000Z", "2025-11-24T08:00:01.000000Z", "2025-11-24T08:00:02.000000Z",
            ])
        #expect(there.errors == "")
        let assumed = try Gateway.replay(["--sightings", path])
        #expect(try times(assumed).first == "2025-11-24T09:00:00.000000Z")
        #expect(
            assumed.errors == """
                warning: the times of \(path) have no time zone, so UTC is assumed; if they are local times, set the time \
                zone with --zone, such as --zone Europe/Vienna

                """)
        let utc = try Gateway.replay(["--sightings", "--zone", "UTC", path])
        #expect(utc.errors == "" && utc.output == assumed.output)
        // A conversion has the same times as a replay.
        let log = try scratch.write("log.jsonl", "")
        let loss =
            "not stored in the output: 3 reports lost their kind of advertising or their advertising set\n"
        #expect(try Gateway.run("convert", "--zone", "Europe/Vienna", path, log).errors == loss)
        #expect(try Gateway.replay(["--sightings", log]).output == there.output)
        #expect(try Gateway.run("convert", path, log).errors == loss + assumed.errors)
        let unknown = try Gateway.run("replay", "--zone", "Europe/Wien", path)
        #expect(unknown.status == 64 && unknown.errors.contains("--zone is Europe/Wien, which is not a time zone"))
        #expect(unknown.errors.contains("or --zone UTC"))
    }

    @Test func `a night in which the clocks go back is one visit with --zone, and is reported without it`() throws {
        let path = try scratch.write("night", Self.night)
        let placed = try Gateway.replay(["--settle", "--zone", "Europe/Vienna", path])
        #expect(placed.errors == "")
        #expect(try beaconVisits(placed.lines) == ["2025-10-26T00:40:00.000000Z 2025-10-26T01:20:00.000000Z 241"])
        let late = "warning: 121 records are earlier than a record before, by up to 3590 s"
        let change =
            "warning: at line 363 of \(path) the time goes back by 3590 s, probably at the end of daylight saving time"
        let assumed = try Gateway.replay(["--settle", path])
        #expect(
            assumed.errors == """
                \(late), and handled at the time of that record (rule T2)
                warning: the times of \(path) have no time zone, so UTC is assumed; if they are local times, set the time \
                zone with --zone, such as --zone Europe/Vienna
                \(change)

                """)
        #expect(try beaconVisits(assumed.lines) == ["2025-10-26T02:40:00.000000Z 2025-10-26T02:59:50.000000Z 241"])
        #expect(
            try Gateway.replay(["--sightings", "--zone", "America/New_York", path]).errors == """
                \(late)
                \(change); check that America/New_York is the right time zone

                """)
    }

    @Test(arguments: ["UTC+2", "GMT-1", "UTC2", "Foo+99", "Foo"])
    func `a zone name that is ambiguous or unknown is refused`(zone: String) throws {
        let ending = try Gateway.run(
            "replay", "--zone", zone, "-", input: Array(Self.dump("2025-11-24 09:00:00.0").utf8))
        #expect(ending.status == 64 && ending.errors.contains("--zone is \(zone), which is not a time zone"))
    }

    @Test(arguments: ["GMT0", "GMT+0", "GMT-0", "UTC0", "UTC", "Etc/GMT-0"])
    func `a zone name that can only mean UTC is UTC`(zone: String) throws {
        let dump = Array(Self.dump("2025-11-24 09:00:00.0").utf8)
        let ending = try Gateway.replay(["--sightings", "--zone", zone, "-"], input: dump)
        #expect(ending.text.hasPrefix(#"{"time":"2025-11-24T09:00:00.000000Z","#))
        #expect(ending.errors == "")
    }

    @Test(arguments: [("Etc/GMT-2", "07:00"), ("CET-1CEST,M3.5.0,M10.5.0/3", "08:00"), ("Asia/Kathmandu", "03:15")])
    func `a zone can be a name of tzdata or a POSIX rule`(zone: String, time: String) throws {
        let dump = Array(Self.dump("2025-11-24 09:00:00.0").utf8)
        let ending = try Gateway.replay(["--sightings", "--zone", zone, "-"], input: dump)
        #expect(ending.text.hasPrefix(#"{"time":"2025-11-24T\#(time):00.000000Z","#))
    }

    @Test func `a capture that starts in a repeated hour is read as its first occurrence, which is reported`() throws {
        let path = try scratch.write(
            "second",
            Self.dump("2025-10-26 02:30:00.0") + Self.dump("2025-10-26 02:59:50.0")
                + Self.dump("2025-10-26 03:00:00.0"))
        let ending = try Gateway.replay(["--sightings", "--zone", "Europe/Vienna", path])
        #expect(
            ending.lines.map { $0.prefix(29).suffix(20) } == [
                "2025-10-26T00:30:00.", "2025-10-26T00:59:50.", "2025-10-26T02:00:00.",
            ])
        #expect(
            ending.errors == """
                warning: at line 1 of \(path) the time exists twice in Europe/Vienna, because the clocks go back in this \
                hour; the first of the two is used

                """)
    }

    @Test func `a local time that the clocks skip is refused`() throws {
        let path = try scratch.write(
            "spring", Self.dump("2025-03-30 01:59:59.000000") + Self.dump("2025-03-30 02:30:00.000000"))
        let ending = try Gateway.run("replay", "--sightings", "--zone", "Europe/Vienna", path)
        #expect(ending.status == 65)
        #expect(ending.lines.count == 1)
        #expect(
            ending.errors
                == "\(path): record 2 at line 4, byte 171: its time does not exist in Europe/Vienna: the clocks went forward "
                + "at this time\n")
    }

    @Test func `a log's times without an offset are read with --zone and refused without it`() throws {
        let log = Log.sighting(#""2025-11-24 09:00:00.5""#)
        let ending = try Gateway.run("replay", "--sightings", "-", input: Array(log.utf8))
        #expect(ending.status == 65)
        #expect(
            ending.errors == """
                standard input: record 1 at line 1, byte 0: time is "2025-11-24 09:00:00.5", without an offset; name its \
                zone with --zone, or append Z

                """)
        let placed = try Gateway.replay(["--sightings", "--zone", "Europe/Vienna", "-"], input: Array(log.utf8))
        #expect(placed.text.hasPrefix(#"{"time":"2025-11-24T08:00:00.500000Z","#))
        #expect(placed.errors == "")
    }
}
