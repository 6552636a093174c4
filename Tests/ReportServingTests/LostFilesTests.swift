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
    private static func world() throws -> ServedWorld {
        let world = try ServedWorld {
            $0.started(1)
            $0.adapter("listening", 2)
            $0.event("staff", "satisfied", 10, minor: 7, seen: 10)
        }
        let folder = world.scratch.path("a/events")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try move(world.scratch.path(name), folder + "/" + name)
        world.directory = folder
        try world.start()
        return world
    }

    private static func move(_ from: String, _ to: String) throws {
        try FileManager.default.moveItem(atPath: from, toPath: to)
    }

    private static func checkUnreadable(_ world: ServedWorld, _ words: String, _ paths: [String]) async throws {
        for path in paths {
            let answer = try await world.ask(path)
            #expect(answer.head.hasPrefix("HTTP/1.1 503 "), "\(path): \(answer.head)")
            guard path.hasPrefix("/api/") else { continue }
            #expect(answer.body == "{\"error\":\"\(words)\",\"hint\":\"\(hint)\"}\n", "\(path)")
        }
    }

    @Test(arguments: ["a/events", "a"])
    func `a folder that disappears is reported, and read again when it returns`(_ gone: String) async throws {
        let world = try Self.world()
        var reported: [String?] = []
        world.served.failureChanged = { reported.append($0?.description) }
        #expect(try await PresentTests.present(world).count == 1)
        let (from, to) = (world.scratch.path(gone), world.scratch.path("away"))
        try Self.move(from, to)
        #expect(try await world.ask("/api/v1/present").head.hasPrefix("HTTP/1.1 503 "))
        try await world.turn(until: "the change is noticed") { world.served.following.failure != nil }
        let words = "\(world.directory) can't be read: No such file or directory"
        try await Self.checkUnreadable(world, words, Self.paths)
        try Self.move(to, from)
        #expect(try await PresentTests.present(world).count == 1)
        #expect(reported == [words, nil])
    }

    @Test func `open pages are notified when the folder disappears and returns, and line streams end`() async throws {
        let world = try Self.world()
        #expect(try await PresentTests.present(world).count == 1)
        let (changes, events) = (try world.open("/api/v1/changes"), try world.open("/api/v1/events"))
        try await world.turn(until: "both streams are open") {
            changes.hasRead("retry: 2000") && events.hasRead("retry: 2000")
        }
        try Self.move(world.directory, world.scratch.path("away"))
        try await world.turn(until: "pages load again") { changes.hasRead("data: {\"sequence\":0}") }
        try Self.move(world.scratch.path("away"), world.directory)
        try await world.turn(until: "pages load again once more") {
            changes.hasRead("data: {\"sequence\":\(world.writer.sequence)}")
        }
        try await world.turn(until: "the other stream is closed") {
            events.read()
            return events.isClosed
        }
        #expect(!events.text.contains("data:") && !events.isAtEndOfChunks)
    }

    @Test func `a renamed parent folder is noticed while a client is connected`() async throws {
        let world = try Self.world()
        #expect(try await PresentTests.present(world).count == 1)
        let changes = try world.open("/api/v1/changes")
        try await world.turn(until: "the stream is open") { changes.hasRead("retry: 2000") }
        try Self.move(world.scratch.path("a"), world.scratch.path("away"))
        try await world.turn(until: "pages load again") { changes.hasRead("data: {\"sequence\":0}") }
    }

    @Test func `a page of lines ends without its last chunk if the folder disappears meanwhile`() async throws {
        let world = try Self.world()
        for number in 0..<2000 { world.writer.event("staff", "satisfied", 20 + Double(number), minor: 7, seen: 10) }
        let file = world.directory + "/" + Self.name
        try Data(world.writer.lines.map { $0 + "\n" }.joined().utf8).write(to: URL(fileURLWithPath: file))
        #expect(try await PresentTests.present(world).count == 1)
        let page = try world.open("/api/v1/events?limit=10000")
        try await world.turn(until: "the stream starts") { page.hasInput }
        try Self.move(world.scratch.path("a"), world.scratch.path("away"))
        _ = try await world.ask("/")
        try await world.turn(until: "the stream ends") {
            page.read()
            return page.isClosed
        }
        #expect(page.text.hasPrefix("HTTP/1.1 200 ") && !page.isAtEndOfChunks)
    }

    @Test func `another folder in the place of the removed one is read`() async throws {
        let world = try Self.world()
        #expect(try await PresentTests.present(world).count == 1)
        let file = world.directory + "/" + Self.name
        try Self.move(world.scratch.path("a"), world.scratch.path("away"))
        try FileManager.default.createDirectory(atPath: world.directory, withIntermediateDirectories: true)
        let lines = try String(contentsOfFile: world.scratch.path("away/events/" + Self.name), encoding: .utf8)
        try Data(
            lines.split(separator: "\n", omittingEmptySubsequences: false)[..<1].joined(separator: "\n").appending("\n")
                .utf8
        )
        .write(to: URL(fileURLWithPath: file))
        _ = try await world.ask("/")
        try await world.turn(until: "the file is read") {
            world.served.following.isCurrent && world.served.following.state.counts.sequence == 1
        }
        let page = try world.open("/api/v1/events?limit=9")
        try await world.turn(until: "the request is answered") {
            page.read()
            return page.isAtEndOfChunks
        }
        #expect(page.text.hasPrefix("HTTP/1.1 200 ") && page.text.contains("\"type\":\"gateway\""))
        #expect(!page.text.contains("\"type\":\"event\""))
    }

    @Test func `after the only file was deleted, present is 503 because there are no lines`() async throws {
        let world = try Self.world()
        #expect(try await PresentTests.present(world).count == 1)
        try FileManager.default.removeItem(atPath: world.directory + "/" + Self.name)
        try await world.turn(until: "the change is noticed") { world.served.following.state.counts.sequence == 0 }
        let answer = try await world.ask("/api/v1/present")
        #expect(answer.head.hasPrefix("HTTP/1.1 503 "))
        #expect(answer.body.hasPrefix("{\"error\":\"\(world.directory) contains no lines yet\",\"hint\":"))
    }

    @Test(arguments: ["a FIFO", "a folder", "a link"])
    func `if a read file becomes a FIFO, a folder or a broken link, answers are 503`(_ kind: String) async throws {
        let world = try Self.world()
        #expect(try await PresentTests.present(world).count == 1)
        let file = world.directory + "/" + Self.name
        try FileManager.default.removeItem(atPath: file)
        let words = try Self.put(kind, at: file)
        // The kernel reports the change a moment later.
        try await world.turn(until: "the change is noticed") { world.served.following.failure != nil }
        try await Self.checkUnreadable(world, words, ["/api/v1/events?limit=3", "/api/v1/present"])
    }

    @Test(arguments: ["a FIFO", "a folder", "a link"])
    func `if a closed file becomes a FIFO, folder or link, only a page of lines is 503`(_ kind: String) async throws {
        let world = try Self.world()
        let later = world.directory + "/events-000000000004-20261121T010000Z.jsonl"
        world.writer.event("staff", "unsatisfied", 40, minor: 7, seen: 10)
        try Data((world.writer.lines.last! + "\n").utf8).write(to: URL(fileURLWithPath: later))
        #expect(try await PresentTests.present(world).isEmpty)
        let file = world.directory + "/" + Self.name
        try FileManager.default.removeItem(atPath: file)
        let words = try Self.put(kind, at: file)
        try await Self.checkUnreadable(world, words, ["/api/v1/events?limit=3"])
        #expect(try await PresentTests.present(world).isEmpty)
    }

    @Test(arguments: ["a FIFO", "a folder", "a link"])
    func `a FIFO, a folder or a broken link at the start makes all answers 503`(_ kind: String) async throws {
        let world = try Self.world()
        let words = try Self.put(kind, at: world.directory + "/events-000000000009-20261122T000000Z.jsonl")
        try world.start()
        try await world.turn(until: "the change is noticed") { world.served.following.failure != nil }
        try await Self.checkUnreadable(world, words, Self.paths)
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
