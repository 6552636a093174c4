import Foundation
import Glibc
import ProgramSupport
import Testing

/// `run` as a separate process, over a private bus.
@Suite struct RunTests {
    private func state(_ status: [String: Any], of identifier: String) -> String? {
        let monitors = status["monitors"] as? [[String: Any]] ?? []
        let conditions = monitors.flatMap { $0["conditions"] as? [[String: Any]] ?? [] }
        return conditions.first { $0["identifier"] as? String == identifier }?["state"] as? String
    }

    private func payloads(_ fixture: LiveFixture, type: String) throws -> [[String: Any]] {
        try fixture.lines().map { try #require(try object($0)["payload"] as? [String: Any]) }
            .filter { $0["type"] as? String == type }
    }

    @Test func `bluetoothd reports a beacon: events are in the files, the condition's state is in the status`() throws {
        let fixture = try LiveFixture()
        let gateway = try RunningGateway(fixture, configuration: fixture.write("g.yaml", fixture.configuration()))
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise()
        try gateway.until("staff is satisfied") { state($0, of: "staff") == "satisfied" }
        let status = try gateway.status()
        #expect(status["state"] as? String == "listening")
        try Schema.expectValid(
            Gateway.run("status", "--json", "--config", fixture.path("g.yaml")).output, "--kind", "status")
        #expect(((status["adapters"] as? [[String: Any]])?.first?["reports"] as? Int) == 1)
        #expect(gateway.end() == 0)
        let events = try payloads(fixture, type: "event")
        #expect(events.map { $0["identifier"] as? String } == ["staff", "staff"])
        #expect(events.map { $0["scope"] as? String } == ["condition", "beacon"])
        #expect(events.allSatisfy { $0["state"] as? String == "satisfied" })
        let sequences = try fixture.lines().compactMap { try object($0)["payload"] as? [String: Any] }
            .compactMap { $0["sequence"] as? Int }
        #expect(sequences == Array(1...sequences.count))
    }

    @Test func `N4: a restart while a beacon is present makes no event, and sequence numbers continue`() throws {
        let fixture = try LiveFixture()
        let file = try fixture.write("g.yaml", fixture.configuration())
        for round in 0..<3 {
            let gateway = try RunningGateway(fixture, configuration: file)
            try gateway.log.line(with: "hci0 is listening")
            fixture.advertise()
            try gateway.until("a sighting was received") {
                (($0["counters"] as? [String: Any])?["sightings"] as? Int ?? 0) > 0
            }
            #expect(state(try gateway.status(), of: "staff") == "satisfied")
            // The gateway is killed once, so that it cannot store anything at its end.
            #expect(gateway.end(by: round == 1 ? SIGKILL : SIGTERM) == (round == 1 ? -SIGKILL : 0))
        }
        #expect(try payloads(fixture, type: "event").count == 2)
        let sequences = try fixture.lines().compactMap { try object($0)["payload"] as? [String: Any] }
            .compactMap { $0["sequence"] as? Int }
        #expect(sequences == Array(1...sequences.count))
    }

    @Test func `SIGHUP applies and logs differences, and an invalid file is refused completely`() throws {
        let fixture = try LiveFixture()
        let file = try fixture.write("g.yaml", fixture.configuration())
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise()
        try gateway.until("staff is satisfied") { state($0, of: "staff") == "satisfied" }
        let other = "- {identifier: visitors, uuid: 00000000-0000-0000-0000-000000000001}"
        let staff = "- {identifier: staff, uuid: \(LiveFixture.uuid), per_beacon: true, exit_timeout: 45s}"
        _ = try fixture.write("g.yaml", fixture.configuration(conditions: staff + "\n" + other))
        gateway.signal(SIGHUP)
        try gateway.log.line(with: "conditions added: visitors; changed: staff; removed: none")
        // C2: a condition with the same identity keeps its state.
        #expect(state(try gateway.status(), of: "staff") == "satisfied")
        #expect(state(try gateway.status(), of: "visitors") == "unknown")
        _ = try fixture.write("g.yaml", fixture.configuration(conditions: "- {identifier: staff, uuid: nonsense}"))
        gateway.signal(SIGHUP)
        try gateway.log.line(with: "was not applied; the gateway continues with the old configuration")
        // `status` reads the file too, for the path of the socket.
        _ = try fixture.write("g.yaml", fixture.configuration(conditions: staff))
        #expect(state(try gateway.status(), of: "visitors") == "unknown")
        gateway.signal(SIGHUP)
        try gateway.log.line(with: "removed: visitors")
        #expect(gateway.end() == 0)
        let changes = try payloads(fixture, type: "condition").map {
            "\($0["identifier"] as? String ?? "") \($0["change"] as? String ?? "")"
        }
        #expect(changes == ["staff added", "staff changed", "visitors added", "visitors removed"])
    }

    @Test func `SIGHUP with another outage timeout keeps all states`() throws {
        let fixture = try LiveFixture()
        let file = try fixture.write("g.yaml", fixture.configuration())
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise()
        try gateway.until("staff is satisfied") { state($0, of: "staff") == "satisfied" }
        _ = try fixture.write(
            "g.yaml",
            fixture.configuration().replacingOccurrences(of: "outage_timeout: 60s", with: "outage_timeout: 90s"))
        gateway.signal(SIGHUP)
        try gateway.log.line(with: "was applied")
        #expect(state(try gateway.status(), of: "staff") == "satisfied")
        fixture.advertise()
        try gateway.until("sightings are still received") {
            (($0["counters"] as? [String: Any])?["sightings"] as? Int ?? 0) > 1
        }
        #expect(gateway.end() == 0)
        #expect(try payloads(fixture, type: "event").count == 2)
    }

    @Test func `SIGHUP with another outage timeout keeps the counters`() throws {
        let fixture = try LiveFixture()
        let text = fixture.configuration().replacingOccurrences(
            of: "deaf_after: off", with: "deaf_after: off, max_beacons: 1")
        let file = try fixture.write("g.yaml", text)
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        func untracked(_ status: [String: Any]) -> Int {
            (status["counters"] as? [String: Any])?["untrackedBeacons"] as? Int ?? 0
        }
        fixture.advertise("C0:00:00:00:00:01", minor: 1)
        try gateway.until("staff is satisfied") { state($0, of: "staff") == "satisfied" }
        fixture.advertise("C0:00:00:00:00:02", minor: 2)
        try gateway.until("one beacon is not monitored") { untracked($0) == 1 }
        for seconds in [90, 120] {
            _ = try fixture.write(
                "g.yaml",
                text.replacingOccurrences(of: "outage_timeout: 60s", with: "outage_timeout: \(seconds)s"))
            gateway.signal(SIGHUP)
            try gateway.log.line(with: "was applied")
            #expect(untracked(try gateway.status()) == 1)
        }
        #expect(try Gateway.run("status", "--config", file).text.contains("not monitored (max_beacons): 1 time"))
        #expect(gateway.end() == 0)
    }

    @Test func `SIGUSR1 starts a new event file`() throws {
        let fixture = try LiveFixture()
        let file = try fixture.write("g.yaml", fixture.configuration())
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        gateway.signal(SIGUSR1)
        fixture.advertise()
        try gateway.until("staff is satisfied") { state($0, of: "staff") == "satisfied" }
        #expect(gateway.end() == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.path("events"))
        #expect(names.filter { $0.hasPrefix("events-") }.count == 2)
    }

    @Test func `N1: a second gateway with the same monitor name fails, and the error names the owner`() throws {
        let fixture = try LiveFixture()
        let file = try fixture.write("g.yaml", fixture.configuration())
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        let second = try Gateway.run("run", "--config", file)
        #expect(second.status == 69)
        #expect(second.errors.contains("in use by beacon-gateway run, process"), "\(second.errors)")
        #expect(gateway.end() == 0)
    }

    @Test func `READY is sent when an adapter scans, WATCHDOG all the time, and STOPPING at the end`() throws {
        let fixture = try LiveFixture()
        let path = fixture.path("notify")
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        func received() -> String {
            guard waitUntilReadable(socket, milliseconds: 60_000) else { return "nothing for a minute" }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(socket, &bytes, bytes.count, 0)
            return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
        }
        func until(_ text: String) -> Bool {
            for _ in 0..<100 {
                let message = received()
                if message.contains(text) { return true }
                if message == "nothing for a minute" { return false }
            }
            return false
        }
        let gateway = try RunningGateway(
            fixture, configuration: fixture.write("g.yaml", fixture.configuration()),
            environment: ["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "200000"])
        #expect(until("READY=1"))
        #expect(until("WATCHDOG=1"))
        #expect(until("WATCHDOG=1"))
        gateway.signal(SIGHUP)
        #expect(until("RELOADING=1"))
        #expect(until("READY=1"))
        gateway.signal(SIGTERM)
        #expect(until("STOPPING=1"))
        #expect(gateway.waitForEnd() == 0)
    }

    @Test func `without a gateway, status reports this and exits with 69`() throws {
        let fixture = try LiveFixture()
        let ending = try Gateway.run("status", "--config", fixture.write("g.yaml", fixture.configuration()))
        #expect(ending.status == 69)
        #expect(ending.errors.contains("status.sock"))
    }

    @Test func `status works while the file of a running gateway is invalid, or with the socket's path alone`() throws {
        let fixture = try LiveFixture()
        let file = try fixture.write("g.yaml", fixture.configuration())
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        // The first error is an unknown key. The second one is a syntax error after the path of the socket.
        for damage in ["\nconditionz: []\n", "\n[\n"] {
            _ = try fixture.write("g.yaml", fixture.configuration() + damage)
            let asked = try Gateway.run("status", "--config", file)
            #expect(asked.status == 0, "\(asked.errors)")
            #expect(asked.text.contains("hci0") && asked.errors.contains("`beacon-gateway check \(file)`"))
        }
        let socket = fixture.path("status.sock")
        let asked = try Gateway.run("status", "--json", "--socket", socket)
        #expect(asked.status == 0 && asked.errors.isEmpty)
        #expect(try object(asked.text)["type"] as? String == "status")
        #expect(gateway.end() == 0)
        // If no gateway runs, the errors of the file are reported, because an operator must fix them first.
        let nobody = try Gateway.run("status", "--config", file)
        #expect(nobody.status == 78)
        #expect(nobody.errors.contains("\(file):") && nobody.errors.contains("no gateway answers at \(socket)"))
        #expect(try Gateway.run("status", "--socket", socket).status == 69)
    }

    @Test func `after the end, status shows the last state and exits with 69 nevertheless`() throws {
        let fixture = try LiveFixture()
        let file = try fixture.write("g.yaml", fixture.configuration())
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise()
        try gateway.until("staff is satisfied") { state($0, of: "staff") == "satisfied" }
        #expect(gateway.end() == 0)
        let ending = try Gateway.run("status", "--json", "--config", file)
        #expect(ending.status == 69)
        let left = try object(ending.text)
        #expect(left["state"] as? String == "ended")
        let conditions = try #require(left["conditions"] as? [[String: Any]])
        #expect(conditions.map { $0["identifier"] as? String } == ["staff"])
        #expect(conditions.map { $0["state"] as? String } == ["satisfied"])
    }

    @Test(arguments: ["auto", "management", "hci"])
    func `without Bluetooth, run fails with 69 or 77 and names doctor`(backend: String) throws {
        let fixture = try LiveFixture()
        // The folder of the socket does not exist yet: only a service manager would create it before the start.
        let text = fixture.configuration().replacingOccurrences(of: "backend: dbus", with: "backend: \(backend)")
            .replacingOccurrences(of: "status.sock", with: "run/status.sock")
        let ending = try Gateway.runWithoutBluetooth(["run", "--config", fixture.write("g.yaml", text)])
        #expect([69, 77].contains(ending.status), "\(ending.errors)")
        #expect(ending.errors.contains("Bluetooth sockets are not available to this process: "), "\(ending.errors)")
        #expect(ending.errors.contains("to find the remedy, run beacon-gateway doctor"), "\(ending.errors)")
    }
}
