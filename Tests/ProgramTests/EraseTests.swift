import Foundation
import Glibc
import ProgramSupport
import Testing

/// Effects of `erase` other than those on lines and state.
@Suite struct EraseTests {
    @Test(arguments: [
        (
            "2026-11-20",
            "before 2026-11-20 00:00:00 UTC contains this beacon: the first line is of 2026-11-21 00:00:01 UTC"
        ),
        ("2026-11-21T00:01", "before 2026-11-21 00:01:00 UTC contains this beacon"),
        (
            "2026-11-21T00:01:41",
            "1 line of this beacon was erased, 0 other lines were cleared of its identity, in 1 rewritten file"
        ),
    ])
    func `with --before, erase reports if no earlier line contains the beacon`(date: String, words: String) throws {
        let scratch = try Scratch()
        var writer = LineWriter()
        writer.started(1)
        writer.completeVisit("staff", 100, 400, minor: 7)
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
            #expect(first == (words.hasPrefix("before") ? "no line in \(folder) \(words)" : words), "\(first)")
        }
    }

    @Test func `erase deletes the cache of serve, and reports the data that it cannot erase`() throws {
        let scratch = try Scratch()
        let manager = FileManager.default
        for folder in ["events", "state", "cache"] {
            try manager.createDirectory(atPath: scratch.path(folder), withIntermediateDirectories: true)
        }
        var writer = LineWriter()
        writer.started(1)
        writer.completeVisit("staff", 10, 60, minor: 7)
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
            let others = ending.errors.split(separator: "\n").filter { $0.hasPrefix("not erased: ") }
            #expect(
                others.prefix(3) == [
                    "not erased: copies and backups of the folder, and the log of a site that collected its lines",
                    "not erased: the system log; its messages can name beacons until they are deleted",
                    "not erased: captures of beacon-gateway record, and reports in files; delete them",
                ])
            return ending.errors
        }
        let kept = try scratch.write("cache/fold", "who was here")
        let half = try scratch.write("cache/.fold.new", "who was")
        #expect(try !erase("--dry-run").contains("not erased: the cache of serve"))
        #expect(manager.fileExists(atPath: kept), "a dry run deletes nothing")
        #expect(try !erase().contains("not erased: the cache of serve"))
        #expect(!manager.fileExists(atPath: kept) && !manager.fileExists(atPath: half))
        // If there is no cache, nothing is reported.
        try manager.removeItem(atPath: scratch.path("cache"))
        #expect(try !erase().contains("not erased: the cache of serve"))
        // A cache that cannot be deleted, because it is a folder.
        try manager.createDirectory(atPath: kept, withIntermediateDirectories: true)
        _ = try scratch.write("cache/.fold.new", "who was")
        defer { #expect(!manager.fileExists(atPath: half), "the file that can be deleted must be deleted") }
        #expect(
            try erase().contains("not erased: the cache of serve in \(scratch.path("cache")), until serve runs again"))
    }

    private static let segment = "events-000000000001-20261121T000000Z.jsonl"

    /// Writes event files that name a beacon, and a configuration with a state directory and a cache. Returns the
    /// configuration and the folder of event files.
    private func gateway(_ scratch: Scratch) throws -> (configuration: String, folder: String) {
        let manager = FileManager.default
        for folder in ["events", "state", "cache"] {
            try manager.createDirectory(atPath: scratch.path(folder), withIntermediateDirectories: true)
        }
        var writer = LineWriter()
        writer.started(1)
        writer.completeVisit("staff", 10, 60, minor: 7)
        _ = try scratch.write("events/\(Self.segment)", writer.lines.map { $0 + "\n" }.joined())
        let configuration = try scratch.write(
            "gateway.yaml",
            """
            conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]
            output: {directory: \(scratch.path("events")), state_directory: \(scratch.path("state"))}
            serve: {cache_directory: \(scratch.path("cache"))}

            """)
        return (configuration, scratch.path("events"))
    }

    @Test(
        arguments: [
            "events/\(segment)", "state/state.json", "state/state.json.damaged", "state/.state.json.new",
            "state/mqtt-state.json", "state/.mqtt-state.json.new", "state/mqtt-forget.json", "state/.erase.json.new",
            "cache/fold", "cache/.fold.new",
        ], ["kept", "missing"])
    func `if a file is a symbolic link, erase fails with 65, names it and changes nothing`(name: String, target: String)
        throws
    {
        let scratch = try Scratch()
        let (configuration, folder) = try gateway(scratch)
        let manager = FileManager.default
        let file = scratch.path(name)
        let kept = scratch.path(target)
        if target == "kept" {
            if !manager.fileExists(atPath: file) { _ = try scratch.write(name, "{}") }
            try manager.moveItem(atPath: file, toPath: kept)
        } else if manager.fileExists(atPath: file) {
            try manager.removeItem(atPath: file)
        }
        try manager.createSymbolicLink(atPath: file, withDestinationPath: kept)
        let before = try? contents(of: kept)
        if name.hasPrefix("events"), target == "kept" {
            #expect(try Gateway.run("visits", "--json", folder).text.contains("\"minor\":7"), "readers follow the link")
        }
        var commands = [["1/7", "--config", configuration]]
        if name.hasPrefix("events") { commands.append(["\(LineWriter.uuid)/1/7", folder]) }
        // `erase` must not read the target of a link.
        for command in commands {
            for more in [["--dry-run"], []] {
                let ending = try Gateway.run(["erase"] + command + more)
                #expect(ending.status == 65)
                #expect(
                    ending.errors.hasPrefix("\(file) is a symbolic link to \(kept), and erase does not follow links."),
                    "\(ending.errors)")
                #expect((try? contents(of: kept)) == before)
                #expect(try manager.destinationOfSymbolicLink(atPath: file) == kept)
            }
        }
    }

    @Test(arguments: [mode_t(S_IFIFO), mode_t(S_IFDIR)])
    func `if an event file cannot be read, erase fails with 66 before it changes anything`(kind: mode_t) throws {
        let scratch = try Scratch()
        let (configuration, folder) = try gateway(scratch)
        let kept = try scratch.write(
            "state/state.json.damaged", #"{"uuid":"\#(LineWriter.uuid)","major":1,"minor":7}"#)
        let other = "\(folder)/events-000000000099-20261121T000000Z.jsonl"
        try #require((kind == S_IFIFO ? mkfifo(other, 0o640) : mkdir(other, 0o750)) == 0)
        for more in [["--dry-run"], []] {
            let ending = try Gateway.run(["erase", "1/7", "--config", configuration] + more)
            #expect(ending.status == 66 && ending.errors.hasPrefix(other), "\(ending.errors)")
        }
        #expect(FileManager.default.fileExists(atPath: kept))
    }

    @Test func `erase with a folder reports that the state of a gateway is not erased`() throws {
        let scratch = try Scratch()
        let (_, folder) = try gateway(scratch)
        let ending = try Gateway.run("erase", "1/7", folder)
        #expect(ending.status == 0)
        #expect(ending.errors.contains("not erased: the state of a gateway that writes to this folder"))
    }

    /// Returns the mode, user and group of a file.
    private func ownership(_ path: String) throws -> [UInt32] {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return [status.st_mode & 0o7777, status.st_uid, status.st_gid]
    }

    // Only root can give a file to another user.
    @Test(arguments: geteuid() == 0 ? [(0, 0), (0, 1), (1, 1), (1, 2)] : [(0, 0)], [0o600, 0o644, 0o440])
    func `erase keeps the mode, user and group of a file`(owners: (UInt32, UInt32), mode: mode_t) throws {
        // Another user must be able to reach the folder.
        let scratch = try Scratch(in: URL(fileURLWithPath: "/tmp"))
        let (configuration, folder) = try gateway(scratch)
        let file = "\(folder)/\(Self.segment)"
        try #require(chmod(file, mode) == 0 && chmod(scratch.url.path, 0o755) == 0)
        if geteuid() == 0 {
            let (directory, owner) = (owners.0 * 64_000, owners.1 * 64_000)
            for path in [folder, scratch.path("state")] { try #require(chown(path, directory, directory) == 0) }
            try #require(chown(file, owner, owner + 5) == 0)
            // If erase acts as another user, it must be allowed to read the file.
            if directory != 0, owner != directory, mode != 0o644 { try #require(chmod(file, 0o604) == 0) }
        }
        let before = try ownership(file)
        let ending = try Gateway.run("erase", "1/7", "--config", configuration)
        #expect(ending.status == 0, "\(ending.errors)")
        #expect(ending.errors.contains("in 1 rewritten file"))
        #expect(try ownership(file) == before)
        #expect(try !String(decoding: contents(of: file), as: UTF8.self).contains("\"minor\":7"))
    }
}
