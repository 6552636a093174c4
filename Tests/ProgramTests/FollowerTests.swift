import BaseTypes
import Foundation
import JSON
import ProgramSupport
import TestSupport
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// A program that follows the event files by the documentation alone.
@Suite struct FollowerTests {
    /// The section “Following the files” of docs/journal.md, in Python.
    private static let follower = #"""
        import json, os, sys, time
        folder, last_wanted = sys.argv[1], int(sys.argv[2])
        done, segment, offset, deadline = 0, None, 0, time.time() + 60
        def segments():
            return sorted(name for name in os.listdir(folder) if name.startswith("events-"))
        while done < last_wanted and time.time() < deadline:
            names = segments()
            if not names:
                time.sleep(0.002); continue
            if segment is None or segment not in names:
                later = [name for name in names if segment is None or name > segment]
                if not later:
                    time.sleep(0.002); continue
                segment, offset = later[0], 0
            later = [name for name in names if name > segment]
            try:
                with open(os.path.join(folder, segment), "rb") as file:
                    if os.fstat(file.fileno()).st_size < offset:
                        offset = 0
                    file.seek(offset)
                    data = file.read()
            except FileNotFoundError:
                continue
            whole = data[:data.rfind(b"\n") + 1]
            for line in whole.splitlines():
                payload = json.loads(line)
                payload = payload.get("payload", payload)
                if payload.get("sequence", 0) > done:
                    done = payload["sequence"]
                    print(done, flush=True)
            offset += len(whole)
            if not whole:
                if later:
                    segment, offset = later[0], 0
                else:
                    time.sleep(0.002)
        """#

    @Test func `a reader that follows the documentation gets every line once, over rotation, restart and retention`()
        throws
    {
        let scratch = try Scratch()
        let script = try scratch.write("follower.py", Self.follower)
        let (events, out) = (scratch.path("events"), try scratch.write("out", ""))
        try FileManager.default.createDirectory(atPath: events, withIntermediateDirectories: true)
        let count = 320
        let process = try SpawnedProcess(Tool.python, [script, events, "\(count)"], output: .file(out))
        func followed() throws -> [Int] {
            String(decoding: try contents(of: out), as: UTF8.self).split(separator: "\n").compactMap { Int($0) }
        }
        var start = Instant(nanoseconds: 1_000_000_000_000)
        var snapshot: MonitorSnapshot?
        for restart in 1...4 as ClosedRange<UInt32> {
            var options = JournalOptions(
                directory: .init(events), stateDirectory: .init(scratch.path("state")), gateway: try Identifier("g"))
            options.rotateSize = 4000
            options.retainSize = 40_000
            options.waitsForPublishing = true
            let journal = try Journal(
                options, boot: BootID(machine: "aaaaaaaa", process: restart), now: start, clockOffset: .zero,
                isClockSynchronized: true)
            for _ in 0..<80 {
                start = start + .seconds(1)
                journal.append(
                    .adapter(
                        AdapterChange(
                            adapter: "hci0", state: .listening, since: start, reason: nil, time: start,
                            clockOffset: .zero)))
                journal.commit(at: start)
                // Lines that the follower has processed can be deleted. Only this loop waits for the follower.
                for _ in 0..<60_000 {
                    guard journal.sequence - (try followed().last ?? 0) > 50, process.isRunning else { break }
                    usleep(1000)
                }
                try #require(
                    journal.sequence - (try followed().last ?? 0) <= 50, "the follower is more than 50 lines behind")
                journal.publishedSequence = try followed().last ?? 0
                journal.advance(to: start)
            }
            snapshot = MonitorSnapshot()
            // Some processes end in the middle of a line.
            if restart % 2 == 0 {
                let name = try #require(
                    FileManager.default.contentsOfDirectory(atPath: events).filter { $0.hasPrefix("events-") }.max())
                let file = try FileHandle(forWritingTo: URL(fileURLWithPath: events + "/" + name))
                try file.seekToEnd()
                try file.write(contentsOf: Data(#"{"version":1,"type":"ad"#.utf8))
                try file.close()
            } else {
                journal.close(snapshot, at: start)
            }
        }
        #expect(process.wait() == 0)
        #expect(try followed() == Array(1...count))
        #expect(try FileManager.default.contentsOfDirectory(atPath: events).count < 100)
    }

    @Test func `lines of type clock and evidence conform to the schema`() throws {
        let scratch = try Scratch()
        let log = (0..<40).map { Log.sighting("\($0).5", minor: 1) } + ["60", "61"].map { Log.report($0) }
        let path = try scratch.log("log.jsonl", log)
        let lines = try Gateway.replay(["--evidence", "--settle", path])
        #expect(lines.text.contains(#""type":"evidence""#))
        try Schema.expectValid(lines.output, "--first", "1")

        var encoder = LineEncoder(LineEncoder.Options(gateway: try Identifier("g")))
        var buffer = LineBuffer()
        do {
            var options = LineEncoder.Options(gateway: try Identifier("g"))
            options.boot = "aaaaaaaa-00000001"
            encoder = LineEncoder(options)
            buffer.removeAll()
            encoder.encode(
                ClockChange(
                    before: ClockOffset(nanoseconds: -1_500_000_001), after: ClockOffset(nanoseconds: 7),
                    isSynchronized: true,
                    time: Instant(nanoseconds: 5)), into: &buffer)
            try Schema.expectValid(buffer.bytes, "--first", "1")
        }
    }
}
