import BaseTypes
import Captures
import CommandSupport
import Foundation
import Glibc
import ProgramSupport
import Testing

@testable import GatewayCommands

/// `run --from` with a file, at times that the test sets. The notes have seconds after the start.
@Suite struct CaptureFileScannerTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    @Test func `L4: the first record is received at the start, and later ones as much later as they were recorded`()
        throws
    {
        let path = try scratch.log(
            "a.jsonl", [Log.sighting("1000.5"), Log.sighting("1002", minor: 2), Log.report("1060.25")])
        let scan = try CapturedScan(path, hasOwnTime: true)
        #expect(scan.takeNotes().isEmpty)
        try scan.go(to: 0)
        #expect(scan.takeNotes() == ["0.0 0: hci0 scans", "0.0 0: badge 1/-59 -60"])
        try scan.go(to: 1.499)
        #expect(scan.takeNotes().isEmpty)
        try scan.go(to: 1.5)
        #expect(scan.takeNotes() == ["1.5 0: badge 2/-59 -60"])
        // A record has the time at which it was due, also if it is handled later.
        try scan.go(to: 70)
        #expect(
            scan.takeNotes() == ["59.75 0: report -", "59.75 end: \(path) has ended"])
        try scan.go(to: 100)
        #expect(scan.takeNotes().isEmpty)
        #expect(scan.log.isEmpty)
    }

    @Test func `L4: a file that repeats starts again 1 s after its last record, and its damage is logged once`() throws
    {
        let path = try scratch.log(
            "a.jsonl",
            [Log.sighting("10"), #"{"time":11,"uuid":"x"}"#, Log.sighting("12", adapter: "hci1", minor: 2)])
        let scan = try CapturedScan(path, hasOwnTime: true, repeats: true)
        try scan.go(to: 2.999)
        let round = ["0 0: hci0 scans", "0 0: badge 1/-59 -60", "2 1: hci1 scans", "2 1: badge 2/-59 -60", "2 end"]
        func expected(_ start: Int) -> [String] {
            round.map { note in
                let second = start + (note.first?.wholeNumberValue ?? 0)
                return "\(second).0\(note.dropFirst())" + (note.hasSuffix("end") ? ": \(path) has ended" : "")
            }
        }
        #expect(scan.takeNotes() == expected(0))
        try scan.go(to: 3)
        #expect(scan.takeNotes() == Array(expected(3).prefix(2)))
        // Also if the loop is late, each record has the time at which it was due.
        scan.set(9)
        scan.drain()
        #expect(scan.takeNotes() == Array(expected(3).dropFirst(2)) + expected(6) + expected(9).prefix(2))
        #expect(scan.log.count == 1, "\(scan.log)")
    }

    @Test func `a file that repeats and that was deleted, emptied or replaced by a FIFO has ended, with a warning`()
        throws
    {
        for content in [nil, "", "{}\n", "FIFO"] {
            let path = try scratch.log("a.jsonl", [Log.sighting("10"), Log.sighting("12")])
            let scan = try CapturedScan(path, hasOwnTime: true, repeats: true)
            try scan.go(to: 1)
            try FileManager.default.removeItem(atPath: path)
            if content == "FIFO" {
                try #require(mkfifo(path, 0o600) == 0)
            } else if let content {
                _ = try scratch.write("a.jsonl", content)
            }
            for time in [2, 3, 60] { try scan.go(to: Double(time)) }
            #expect(scan.takeNotes().last == "2.0 end: \(path) has ended")
            #expect(scan.reports == 2)
            #expect(scan.log.count == 1 && scan.log.first?.contains(path) == true, "\(scan.log)")
        }
    }

    @Test func `T5: a drain delivers the records that are due, and no others`() throws {
        let path = try scratch.log("a.jsonl", (0...9).map { Log.sighting("\($0)", minor: $0) })
        let scan = try CapturedScan(path, hasOwnTime: true)
        try scan.go(to: 0)
        scan.set(3.5)
        scan.drain()
        #expect(scan.takeNotes().filter { $0.contains("badge") }.count == 4)
        scan.drain()
        #expect(scan.takeNotes().isEmpty)
    }

    @Test func `T2: a record that is earlier than the first one is received at the start`() throws {
        let path = try scratch.log("a.jsonl", [Log.sighting("50"), Log.sighting("20", minor: 2), Log.sighting("51")])
        let scan = try CapturedScan(path, hasOwnTime: true)
        try scan.go(to: 0)
        #expect(scan.takeNotes().suffix(2) == ["0.0 0: badge 1/-59 -60", "0.0 0: badge 2/-59 -60"])
        try scan.go(to: 1)
        #expect(scan.takeNotes().first == "1.0 0: badge 1/-59 -60")
    }

    @Test func `L4: marks and names of the capture are kept, and a mark of an earlier stop stays as much earlier`()
        throws
    {
        let stopped = #"{"time":30,"adapter":"lab","listening":false,"since":25}"#
        let path = try scratch.log(
            "a.jsonl",
            [
                Log.sighting("10", adapter: "lobby"), Log.listening(false, "11", adapter: "yard"),
                Log.sighting("12", adapter: "lab"), stopped, Log.listening(true, "40", adapter: "lab"),
                Log.listening(false, "41", adapter: "lobby"), Log.sighting("42", adapter: "yard"),
            ])
        let scan = try CapturedScan(path, hasOwnTime: true)
        try scan.go(to: 60)
        #expect(
            scan.takeNotes() == [
                "0.0 0: lobby scans", "0.0 0: badge 1/-59 -60",
                "1.0 1: yard off", "1.0 1: stops",
                "2.0 2: lab scans", "2.0 2: badge 1/-59 -60",
                "20.0 2: stops since 15.0", "30.0 2: scans",
                "31.0 0: stops", "32.0 1: badge 1/-59 -60",
                "32.0 end: \(path) has ended",
            ])
    }

    @Test func `damage is logged when it is reached, and the records around it are used`() throws {
        let path = try scratch.log("a.jsonl", [Log.sighting("0"), #"{"time":1,"uuid":"x"}"#, Log.sighting("2")])
        let scan = try CapturedScan(path, hasOwnTime: true)
        try scan.go(to: 3)
        #expect(scan.reports == 2)
        #expect(scan.log.count == 1)
        #expect(scan.log.first?.hasPrefix("warning \(path): record 2 at line 2,") == true, "\(scan.log)")
    }

    @Test func `a long gap is logged once, because a wrong time would look like a silent radio`() throws {
        let path = try scratch.log("a.jsonl", [Log.sighting("0"), Log.sighting("7200"), Log.sighting("7201")])
        let scan = try CapturedScan(path, hasOwnTime: true)
        for time in [0, 1, 2, 4000, 7200.5, 7202] { try scan.go(to: time) }
        #expect(scan.reports == 3)
        #expect(scan.log == ["warning the next record of \(path) is 2 h later"])
    }

    @Test func `many records with one time are handled in several turns, but by one drain`() throws {
        let path = try scratch.log("a.jsonl", (0..<2000).map { Log.sighting("5", minor: $0) })
        let scan = try CapturedScan(path, hasOwnTime: true)
        try scan.go(to: 0)
        #expect(scan.reports == 512)
        try scan.loop.turn(waits: false)
        #expect(scan.reports == 1024)
        scan.drain()
        #expect(scan.reports == 2000)
    }

    @Test func `files that cannot be used are refused before the start`() throws {
        func failure(_ path: String) -> (code: ExitFailure.Code, text: String)? {
            do throws(ExitFailure) {
                _ = try CaptureOrigin(path, options: CaptureOptions())
                return nil
            } catch {
                return (error.code, error.message)
            }
        }
        let missing = try #require(failure(scratch.path("none")))
        #expect(missing.code == .inputMissing && missing.text.contains("can't be opened: No such file or directory"))
        #expect(failure(scratch.path("")).map { $0.code == .inputMissing && $0.text.contains("directory") } == true)
        let empty = try #require(failure(try scratch.write("empty", "")))
        #expect(empty.code == .dataInvalid && empty.text.hasSuffix("is empty"))
        let text = try #require(failure(try scratch.write("text", "no capture\n")))
        #expect(text.code == .dataInvalid && text.text.contains("unknown format"))
        let timeless = try #require(failure(Fixtures.path("hcidump-gimbal.raw")))
        #expect(timeless.code == .dataInvalid && timeless.text.contains("has no times"))
        let refused = try #require(failure(try scratch.log("bad.jsonl", [#"{"time":1,"uuid":"x"}"#])))
        #expect(refused.code == .dataInvalid && refused.text.contains("record 1 at line 1,"), "\(refused)")
        #expect(failure(Fixtures.path("android-gym-bike.btsnoop")) == nil)
    }
}
