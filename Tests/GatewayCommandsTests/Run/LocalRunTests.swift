import Foundation
import Glibc
import ProgramSupport
import Testing

/// `run` on a machine with unusual files, folders and permissions.
@Suite struct LocalRunTests {
    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0o10000
    }

    @Test func `a second gateway with the same folder of event files fails, and the error names the owner`() throws {
        let fixture = try LiveFixture()
        let gateway = try RunningGateway(fixture, configuration: fixture.write("g.yaml", fixture.configuration()))
        try gateway.log.line(with: "hci0 is listening")
        // The state directory, the socket and the monitor's name differ, but the event files are the same.
        let other = fixture.configuration().replacingOccurrences(
            of: fixture.path("state"), with: fixture.path("state-2")
        )
        .replacingOccurrences(of: "status.sock", with: "status-2.sock")
        .replacingOccurrences(of: "name: site", with: "name: yard")
        let second = try Gateway.run("run", "--config", fixture.write("h.yaml", other))
        #expect(second.status == 69)
        #expect(
            second.errors.contains(
                "the folder of event files \(fixture.path("events")) is in use by beacon-gateway run, process"),
            "\(second.errors)")
        fixture.advertise()
        try gateway.until("a sighting was received") {
            (($0["counters"] as? [String: Any])?["sightings"] as? Int ?? 0) > 0
        }
        #expect(gateway.end() == 0)
        // A command that only reads lines must not need the lock.
        let visits = try Gateway.run("visits", fixture.path("events"))
        #expect(visits.status == 0, "\(visits.errors)")
        #expect(visits.errors.isEmpty)
    }

    @Test func `a file at the path of output.status_socket is kept; run fails, and check warns before`() throws {
        let fixture = try LiveFixture()
        let file = try fixture.write("g.yaml", fixture.configuration())
        try Data("precious".utf8).write(to: URL(fileURLWithPath: fixture.path("status.sock")))
        let check = try Gateway.run("check", file)
        #expect(check.status == 0)
        let line =
            try #require(
                fixture.configuration().split(separator: "\n").firstIndex { $0.contains("status_socket") }) + 1
        #expect(
            check.errors.hasPrefix(
                "warning: \(file):\(line):18: output.status_socket is \(fixture.path("status.sock")), which is a file;"),
            "\(check.errors)")
        #expect(check.text.contains("warnings: 1"))
        let ending = try Gateway.run("run", "--config", file)
        #expect(ending.status == 73, "\(ending.errors)")
        #expect(ending.errors.contains("is a file, and is not replaced"), "\(ending.errors)")
        #expect(try contents(of: fixture.path("status.sock")) == Array("precious".utf8))
    }

    @Test(arguments: ["000", "077"])
    func `files have the mode 0640 and folders 0750, whatever the umask`(umask: String) throws {
        let fixture = try LiveFixture()
        let text = fixture.configuration().replacingOccurrences(of: "status.sock", with: "run/status.sock")
        let gateway = try RunningGateway(fixture, configuration: fixture.write("g.yaml", text), umask: umask)
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise()
        try gateway.until("a sighting was received") {
            (($0["counters"] as? [String: Any])?["sightings"] as? Int ?? 0) > 0
        }
        #expect(mode(fixture.path("run/status.sock")) == 0o660)
        #expect(gateway.end() == 0)
        for folder in ["events", "state", "run"] {
            #expect(mode(fixture.path(folder)) == 0o750, "\(folder)")
            for name in try FileManager.default.contentsOfDirectory(atPath: fixture.path(folder))
            where name != "current" {
                #expect(mode(fixture.path("\(folder)/\(name)")) == 0o640, "\(folder)/\(name)")
            }
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.path("state"))
        #expect(Set(names).isSuperset(of: ["state.json", "gateway.lock", "monitor-site.lock"]))
    }

    @Test func `with dbus, no thread keeps a capability`() throws {
        let fixture = try LiveFixture()
        let gateway = try RunningGateway(fixture, configuration: fixture.write("g.yaml", fixture.configuration()))
        try gateway.log.line(with: "hci0 is listening")
        let status = try gateway.status()
        let process = try #require(status["process"] as? Int)
        #expect((status["capabilities"] as? [Any])?.isEmpty == true)
        let text = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            #expect(text.contains("\(set):\t0000000000000000"), "\(text)")
        }
        #expect(text.contains("NoNewPrivs:\t1"))
        #expect(gateway.end() == 0)
    }

    /// A read-only file system, mounted over a folder of the test.
    private final class ReadOnly {
        let path: String
        init?(_ path: String) {
            self.path = path
            guard mount(path, path, nil, UInt(MS_BIND), nil) == 0 else { return nil }
            guard mount(nil, path, nil, UInt(MS_BIND | MS_REMOUNT | MS_RDONLY), nil) == 0 else {
                umount2(path, 2)
                return nil
            }
        }
        deinit { umount2(path, 2) }

        static let isPossible: Bool = {
            let path = FileManager.default.temporaryDirectory.path + "/bgr-\(UUID().uuidString.prefix(8))"
            mkdir(path, 0o700)
            defer { rmdir(path) }
            return ReadOnly(path) != nil
        }()
    }

    @Test(.enabled(if: ReadOnly.isPossible, "this user may not mount"), arguments: [true, false])
    func `N5: a gateway starts with a read-only state directory, and logs that records are not stored`(
        hasRunBefore: Bool
    ) throws {
        let fixture = try LiveFixture()
        let file = try fixture.write("g.yaml", fixture.configuration())
        if hasRunBefore {
            let gateway = try RunningGateway(fixture, configuration: file)
            try gateway.log.line(with: "hci0 is listening")
            #expect(gateway.end() == 0)
        } else {
            try FileManager.default.createDirectory(atPath: fixture.path("state"), withIntermediateDirectories: true)
        }
        let mounted = try #require(ReadOnly(fixture.path("state")))
        let gateway = try RunningGateway(fixture, configuration: file)
        if !hasRunBefore { try gateway.log.line(with: "gateway.lock can't be created: Read-only file system") }
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise()
        try gateway.until("staff is satisfied") { status in
            let monitors = status["monitors"] as? [[String: Any]] ?? []
            let conditions = monitors.flatMap { $0["conditions"] as? [[String: Any]] ?? [] }
            return conditions.first?["state"] as? String == "satisfied"
        }
        #expect(
            gateway.log.lines.contains {
                $0.contains("records can't be written") && $0.hasSuffix("monitoring continues, and lines are written")
            }, "\(gateway.log.lines)")
        #expect(!gateway.log.lines.contains { $0.contains("wait in memory") })
        let status = try gateway.status()
        #expect((status["diagnostics"] as? [String])?.contains("persistenceUnavailable") == true)
        // The lock of the event files prevents a second gateway. If the lock files of the state directory exist
        // already, they prevent it first.
        let second = try Gateway.run("run", "--config", file)
        #expect(second.status == 69)
        #expect(
            second.errors.contains(
                hasRunBefore
                    ? "the state directory \(fixture.path("state")) is in use by"
                    : "event files \(fixture.path("events")) is in use by"),
            "\(second.errors)")
        #expect(gateway.end() == 0)
        // The event of the sighting is in the files.
        #expect(try fixture.lines().contains { $0.contains("\"satisfied\"") })
        withExtendedLifetime(mounted) {}
    }
}
