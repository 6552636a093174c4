import Foundation
import ProgramSupport
import Testing

/// Results of `erase` and explanations of `explain`, in the forms that people pass on.
@Suite struct ErasureReportTests {
    private let scratch: Scratch
    private static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"

    init() throws { scratch = try Scratch() }

    private func folder() throws -> String {
        var writer = LineWriter()
        writer.started(0)
        writer.completeVisit("staff", 100, 200, minor: 7)
        writer.completeVisit("staff", 300, 400, minor: 8)
        return try scratch.folder(writer, aliveAt: 500)
    }

    private func bytes(_ folder: String) throws -> String {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("events-") }.sorted()
            .map { String(decoding: try contents(of: "\(folder)/\($0)"), as: UTF8.self) }.joined()
    }

    @Test func `erase without a configuration accepts MAJOR/MINOR if one beacon of the folder has them`() throws {
        let place = try folder()
        let before = try bytes(place)
        let ending = try Gateway.run("erase", "1/7", place)
        #expect(ending.status == 0, "\(ending.errors)")
        #expect(ending.errors.contains("3 lines of this beacon were erased"), "\(ending.errors)")
        let after = try bytes(place)
        #expect(!after.contains("\"minor\":7") && after.contains("\"minor\":8"))
        #expect(after.utf8.count == before.utf8.count)
    }

    @Test
    func `if several beacons of the folder have MAJOR/MINOR, erase fails with 64, lists them and changes nothing`()
        throws
    {
        let place = try folder()
        let other = "2F234454-CF6D-4A0F-ADF2-F4911BA9FFA6"
        let path = try #require(
            try FileManager.default.contentsOfDirectory(atPath: place).first { $0.hasPrefix("events-") })
        let lines = try bytes(place).split(separator: "\n", omittingEmptySubsequences: false).enumerated().map {
            $0.offset < 5
                ? String($0.element)
                : String($0.element).replacing("\"minor\":8", with: "\"minor\":7").replacing(Self.uuid, with: other)
        }
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: "\(place)/\(path)"))
        let before = try bytes(place)
        let ending = try Gateway.run("erase", "1/7", place)
        #expect(ending.status == 64)
        #expect(ending.errors.contains("use one of \(other)/1/7, \(Self.uuid)/1/7"), "\(ending.errors)")
        #expect(try bytes(place) == before)
    }

    @Test(arguments: [true, false])
    func `the result of erase and of its dry run has the same numbers in text, JSON, CSV and on the page`(isDry: Bool)
        throws
    {
        let dry = isDry ? ["--dry-run"] : []
        func erase(_ form: String...) throws -> Ending {
            let place = try folder()
            let before = try bytes(place)
            let ending = try Gateway.run(["erase", "\(Self.uuid)/1/7", place, "--utc"] + dry + form)
            #expect(ending.status == 0, "\(ending.errors)")
            #expect((try bytes(place) == before) == isDry)
            return ending
        }
        let verb = isDry ? "would be" : "were"
        #expect(
            try erase().errors.contains(
                "3 lines of this beacon \(verb) erased, 0 other lines \(verb) cleared of its identity"))
        let json = try object(try #require(erase("--json").lines.first))
        #expect(json["kind"] as? String == "erasure" && json["dryRun"] as? Bool == isDry)
        #expect(json["erased"] as? Int == 3 && json["cleared"] as? Int == 0 && json["damaged"] as? Int == 0)
        #expect(json["files"] as? Int == 1)
        try Schema.expectValid(erase("--json").output, "--kind", "reports")
        let csv = try #require(SiteForms.records(erase("--csv").text).first)
        #expect(csv["erased"] == "3" && csv["cleared"] == "0" && csv["files"] == "1" && csv["minor"] == "7")
        #expect(csv["dry_run"] == "\(isDry)")
        let page = try erase("--html=-").text
        let rows = Dictionary(
            uniqueKeysWithValues: SiteForms.rows(page[...]).filter { $0.count == 2 }.map { ($0[0], $0[1]) })
        #expect(rows["Lines of the beacon, erased"] == "3" && rows["Other lines, cleared of its identity"] == "0")
        #expect(rows["Files rewritten"] == "1" && rows["Beacon"] == "\(Self.uuid)/1/7")
        #expect(page.contains("<h1>Erasure\(isDry ? ", dry run" : "")</h1>"))
        #expect(page.contains("not erased: copies and backups"))
    }

    @Test func `the JSON, CSV and page of an erasure do not contain the name of the beacon`() throws {
        let place = try folder()
        let configuration = try scratch.write(
            "names.yaml",
            "conditions: [{identifier: staff, uuid: \(Self.uuid)}]\nbeacons: [{major: 1, minor: 7, name: Ada Lovelace}]\n"
        )
        for form in ["--json", "--csv", "--html=-"] {
            let reported = try Gateway.run("erase", "Ada Lovelace", place, "--dry-run", "--config", configuration, form)
            #expect(
                reported.status == 0 && !reported.text.isEmpty && !reported.text.contains("Ada"),
                "\(reported.text) \(reported.errors)")
        }
    }

    @Test func `the page of an explanation has its text with HTML escaped, in a file too`() throws {
        var writer = LineWriter()
        writer.started(0)
        writer.event("<b>&", "satisfied", 10, minor: 7, seen: 10)
        let place = try scratch.folder(writer, aliveAt: 500)
        let words = try Gateway.run("explain", "--utc", "\(writer.sequence)", place).lines
        let page = try Gateway.run("explain", "--utc", "--html=-", "\(writer.sequence)", place)
        #expect(page.status == 0, "\(page.errors)")
        for line in words {
            let line = line.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            #expect(page.text.contains(line), "\(line)")
        }
        #expect(!page.text.contains("<b>") && page.text.contains("<h1>Explanation: line \(writer.sequence)</h1>"))
        let path = scratch.path("why.html")
        #expect(try Gateway.run("explain", "--utc", "--html", path, "\(writer.sequence)", place).status == 0)
        #expect(String(decoding: try contents(of: path), as: UTF8.self) == page.text)
    }

    @Test func `explain refuses --csv with 64, because an explanation is not a table`() throws {
        let ending = try Gateway.run("explain", "--csv", "2", try folder())
        #expect(
            ending.status == 64 && ending.errors.contains("an explanation is not a table; use --json"),
            "\(ending.errors)")
    }
}
