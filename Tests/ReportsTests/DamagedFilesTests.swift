import Foundation
import ProgramSupport
import Testing

/// Reports of event files that were copied, damaged, or written by a later version of the program.
@Suite struct DamagedFilesTests {
    private typealias Writer = LineWriter

    private static func path(of number: Int, in folder: String) -> String {
        folder + "/" + String(format: "events-%012d-20261121T000000Z.jsonl", number)
    }

    private static func segment(_ number: Int, in folder: String, _ text: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(of: number, in: folder)))
    }

    /// Returns the number of visits in the output.
    private static func count(_ ending: Ending) throws -> Int {
        try ending.lines.map(object).count { $0["kind"] as? String == "visit" }
    }

    private static func enveloped(_ line: String, _ isEnveloped: Bool) -> String {
        isEnveloped ? #"{"topic":"beacons/g/x","qos":1,"retain":false,"payload":\#(line)}"# : line
    }

    @Test(arguments: [2, 7]) func `the visits of a segment that exists twice count once, and the copies are reported`(
        copy: Int
    ) throws {
        let scratch = try Scratch()
        var writer = Writer()
        writer.completeVisit("staff", 100, 400, minor: 1)
        writer.completeVisit("staff", 500, 700, minor: 2)
        let text = writer.lines.map { $0 + "\n" }.joined()
        let folder = scratch.path("events")
        try Self.segment(1, in: folder, text)
        try Self.segment(copy, in: folder, text)
        let ending = try Gateway.run("visits", "--json", folder)
        #expect(ending.status == 0)
        #expect(try Self.count(ending) == 2)
        #expect(ending.errors.contains("6 lines are in the files twice and counted once"), "\(ending.errors)")
        let totals = try ending.lines.map(object).filter { $0["kind"] as? String == "total" }
        #expect(totals.allSatisfy { $0["visits"] as? Int == ($0["beacon"] == nil ? 2 : 1) }, "\(totals)")
    }

    @Test(arguments: [true, false])
    func `a visit counts if its line follows a line of another type whose line end is damaged`(isEnveloped: Bool) throws
    {
        let scratch = try Scratch()
        var writer = Writer()
        writer.event("staff", "satisfied", 100, minor: 1, seen: 100)
        writer.event("staff", "unsatisfied", 430, minor: 1, seen: 400)
        let before = writer.lines.map { Self.enveloped($0, isEnveloped) + "\n" }.joined()
        let evidence = #"{"version":1,"type":"evidence","gateway":"g","boot":"aaaaaaaa-00000001","event":2}"#
        writer.visit("staff", 430, arrival: 100, departure: 400, minor: 1)
        let visit = Self.enveloped(try #require(writer.lines.last), isEnveloped)
        let folder = scratch.path("events")
        // The line end has become another byte.
        try Self.segment(1, in: folder, before + Self.enveloped(evidence, isEnveloped) + "\u{1F}" + visit + "\n")
        let ending = try Gateway.run("visits", "--json", folder)
        let row = try ending.lines.map(object).first { $0["kind"] as? String == "visit" }
        // Only the line of the visit has this number.
        #expect(row?["sightings"] as? Int == 7, "\(ending.text)")
        #expect(ending.errors.contains("1 line is damaged and was skipped: \(folder)/"), "\(ending.errors)")
    }

    @Test func `damaged lines are counted, and the first ten are named by file and line`() throws {
        let scratch = try Scratch()
        var writer = Writer()
        writer.event("staff", "satisfied", 100, minor: 1, seen: 100)
        writer.event("staff", "unsatisfied", 430, minor: 1, seen: 400)
        let folder = scratch.path("events")
        // Line 1 is invalid, line 3 is cut, and line 4 is longer than any line that a gateway writes.
        let overlong = String(repeating: "x", count: 5 << 20)
        let cut = String(writer.lines[1].dropLast(9))
        try Self.segment(1, in: folder, "\u{1F}\n\(writer.lines[0])\n\(cut)\n\(overlong)\n\(writer.lines[1])\n")
        try Self.segment(2, in: folder, String(repeating: "?\n", count: 20))
        let first = Self.path(of: 1, in: folder)
        let second = Self.path(of: 2, in: folder)
        let named = ([1, 3, 4].map { "\(first):\($0)" } + (1...7).map { "\(second):\($0)" }).joined(separator: ", ")
        let said = "23 lines are damaged and were skipped: \(named), and 13 more"
        for command in [["visits", "--utc"], ["occupancy", "--utc"], ["explain", "staff"]] {
            let ending = try Gateway.run(command + [folder])
            #expect(ending.errors.contains(said), "\(command): \(ending.errors)")
        }
    }

    @Test func `a line with a date that does not exist is damaged, and its date does not become another day`() throws {
        let scratch = try Scratch()
        var writer = Writer()
        writer.event("staff", "satisfied", 100, minor: 1, seen: 100)
        writer.event("staff", "unsatisfied", 430, minor: 1, seen: 400)
        let folder = scratch.path("events")
        let odd = writer.lines[0].replacing("2026-11-21T", with: "2026-11-31T")
        try Self.segment(1, in: folder, "\(odd)\n\(writer.lines[1])\n")
        let ending = try Gateway.run("visits", "--utc", folder)
        #expect(ending.errors.contains("1 line is damaged and was skipped: \(Self.path(of: 1, in: folder)):1"))
        #expect(!ending.text.contains("2026-12-01"))
    }

    @Test func `explain reports how many lines a later version wrote, and explains the event that it can read`() throws
    {
        let scratch = try Scratch()
        var writer = Writer()
        writer.event("staff", "satisfied", 100, seen: 100)
        writer.event("staff", "unsatisfied", 430, seen: 400)
        let newer = try #require(writer.lines.last).replacing("\"version\":1", with: "\"version\":9")
        let folder = scratch.path("events")
        try Self.segment(1, in: folder, writer.lines[0] + "\n" + newer + "\n")
        for target in ["staff", "1"] {
            let ending = try Gateway.run("explain", target, folder)
            #expect(ending.status == 0 && ending.text.contains("became satisfied"), "\(ending.errors)")
            #expect(ending.errors.contains("1 line was written by a later version"), "\(ending.errors)")
        }
    }
}
