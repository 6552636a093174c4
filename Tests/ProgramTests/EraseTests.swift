import Foundation
import ProgramSupport
import Testing

/// What `erase` does beside the lines and the state.
@Suite struct EraseTests {
    @Test(arguments: [
        (
            "2026-11-20",
            "before 2026-11-20 00:00:00 UTC names this beacon: the first line is of 2026-11-21 00:00:01 UTC"
        ),
        ("2026-11-21T00:01", "before 2026-11-21 00:01:00 UTC names this beacon"),
        (
            "2026-11-21T00:01:41",
            "1 line of its own was erased, 0 lines of others were cleared of it, in 1 rewritten file"
        ),
    ])
    func `with --before, erase says if nothing earlier names the beacon`(date: String, words: String) throws {
        let scratch = try Scratch()
        var writer = LineWriter()
        writer.started(1)
        writer.stay("staff", 100, 400, minor: 7)
        let folder = try scratch.folder(writer)
        for more in [["--dry-run"], []] {
            let ending = try Gateway.run(
                ["erase", "\(LineWriter.uuid)/1/7", folder, "--utc", "--before", date] + more)
            #expect(ending.status == 0)
            let words =
                more.isEmpty
                ? words
                : words.replacing("was erased", with: "would be erased")
                    .replacing("were cleared", with: "would be cleared")
            let first = try #require(ending.errors.split(separator: "\n").first)
            #expect(first == (words.hasPrefix("before") ? "nothing in \(folder) \(words)" : words), "\(first)")
        }
    }

    @Test func `what serve keeps of the files goes with an erasure, and what can't be reached is said`() throws {
        let scratch = try Scratch()
        let manager = FileManager.default
        for folder in ["events", "state", "cache"] {
            try manager.createDirectory(atPath: scratch.path(folder), withIntermediateDirectories: true)
        }
        var writer = LineWriter()
        writer.started(1)
        writer.stay("staff", 10, 60, minor: 7)
        _ = try scratch.write(
            "events/events-000000000001-20261121T000000Z.jsonl", writer.lines.map { $0 + "\n" }.joined())
        let configuration = try scratch.write(
            "gateway.yaml",
            """
            conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]
            output: {directory: \(scratch.path("events")), state_directory: \(scratch.path("state"))}
            serve: {cache_directory: \(scratch.path("cache"))}

            """)
        func erase(_ more: String...) throws -> String {
            let ending = try Gateway.run(["erase", "1/7", "--config", configuration] + more)
            #expect(ending.status == 0, "\(ending.errors)")
            return ending.errors
        }
        let kept = try scratch.write("cache/fold", "who was here")
        #expect(try !erase("--dry-run").contains("what serve keeps"))
        #expect(manager.fileExists(atPath: kept), "a dry run touches nothing")
        #expect(try !erase().contains("what serve keeps"))
        #expect(!manager.fileExists(atPath: kept))
        // Where nothing is kept there is nothing to say.
        try manager.removeItem(atPath: scratch.path("cache"))
        #expect(try !erase().contains("what serve keeps"))
        // What can't be deleted, whatever it is.
        try manager.createDirectory(atPath: kept, withIntermediateDirectories: true)
        #expect(try erase().contains("not reached: what serve keeps in \(scratch.path("cache")), until it runs next"))
    }
}
