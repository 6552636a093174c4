import CommandSupport
import Foundation
import Glibc
import ProgramSupport
import TestSupport
import Testing

@testable import GatewayCommands

/// `beacon-gateway run --demo`, as a newcomer uses it.
@Suite struct DemoTests {
    let scratch: Scratch
    // A short path, because that of the status socket has at most 107 bytes.
    init() throws { scratch = try Scratch(in: URL(filePath: "/tmp")) }

    private func run(_ arguments: String..., in folder: String? = nil) throws -> Ending {
        try ProgramSupport.run("/usr/bin/env", ["-C", folder ?? scratch.path(""), Gateway.path] + arguments)
    }

    private func start(in folder: String? = nil) throws -> (process: SpawnedProcess, log: LineReader) {
        let process = try SpawnedProcess(
            "/usr/bin/env", ["-C", folder ?? scratch.path(""), Gateway.path, "run", "--demo"],
            environment: ProcessInfo.processInfo.environment.merging(
                ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(scratch.path("no-bus"))"]
            ) { $1 }, errors: .pipe)
        return (process, LineReader(try #require(process.errors)))
    }

    /// Returns the answer of `visits --now` that has a word. The gateway writes the sighting soon.
    private func present(with word: String) throws -> String {
        var text = ""
        for _ in 0..<300 {
            text = try run("visits", "--now", "--config", "beacon-gateway-demo/gateway.yaml").text
            if text.contains(word) { break }
            usleep(100_000)
        }
        return text
    }

    @Test func `it starts in an empty folder without rights, and shows who is present under the printed commands`()
        throws
    {
        let (process, log) = try start()
        try log.line(with: "Simulated badges instead of a radio.")
        try log.line(with: "visits --now --config beacon-gateway-demo/gateway.yaml")
        try log.line(with: "serve --config beacon-gateway-demo/gateway.yaml")
        try log.line(with: "hci1 is listening: first record")
        let text = try present(with: "Grace Hopper")
        #expect(text.contains("Ada Lovelace") && text.contains("present"), "\(text)")
        let files = try FileManager.default.contentsOfDirectory(atPath: scratch.path("beacon-gateway-demo"))
        #expect(Set(files) == ["day.jsonl", "events", "gateway.yaml", "names.csv", "state", "status.sock"])
        let attributes = try FileManager.default.attributesOfItem(atPath: scratch.path("beacon-gateway-demo"))
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        let second = try run("run", "--demo")
        #expect(second.status == 69 && second.errors.contains("beacon-gateway run"), "\(second.errors)")
        #expect(process.end() == 0)
        let check = try run("check", "beacon-gateway-demo/gateway.yaml")
        #expect(check.status == 0 && check.text.contains("warnings: 0"), "\(check.text)")
    }

    @Test func `files that the user changed are kept`() throws {
        let (process, log) = try start()
        try log.line(with: "hci1 is listening")
        #expect(process.end() == 0)
        let names = try String(contentsOfFile: scratch.path("beacon-gateway-demo/names.csv"), encoding: .utf8)
        _ = try scratch.write("beacon-gateway-demo/names.csv", names.replacing("Ada Lovelace", with: "Ada King"))
        let (again, newLog) = try start()
        try newLog.line(with: "hci1 is listening")
        let text = try present(with: "Ada King")
        #expect(text.contains("Ada King") && !text.contains("Ada Lovelace"), "\(text)")
        #expect(again.end() == 0)
    }

    @Test func `in its day, each badge has the planned visits, and no badge exits because an adapter fails`() throws {
        let (process, log) = try start()
        try log.line(with: "hci1 is listening")
        #expect(process.end() == 0)
        let folder = scratch.path("beacon-gateway-demo")
        let replayed = try Gateway.replay(["--settle", "--config", folder + "/gateway.yaml", folder + "/day.jsonl"])
        let events = try payloads(replayed.lines, type: "event").filter { $0["scope"] as? String == "beacon" }
        let times = try events.map { try microseconds(of: try #require($0["date"] as? String)) }
        let first = try #require(times.min())
        var changes: [String: [Int]] = [:]
        for (event, time) in zip(events, times) {
            let beacon = try #require(event["refinement"] as? [String: Any])
            let key = "\(beacon["major"] as? Int ?? -1)/\(beacon["minor"] as? Int ?? -1)"
            changes[key, default: []].append(Int((time - first) / 1_000_000))
        }
        // The seconds of arrivals and exits. An exit is 20 s after the last advertisement. 2/3 leaves 10 s before hci1
        // fails for 45 s, so its exit is only known 45 s later.
        #expect(
            changes == [
                "1/1": [0, 538], "1/2": [1, 269, 311, 579], "1/3": [4, 588], "1/4": [17, 199, 261, 579],
                "1/5": [44, 418], "2/1": [11, 59, 421, 519], "2/2": [90, 448], "2/3": [201, 354, 481, 559],
                "2/99": [150, 258],
            ], "\(changes)")
        let page = try String(
            contentsOf: Fixtures.tests.deletingLastPathComponent().appending(path: "docs/replay.md"), encoding: .utf8)
        let example = try #require(page.components(separatedBy: "beacon-gateway-demo/day.jsonl\n").last)
        let shown = try #require(example.components(separatedBy: "\n```").first).split(separator: "\n").map(String.init)
        let terminal = try Gateway.run(
            columns: 80, "replay", "--config", folder + "/gateway.yaml", folder + "/day.jsonl"
        ).lines
        #expect(shown.count > 8 && shown.allSatisfy { $0 == "…" || terminal.contains($0) }, "\(terminal)")
        let adapters = try payloads(replayed.lines, type: "adapter").filter { $0["adapter"] as? String == "hci1" }
        #expect(adapters.compactMap { $0["state"] as? String } == ["listening", "off", "listening"], "\(adapters)")
    }

    @Test func `a folder that other users can use, or with a path that no socket can have, is refused`() throws {
        func refusal(_ name: String) throws -> String {
            let ending = try run("run", "--demo", in: scratch.path(name))
            #expect(ending.status == 73 && ending.output.isEmpty)
            return ending.errors
        }
        let manager = FileManager.default
        for name in ["file", "open", "link"] {
            try manager.createDirectory(atPath: scratch.path(name), withIntermediateDirectories: true)
        }
        _ = try scratch.write("file/beacon-gateway-demo", "")
        let other = "is not a folder that only this user can use; delete it, or change to another folder"
        #expect(try refusal("file").contains(other))
        try manager.createDirectory(atPath: scratch.path("open/beacon-gateway-demo"), withIntermediateDirectories: true)
        try #require(chmod(scratch.path("open/beacon-gateway-demo"), 0o750) == 0)
        #expect(try refusal("open").contains(other))
        try manager.createSymbolicLink(
            atPath: scratch.path("link/beacon-gateway-demo"), withDestinationPath: scratch.path("open"))
        #expect(try refusal("link").contains(other))
        for name in ["long" + String(repeating: "x", count: 107), "two\nlines"] {
            try manager.createDirectory(atPath: scratch.path(name), withIntermediateDirectories: true)
            #expect(try refusal(name).contains("it must have at most 107, in UTF-8 without control characters"))
            #expect(try manager.contentsOfDirectory(atPath: scratch.path(name)).isEmpty)
        }
        let quoted = scratch.path(#"a "b' c: #é\"#)
        try manager.createDirectory(atPath: quoted, withIntermediateDirectories: true)
        let (process, log) = try start(in: quoted)
        try log.line(with: "hci1 is listening")
        #expect(process.end() == 0)
    }

    @Test(arguments: [["--from", "x.jsonl"], ["--config", "x.yaml"], ["--fields", "a=b"]])
    func `a configuration or a capture of the user is refused`(_ arguments: [String]) throws {
        let ending = try run("run", "--demo", arguments[0], arguments[1])
        #expect(
            ending.status == 64 && ending.errors.contains("omit --config, --from, --fields and"), "\(ending.errors)")
    }
}
