import Foundation
import Glibc
import ProgramSupport
import SystemPackage
import TestSupport
import Testing

/// `beacon-gateway run --from`, as an operator uses it.
@Suite struct CaptureRunTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private func configuration(_ settings: String = "monitor: {exit_timeout: 1s, deaf_after: 500ms}") throws -> String {
        try scratch.write(
            "g.yaml",
            """
            gateway: {name: lobby}
            \(settings)
            output:
              directory: \(scratch.path("events"))
              state_directory: \(scratch.path("state"))
              status_socket: \(scratch.path("status.sock"))
            conditions:
            - {identifier: staff, uuid: \(Log.uuid), per_beacon: true, assuming: unsatisfied}

            """)
    }

    /// Starts a gateway without Bluetooth and without a bus.
    private func start(
        _ from: String, _ more: String..., input: SpawnedProcess.Stream = .null, output: SpawnedProcess.Stream = .null
    ) throws -> (process: SpawnedProcess, log: LineReader) {
        let process = try SpawnedProcess(
            Gateway.path, ["run", "--config", try configuration(), "--from", from] + more,
            environment: ProcessInfo.processInfo.environment.merging(
                ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(scratch.path("no-bus"))"]
            ) { $1 }, input: input, output: output, errors: .pipe)
        return (process, LineReader(try #require(process.errors)))
    }

    /// Capabilities belong to threads, so those that read the FIFO and write to the terminal must have none either
    /// (proc(5)).
    private func expectNoCapabilities(_ process: SpawnedProcess, threads count: Int) throws {
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.identifier)/task")
        #expect(threads.count == count, "\(threads)")
        for thread in threads {
            let path = "/proc/\(process.identifier)/task/\(thread)/status"
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.contains("CapEff:\t0000000000000000\n") && text.contains("CapPrm:\t0000000000000000\n"))
        }
    }

    private func lines() throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path("events"))
        return try names.filter { $0.hasPrefix("events-") }.sorted().flatMap {
            String(decoding: try contents(of: scratch.path("events/\($0)")), as: UTF8.self).split(separator: "\n")
                .map(String.init)
            // Lines that are not published, such as evidence, have no envelope.
        }.filter { $0.contains(#""payload":"#) }
    }

    /// The changes in lines, with their times after the first one in microseconds.
    private func changes(_ lines: [String]) throws -> [String] {
        let found = try payloads(lines, type: "event") + payloads(lines, type: "adapter")
        let times = try found.map { try microseconds(of: try #require($0["date"] as? String)) }
        let first = try #require(times.min())
        return zip(times, found).map { time, payload in
            let minor = (payload["refinement"] as? [String: Any])?["minor"] as? Int
            let name = payload["identifier"] as? String ?? payload["adapter"] as? String ?? ""
            let state = payload["state"] as? String ?? ""
            return "\(time - first) \(name)\(minor.map { "/\($0)" } ?? "") \(state)"
        }.sorted()
    }

    @Test func `L4: a file gives the events of a replay, at the same distances to the microsecond`() throws {
        let path = try scratch.log(
            "a.jsonl",
            [
                Log.sighting("1000"), Log.sighting("1000.1", adapter: "hci1", minor: 2), Log.report("1000.4"),
                Log.report("1000.8"), Log.report("1001.2"), Log.sighting("1002.000001", minor: 3),
                Log.listening(false, "1002.1", adapter: "hci1"), Log.sighting("1002.3"), Log.report("1002.7"),
            ])
        let (process, log) = try start(path)
        try log.line(with: "hci0 is off: \(path) has ended")
        #expect(process.end() == 0)
        let replayed = try Gateway.replay(["--config", scratch.path("g.yaml"), path])
        let expected = try changes(replayed.lines)
        let live = try changes(try lines())
        // In a replay, the time stops with the last record.
        let last = live.filter { $0.hasPrefix("2700000 hci0 off") }
        #expect(last.count == 1, "\(live)")
        #expect(difference(live.filter { !last.contains($0) }, expected) == nil, "\(live)\n\(expected)")
        #expect(expected.contains("1000000 staff/1 unsatisfied"), "\(expected)")
        try Schema.expectValid(Array(try lines().map { $0 + "\n" }.joined().utf8))
    }

    @Test func `on a terminal, each event is a short line with the names that the configuration has then`() throws {
        let fifo = scratch.path("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        let terminal = try PseudoTerminal(columns: 200, rows: 24)
        let (process, log) = try start(fifo, output: .file(terminal.path))
        let shown = LineReader(FileHandle(fileDescriptor: terminal.master.rawValue))
        try log.line(with: "scanning with capture")
        let writer = try #require(FileHandle(forWritingAtPath: fifo))
        try writer.write(contentsOf: Data((Log.sighting("5") + "\n").utf8))
        #expect(try shown.next()?.contains("-") == true)
        try shown.line(with: "staff is present  1/1, −60 dBm")
        try shown.line(with: "1/1 arrived (staff)  −60 dBm")
        try expectNoCapabilities(process, threads: 3)
        _ = try configuration(
            """
            monitor: {exit_timeout: 1s, deaf_after: 500ms}
            beacons: [{name: Ada, uuid: \(Log.uuid), major: 1, minor: 1}, {name: Bo, uuid: \(Log.uuid), major: 1, minor: 2}]
            """)
        process.signal(SIGHUP)
        try log.line(with: "beacons")
        try writer.write(contentsOf: Data((Log.sighting("6", minor: 2) + "\n").utf8))
        try shown.line(with: "Bo arrived (staff)  −60 dBm")
        #expect(process.end() == 0)
        try writer.close()
        #expect(shown.lines.count(where: { $0.contains("arrived") }) == 2, "\(shown.lines)")
    }

    @Test func `without a terminal, standard output stays empty`() throws {
        let path = try scratch.log("a.jsonl", [Log.sighting("1000"), Log.report("1000.2")])
        let output = scratch.path("output")
        let (process, log) = try start(path, output: .file(output))
        try log.line(with: "hci0 is off: \(path) has ended")
        #expect(process.end() == 0)
        #expect(try payloads(try lines(), type: "event").count == 2)
        #expect(try contents(of: output).isEmpty)
    }

    @Test func `the status has the adapters of another program with their own names`() throws {
        let fifo = scratch.path("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        let (process, log) = try start(fifo, "--fields", "adapter=radio")
        try log.line(with: "scanning with capture: set on the command line")
        let status = try Gateway.run("status", "--config", scratch.path("g.yaml"))
        #expect(
            status.status == 0 && status.text.hasPrefix("lobby: no adapter of the capture scans;"), "\(status.text)")
        let writer = try #require(FileHandle(forWritingAtPath: fifo))
        let line = Log.sighting("5", adapter: "kitchen").replacingOccurrences(of: "adapter", with: "radio")
        try writer.write(contentsOf: Data((line + "\n").utf8))
        try log.line(with: "kitchen is listening: first record")
        // The settings of scanners have no effect, so the FIFO is not opened again.
        _ = try configuration("scanner: {adapters: [hci7]}\nmonitor: {exit_timeout: 1s, deaf_after: 500ms}")
        process.signal(SIGHUP)
        try log.line(with: "scanner changed in the file; the gateway reads \(fifo)")
        try Schema.expectValid(
            Gateway.run("status", "--json", "--config", scratch.path("g.yaml")).output, "--kind", "status")
        var object: [String: Any] = [:]
        for _ in 0..<300 {
            object = try ProgramSupport.object(
                try StatusCall.answer(at: scratch.path("status.sock")).prefix { $0 != "\n" })
            if (object["counters"] as? [String: Any])?["sightings"] as? Int == 1 { break }
        }
        let adapter = try #require((object["adapters"] as? [[String: Any]])?.first)
        #expect(adapter["name"] as? String == "kitchen" && adapter["controller"] as? String == fifo, "\(object)")
        #expect((object["scanner"] as? [String: Any])?["backend"] as? String == "capture")
        #expect((object["capabilities"] as? [Any])?.isEmpty == true)
        try expectNoCapabilities(process, threads: 2)
        // A read of the FIFO waits at this time.
        #expect(process.end() == 0)
        try writer.close()
        #expect(log.lines.allSatisfy { !$0.contains("hci") && !$0.contains("has delivered no report") })
    }

    @Test(arguments: ["-", "/dev/stdin"])
    func `standard input can be the capture; after its end the gateway continues without an adapter`(path: String)
        throws
    {
        let (process, log) = try start(path, input: .pipe)
        try process.input?.write(contentsOf: Data((Log.sighting("5") + "\n").utf8))
        try log.line(with: "hci0 is listening: first record")
        try process.input?.close()
        let name = path == "-" ? "standard input" : path
        try log.line(with: "\(name) has ended; the gateway continues without an adapter")
        try log.line(with: "hci0 is off: \(name) has ended")
        #expect(process.isRunning)
        #expect(process.end() == 0)
        let events = try payloads(try lines(), type: "event").compactMap { $0["state"] as? String }
        #expect(events == ["satisfied", "satisfied"])
    }

    @Test func `options that do not fit, and inputs that cannot be read, end the start with their exit codes`() throws {
        let file = try configuration()
        func status(_ arguments: String...) throws -> (Int32, String) {
            let ending = try Gateway.run(["run", "--config", file] + arguments)
            return (ending.status, ending.errors)
        }
        let (usage, text) = try status("--fields", "adapter=radio")
        #expect(usage == 64 && text.contains("--fields and --zone are for the capture of --from"))
        #expect(try status("--from", scratch.path("none")).0 == 66)
        #expect(try status("--from", "-").0 == 65)
        #expect(try status("--from", scratch.path("g.yaml")).0 == 65)
        #expect(try status("--from", "-", "--fields", "nonsense=1").0 == 64)
        #expect(!FileManager.default.fileExists(atPath: scratch.path("events")))
    }
}
