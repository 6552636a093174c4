import ProgramSupport
import Testing

/// Rule L4 in one file: its lines about scanning, its end, and the time after its end.
@Suite struct ListeningReplayTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private func replay(_ lines: [String], _ arguments: String...) throws -> [String] {
        let config = try scratch.write("c.yaml", Log.configuration)
        return try Gateway.replay(
            ["--config", config] + arguments + ["-"], input: Array(lines.joined(separator: "\n").utf8)
        ).lines
    }

    private static let closed = ["0.0 staff satisfied", "60.0 staff unsatisfied"]

    @Test func `L4: listening lines stop and continue the time of an adapter`() throws {
        let lines = try replay([
            Log.sighting("0"), Log.listening(false, "10"), Log.listening(true, "40"), Log.report("60"),
        ])
        #expect(try ShortLines(lines, "event").lines == Self.closed)
        #expect(
            try ShortLines(lines, "adapter").lines == ["0.0 hci0 listening", "10.0 hci0 off", "40.0 hci0 listening"])
    }

    @Test func `L4: a report shows that an adapter scans again`() throws {
        let lines = try replay([
            Log.sighting("0"), Log.listening(false, "10"), Log.report("40"), Log.report("59.999999"), Log.report("60"),
        ])
        #expect(try ShortLines(lines, "event").lines == Self.closed)
    }

    @Test(arguments: [9, 1] as [UInt16])
    func `L4: Close and Delete Index stop the time of an adapter until Open Index`(closing: UInt16) throws {
        var capture = MonitorCapture()
        capture.record(8, at: 0)
        capture.record(3, at: 0, MonitorCapture.event(minor: 1))
        capture.record(closing, at: 10)
        capture.record(8, at: 40)
        capture.record(3, at: 60, MonitorCapture.event(minor: nil))
        let config = try scratch.write("c.yaml", Log.configuration)
        let lines = try Gateway.replay(["--config", config, "-"], input: capture.bytes).lines
        #expect(try ShortLines(lines, "event").lines == Self.closed)
        #expect(
            try ShortLines(lines, "adapter").lines == ["0.0 hci0 listening", "10.0 hci0 off", "40.0 hci0 listening"])
    }

    @Test func `L4: time stops at the last record: an exit that is due then is written, a later one is not`() throws {
        #expect(
            try ShortLines(try replay([Log.sighting("0"), Log.report("29.999999")]), "event").lines == [
                "0.0 staff satisfied"
            ]
        )
        #expect(
            try ShortLines(try replay([Log.sighting("0"), Log.report("30")]), "event", "visit").lines
                == ["0.0 staff satisfied", "30.0 staff unsatisfied", "30.0 staff exitTimeout"])
    }

    @Test func `L4: with --settle, time continues until nothing more becomes due`() throws {
        #expect(
            try ShortLines(try replay([Log.sighting("5")], "--settle"), "event", "visit").lines
                == ["5.0 staff satisfied", "35.0 staff unsatisfied", "35.0 staff exitTimeout"])
        // If an adapter does not scan at the last record, it does not scan after it.
        let off = [Log.sighting("0"), Log.listening(false, "10")]
        #expect(
            try ShortLines(try replay(off, "--settle"), "event").lines == ["0.0 staff satisfied", "70.0 staff unknown"])
    }

    @Test func `L5: with --settle, the silence after the last record makes no adapter deaf`() throws {
        let config = try scratch.write("d.yaml", "monitor:\n  deaf_after: 10s\n" + Log.configuration)
        let input = [Log.sighting("0"), Log.report("25")].joined(separator: "\n")
        let lines = try Gateway.replay(["--config", config, "--settle", "-"], input: Array(input.utf8)).lines
        #expect(try ShortLines(lines, "adapter").lines.filter { $0.hasSuffix("deaf") } == ["10.0 hci0 deaf"])
        // Ten seconds of the silence count, so twenty are left at 25 s.
        #expect(try ShortLines(lines, "event").lines == ["0.0 staff satisfied", "45.0 staff unsatisfied"])
    }

    @Test func `--adapter ignores the records of other adapters`() throws {
        let mine = [Log.sighting("1", adapter: "a"), Log.report("20", adapter: "a"), Log.sighting("40", adapter: "a")]
        let others = [
            Log.sighting("0", adapter: "b", minor: 2), mine[0], Log.listening(false, "2", adapter: "b"), mine[1],
            Log.sighting("30", adapter: "b"), mine[2], Log.report("500", adapter: "b"),
        ]
        #expect(try replay(others, "--adapter", "a") == replay(mine))
        #expect(try replay(others, "--adapter", "a", "--settle") == replay(mine, "--settle"))
        let named = try scratch.log("f", others)
        let lines = try Gateway.replay(["--sightings", "--adapter", "x/a", "x=\(named)"]).lines
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.contains(#""adapter":"x/a""#) })
    }
}
