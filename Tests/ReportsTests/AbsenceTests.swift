import Foundation
import ProgramSupport
import Testing

/// Reports that find nothing: every report has the same message for it, and the same exit code.
@Suite struct AbsenceTests {
    private let scratch: Scratch
    private static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
    private static let reports = [
        ["visits"], ["visits", "--now"], ["visits", "--json"], ["visits", "--csv"], ["visits", "--html=-"],
        ["occupancy"], ["occupancy", "--json"], ["explain", "staff"], ["explain", "2", "--json"],
        ["explain", "staff", "--html=-"], ["erase", "1/7", "--dry-run"], ["erase", "\(uuid)/1/7", "--dry-run"],
        ["erase", "1/7", "--dry-run", "--json"],
    ]

    init() throws { scratch = try Scratch() }

    /// Returns the message of a report on standard error. The report must end with this exit code and must print
    /// nothing on standard output.
    private func words(_ report: [String], _ place: String, exit: Int32) throws -> String {
        let ending = try Gateway.run(report + [place])
        #expect(ending.status == exit, "\(report): \(ending.errors)")
        #expect(ending.text.isEmpty, "\(report): \(ending.text)")
        return ending.errors
    }

    private func folder(_ name: String, _ files: [String: [UInt8]] = [:]) throws -> String {
        let path = scratch.path(name)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for (file, bytes) in files { try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(file)")) }
        return path
    }

    private func expect(_ place: String, exit: Int32, _ words: String) throws {
        for report in Self.reports {
            #expect(try self.words(report, place, exit: exit).contains(words), "\(report)")
        }
    }

    @Test func `a folder that is empty or has only other files fails with 66: it holds no event files`() throws {
        let words =
            "holds no event files (events-….jsonl); name the folder that the gateway writes to (output.directory)"
        try expect(folder("empty"), exit: 66, "\(scratch.path("empty")) \(words)")
        try expect(folder("other", ["readme.txt": [0x68, 0x0A]]), exit: 66, "\(scratch.path("other")) \(words)")
    }

    @Test func `a folder that does not exist fails with 66: No such file or directory`() throws {
        let place = scratch.path("nowhere")
        try expect(place, exit: 66, "\(place) can't be read: No such file or directory")
    }

    @Test func `a capture with the name of an event file fails with 65: no gateway wrote it`() throws {
        let capture = try Data(
            contentsOf: Fixtures.tests.appendingPathComponent("Fixtures/captures/android-multi-report.btsnoop"))
        let place = try folder("captured", ["events-000000000001-20261121T000000Z.jsonl": Array(capture)])
        try expect(place, exit: 65, "\(place) holds no event lines, so no gateway wrote it; if it is a capture,")
    }

    @Test func `a folder whose event file is empty fails with 66: there are no lines yet`() throws {
        let place = try folder("new", ["events-000000000001-20261121T000000Z.jsonl": []])
        try expect(place, exit: 66, "there are no lines in \(place) yet")
    }

    private func good() throws -> String {
        var writer = LineWriter()
        writer.started(0)
        writer.completeVisit("staff", 100, 200, minor: 7)
        return try scratch.folder(writer, aliveAt: 500)
    }

    @Test func `the error for a condition that is in no line has the nearest condition that is`() throws {
        let place = try good()
        for report in [
            ["visits", "--condition=stafff"], ["visits", "--now", "--condition=stafff"],
            ["visits", "--html=-", "--condition=stafff"], ["occupancy", "--condition=stafff"],
        ] {
            let words = try words(report, place, exit: 65)
            #expect(words == "no line contains the condition “stafff”; did you mean “staff”?\n", "\(report)")
        }
        #expect(
            try words(["explain", "stafff"], place, exit: 65) == "no line contains “stafff”; did you mean “staff”?\n")
    }

    @Test func `the error for a beacon that is in no line has the nearest one, except the error of erase`() throws {
        let place = try good()
        for report in [
            ["visits", "--beacon=1/8"], ["visits", "--now", "--beacon=1/8"], ["occupancy", "--beacon=1/8"],
        ] {
            let words = try words(report, place, exit: 65)
            #expect(words == "no line contains the beacon 1/8; did you mean “1/7”?\n", "\(report)")
        }
        #expect(try words(["explain", "1/8"], place, exit: 65) == "no line contains “1/8”; did you mean “1/7”?\n")
        #expect(try words(["erase", "1/8"], place, exit: 65) == "no line contains the beacon 1/8\n")
    }

    @Test func `the error for a time without data has the times that the files cover`() throws {
        let place = try good()
        let reported = "the files cover 2026-11-21 00:00:00 to 2026-11-21 00:08:20\n"
        for report in [["visits"], ["visits", "--html=-"], ["occupancy"]] {
            let words = try words(report + ["--utc", "--from=2030-01-01"], place, exit: 65)
            #expect(words == "there is no data for the time from 2030-01-01 00:00:00; \(reported)", "\(report)")
        }
        let words = try words(["explain", "staff", "--utc", "--at=2010-01-01"], place, exit: 65)
        #expect(
            words.hasPrefix(
                "there is no data for the time to 2010-01-01 00:00:00; the files cover 2026-11-21 00:00:00"))
    }

    @Test func `a reversed range fails with 64`() throws {
        let place = try good()
        for report in ["visits", "occupancy"] {
            let ending = try Gateway.run(report, "--from=2026-11-22", "--to=2026-11-21", place)
            #expect(ending.status == 64)
            #expect(
                ending.errors.contains("--from is 2026-11-22; must be before --to, which is 2026-11-21"), "\(report)")
        }
    }
}
