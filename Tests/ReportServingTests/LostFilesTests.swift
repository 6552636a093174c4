import EventLog
import Foundation
import Testing

@testable import ReportServing

/// Event files that cannot be read or do not exist any more: old data must not be sent as the current state.
@Suite struct LostFilesTests {
    private static let name = "events-000000000001-20261121T000000Z.jsonl"
    private static let paths = [
        "/", "/gateways", "/metrics", "/api/v1/present", "/api/v1/gateways", "/api/v1/events", "/api/v1/events?limit=3",
        "/api/v1/changes",
    ]
    private static let hint =
        "check that the folder exists and that the server can read it; the server then continues automatically"

    /// Returns the server of the folder `a/events`, whose lines have one present beacon.
    private static func fixture() throws -> ServedFixture {
        let fixture = try ServedFixture {
            $0.started(1)
            $0.adapter("listening", 2)
            $0.event("staff", "satisfied", 10, minor: 7, seen: 10)
        }
        let folder = fixture.scratch.path("a/events")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try move(fixture.scratch.path(name), folder + "/" + name)
        fixture.directory = folder
        try fixture.start()
        return fixture
    }

    private static func move(_ from: String, _ to: String) throws {
        try FileManager.default.moveItem(atPath: from, toPath: to)
    }

    private static func checkUnreadable(_ fixture: ServedFixture, _ words: String, _ paths: [String]) async throws {
        for path in paths {
            let answer = try await fixture.ask(path)
            #expect(answer.head.hasPrefix("HTTP/1.1 503 "), "\(path): \(answer.head)")
            guard path.hasPrefix("/api/") else { continue }
            #expect(answer.body == "{\"error\":\"\(words)\",\"hint\":\"\(hint)\"}\n", "\(path)")
        }
    }

    @Test(arguments: ["a/events", "a"])
    func `a folder that disappears is reported, and read again when it returns`(_ gone: String) async throws {
        let fixture = try Self.fixture()
        var reported: [String?] = []
        fixture.served.failureChanged = { reported.append($0?.description) }
        #expect(try await PresentTests.present(fixture).count == 1)
        let (from, to) = (fixture.scratch.path(gone), fixture.scratch.path("away"))
        try Self.move(from, to)
        #expect(try await fixture.ask("/api/v1/present").head.hasPrefix("HTTP/1.1 503 "))
        try await fixture.turn(until: "the change is noticed") { fixture.served.following.failure != nil }
        let words = "\(fixture.directory) can't be read: No such file or directory"
        try await Self.checkUnreadable(fixture, words, Self.paths)
        try Self.move(to, from)
        #expect(try await PresentTests.present(fixture).count == 1)
        #expect(reported == [words, nil])
    }

    @Test func `open pages are notified when the folder disappears and returns, and line streams end`() async throws {
        let fixture = try Self.fixture()
        #expect(try await PresentTests.present(fixture).count == 1)
        let (changes, events) = (try fixture.open("/api/v1/changes"), try fixture.open("/api/v1/events"))
        try await fixture.turn(until: "both streams are open") {
            changes.hasRead("retry: 2000") && events.hasRead("retry: 2000")
        }
        try Self.move(fixture.directory, fixture.scratch.path("away"))
        try await fixture.turn(until: "pages load again") { changes.hasRead("data: {\"sequence\":0}") }
        try Self.move(fixture.scratch.path("away"), fixture.directory)
        try await fixture.turn(until: "pages load again once more") {
            changes.hasRead("data: {\"sequence\":\(fixture.writer.sequence)}")
        }
        try await fixture.turn(until: "the other stream is closed") {
            events.read()
            return events.isClosed
        }
        #expect(!events.text.contains("data:") && !events.isAtEndOfChunks)
    }

    @Test func `a renamed parent folder is noticed while a client is connected`() async throws {
        let fixture = try Self.fixture()
        #expect(try await PresentTests.present(fixture).count == 1)
        let changes = try fixture.open("/api/v1/changes")
        try await fixture.turn(until: "the stream is open") { changes.hasRead("retry: 2000") }
        try Self.move(fixture.scratch.path("a"), fixture.scratch.path("away"))
        try await fixture.turn(until: "pages load again") { changes.hasRead("data: {\"sequence\":0}") }
    }

    @Test func `a page of lines ends without its last chunk if the folder disappears meanwhile`() async throws {
        let fixture = try Self.fixture()
        for number in 0..<2000 { fixture.writer.event("staff", "satisfied", 20 + Double(number), minor: 7, seen: 10) }
        let file = fixture.directory + "/" + Self.name
        try Data(fixture.writer.lines.map { $0 + "\n" }.joined().utf8).write(to: URL(fileURLWithPath: file))
        #expect(try await PresentTests.present(fixture).count == 1)
        let page = try fixture.open("/api/v1/events?limit=10000")
        try await fixture.turn(until: "the stream starts") { page.hasInput }
        try Self.move(fixture.scratch.path("a"), fixture.scratch.path("away"))
        _ = try await fixture.ask("/")
        try await fixture.turn(until: "the stream ends") {
            page.read()
            return page.isClosed
        }
        #expect(page.text.hasPrefix("HTTP/1.1 200 ") && !page.isAtEndOfChunks)
    }

    @Test func `another folder in the place of the removed one is read`() async throws {
        let fixture = try Self.fixture()
        #expect(try await PresentTests.present(fixture).count == 1)
        let file = fixture.directory + "/" + Self.name
        try Self.move(fixture.scratch.path("a"), fixture.scratch.path("away"))
        try FileManager.default.createDirectory(atPath: fixture.directory, withIntermediateDirectories: true)
        let lines = try String(contentsOfFile: fixture.scratch.path("away/events/" + Self.name), encoding: .utf8)
        try Data(
            lines.split(separator: "\n", omittingEmptySubsequences: false)[..<1].joined(separator: "\n").appending("\n")
                .utf8
        )
        .write(to: URL(fileURLWithPath: file))
        _ = try await fixture.ask("/")
        try await fixture.turn(until: "the file is read") {
            fixture.served.following.isCurrent && fixture.served.following.state.counts.sequence == 1
        }
        let page = try fixture.open("/api/v1/events?limit=9")
        try await fixture.turn(until: "the request is answered") {
            page.read()
            return page.isAtEndOfChunks
        }
        #expect(page.text.hasPrefix("HTTP/1.1 200 ") && page.text.contains("\"type\":\"gateway\""))
        #expect(!page.text.contains("\"type\":\"event\""))
    }

    @Test func `after the only file was deleted, present is 503 because there are no lines`() async throws {
        let fixture = try Self.fixture()
        #expect(try await PresentTests.present(fixture).count == 1)
        try FileManager.default.removeItem(atPath: fixture.directory + "/" + Self.name)
        try await fixture.turn(until: "the change is noticed") { fixture.served.following.state.counts.sequence == 0 }
        let answer = try await fixture.ask("/api/v1/present")
        #expect(answer.head.hasPrefix("HTTP/1.1 503 "))
        #expect(answer.body.hasPrefix("{\"error\":\"\(fixture.directory) contains no lines yet\",\"hint\":"))
    }

    @Test(arguments: ["a FIFO", "a folder", "a link"])
    func `if a read file becomes a FIFO, a folder or a broken link, answers are 503`(_ kind: String) async throws {
        let fixture = try Self.fixture()
        #expect(try await PresentTests.present(fixture).count == 1)
        let file = fixture.directory + "/" + Self.name
        try FileManager.default.removeItem(atPath: file)
        let words = try Self.put(kind, at: file)
        // The kernel reports the change a moment later.
        try await fixture.turn(until: "the change is noticed") { fixture.served.following.failure != nil }
        try await Self.checkUnreadable(fixture, words, ["/api/v1/events?limit=3", "/api/v1/present"])
    }

    @Test(arguments: ["a FIFO", "a folder", "a link"])
    func `if a closed file becomes a FIFO, folder or link, only a page of lines is 503`(_ kind: String) async throws {
        let fixture = try Self.fixture()
        let later = fixture.directory + "/events-000000000004-20261121T010000Z.jsonl"
        fixture.writer.event("staff", "unsatisfied", 40, minor: 7, seen: 10)
        try Data((fixture.writer.lines.last! + "\n").utf8).write(to: URL(fileURLWithPath: later))
        #expect(try await PresentTests.present(fixture).isEmpty)
        let file = fixture.directory + "/" + Self.name
        try FileManager.default.removeItem(atPath: file)
        let words = try Self.put(kind, at: file)
        try await Self.checkUnreadable(fixture, words, ["/api/v1/events?limit=3"])
        #expect(try await PresentTests.present(fixture).isEmpty)
    }

    @Test(arguments: ["a FIFO", "a folder", "a link"])
    func `a FIFO, a folder or a broken link at the start makes all answers 503`(_ kind: String) async throws {
        let fixture = try Self.fixture()
        let words = try Self.put(kind, at: fixture.directory + "/events-000000000009-20261122T000000Z.jsonl")
        try fixture.start()
        try await fixture.turn(until: "the change is noticed") { fixture.served.following.failure != nil }
        try await Self.checkUnreadable(fixture, words, Self.paths)
    }

    /// Creates a FIFO, a folder or a broken symbolic link.
    ///
    /// - Returns: the error that the server must report.
    private static func put(_ kind: String, at path: String) throws -> String {
        switch kind {
        case "a FIFO":
            try #require(mkfifo(path, 0o600) == 0)
            return "\(path) is a FIFO, a socket or a device; event files must be regular files, so remove it"
        case "a folder":
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            return "\(path) can't be read: Is a directory"
        default:
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/nowhere")
            return "\(path) can't be read: No such file or directory"
        }
    }
}
