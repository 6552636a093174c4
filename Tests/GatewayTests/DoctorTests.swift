import BeaconMonitoring
import Foundation
import GatewayConfiguration
import SystemPackage
import Testing

@testable import Gateway

/// Probes that find a machine on which nothing is wrong, but for what a test changes.
private struct ScriptedProbes: DoctorProbes {
    var bluetoothFacts: DoctorFacts.Bluetooth = {
        var facts = DoctorFacts.Bluetooth()
        facts.adapters = [DoctorFacts.Adapter(name: "hci0", isPowered: true)]
        facts.switches = [DoctorFacts.Switch(name: "hci0", isSoftBlocked: false, isHardBlocked: false)]
        return facts
    }()
    var busFacts = DoctorFacts.Bus(socket: "/run/bus", isDaemonRunning: true, isDaemonInstalled: true)
    var rightsFacts = DoctorFacts.Rights(user: "somebody", hasNetworkAdministration: true, hasRawNetwork: false)
    var clock: Bool? = true
    var directories: [String: DoctorFacts.Directory] = [:]
    var unreadable: [String: Errno] = [:]
    var unreachable: [UInt16: String] = [:]
    var daemonFacts = DoctorFacts.Daemon(isRunning: true, diagnostics: [])

    func bluetooth() -> DoctorFacts.Bluetooth { bluetoothFacts }
    func bus() -> DoctorFacts.Bus { busFacts }
    func rights() -> DoctorFacts.Rights { rightsFacts }
    func isClockSynchronized() -> Bool? { clock }
    func directory(_ path: String) -> DoctorFacts.Directory {
        directories[path] ?? DoctorFacts.Directory(exists: true, free: 1 << 40)
    }
    func readFailure(_ path: String) -> Errno? { unreadable[path] }
    var exposures: [String: String] = [:]
    func secretExposure(_ path: String) -> String? { exposures[path] }
    func connectFailure(host: String, port: UInt16) -> String? { unreachable[port].map { "\(host):\(port): \($0)" } }
    func daemon(statusSocket: String) -> DoctorFacts.Daemon { daemonFacts }
}

private func configuration(_ text: String) throws -> Configuration {
    let whole = text + "\nconditions: [{identifier: a, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]\n"
    let parsed = Configuration.parse(Array(whole.utf8), file: "test.yaml", deafAfterUnlessSet: .seconds(10))
    return try parsed.get()
}

private func examine(_ text: String = "", _ change: (inout ScriptedProbes) -> Void = { _ in }) throws -> Doctor {
    var probes = ScriptedProbes()
    change(&probes)
    return Doctor(try configuration(text), probes: probes)
}

extension Doctor {
    fileprivate func finding(_ check: String, _ state: DoctorFinding.State) -> DoctorFinding? {
        findings.first { $0.check == check && $0.state == state }
    }
    fileprivate var flags: Diagnostics { findings.reduce(into: []) { $0.formUnion($1.flags) } }
}

@Suite struct DoctorTests {
    @Test func `a machine on which nothing is wrong`() throws {
        let doctor = try examine()
        #expect(!doctor.isSomethingWrong)
        #expect(doctor.findings.allSatisfy { $0.state == .ok }, "\(doctor.text)")
        #expect(doctor.flags == [])
        #expect(doctor.text.hasSuffix("nothing is wrong; warnings: 0\n"))
    }

    @Test func `everything that is not all right has what mends it`() throws {
        let doctor = try examine("mqtt: {host: broker, password_file: /p, username: u}") { probes in
            probes.bluetoothFacts.socketFailure = .addressFamilyNotSupported
            probes.bluetoothFacts.switches = [.init(name: "hci0", isSoftBlocked: true, isHardBlocked: true)]
            probes.busFacts = .init(
                socket: "/b", failure: .noSuchFileOrDirectory, isDaemonRunning: false, isDaemonInstalled: false)
            probes.rightsFacts.hasNetworkAdministration = false
            probes.clock = false
            probes.directories["/var/lib/beacon-gateway/events"] = .init(
                failure: .permissionDenied, exists: true, free: nil)
            probes.unreachable[1883] = "Connection refused"
            probes.unreadable["/p"] = .permissionDenied
            probes.daemonFacts = .init(isRunning: false)
        }
        #expect(doctor.isSomethingWrong)
        #expect(doctor.findings.filter { $0.state != .ok }.allSatisfy { $0.remedy != nil }, "\(doctor.text)")
        #expect(
            Set(doctor.findings.filter { $0.state == .wrong }.map(\.check)) == [
                "kernel", "rfkill", "dbus", "bluetoothd", "rights", "disk", "broker",
            ])
    }

    @Test(arguments: [
        (Errno.addressFamilyNotSupported, Diagnostics.serviceUnavailable, "sudo modprobe bluetooth"),
        (.permissionDenied, .authorizationDenied, "under systemd: RestrictAddressFamilies"),
        (.noMemory, .serviceUnavailable, "sudo dmesg"),
    ])
    func `a kernel that gives no Bluetooth socket`(failure: Errno, flag: Diagnostics, remedy: String) throws {
        let doctor = try examine { $0.bluetoothFacts.socketFailure = failure }
        let finding = try #require(doctor.finding("kernel", .wrong))
        #expect(finding.flags == flag)
        #expect(finding.remedy?.hasPrefix(remedy) ?? false)
        #expect(doctor.findings.allSatisfy { $0.check != "adapter" })
    }

    @Test func `rfkill by software, and by a switch`() throws {
        var doctor = try examine { $0.bluetoothFacts.switches[0].isSoftBlocked = true }
        #expect(doctor.finding("rfkill", .wrong)?.flags == .authorizationDeniedGlobally)
        #expect(doctor.finding("rfkill", .wrong)?.remedy == "sudo rfkill unblock bluetooth")
        doctor = try examine { $0.bluetoothFacts.switches[0].isHardBlocked = true }
        #expect(doctor.finding("rfkill", .wrong)?.flags == [.authorizationDeniedGlobally, .authorizationRestricted])
    }

    @Test func `no adapter, and one that the configuration names and is not there`() throws {
        var doctor = try examine { $0.bluetoothFacts.adapters = [] }
        #expect(doctor.finding("adapter", .wrong)?.flags == .serviceUnavailable)
        doctor = try examine("scanner: {adapters: [hci1]}")
        #expect(doctor.finding("adapter", .wrong)?.flags == .scannerUnavailable)
        #expect(doctor.finding("adapter", .wrong)?.remedy?.hasSuffix("there are hci0") ?? false)
        #expect(doctor.finding("adapter", .ok) == nil)
    }

    @Test func `an adapter that is off is wrong where the gateway may not switch it on`() throws {
        var doctor = try examine { $0.bluetoothFacts.adapters[0].isPowered = false }
        #expect(doctor.finding("adapter", .warning)?.flags == [])
        doctor = try examine("scanner: {backend: dbus}") { $0.bluetoothFacts.adapters[0].isPowered = false }
        #expect(doctor.finding("adapter", .wrong)?.flags == .authorizationRequestInProgress)
    }

    @Test func `an adapter that USB may suspend`() throws {
        let doctor = try examine { $0.bluetoothFacts.adapters[0].autosuspend = "/sys/x/power/control" }
        #expect(doctor.finding("adapter", .warning)?.remedy?.hasSuffix("sudo tee /sys/x/power/control") ?? false)
    }

    @Test func `bluetoothd is missed only where it is needed`() throws {
        let away: (inout ScriptedProbes) -> Void = { $0.busFacts.isDaemonRunning = false }
        var doctor = try examine("", away)
        #expect(!doctor.isSomethingWrong)
        #expect(doctor.finding("bluetoothd", .ok)?.summary == "bluetoothd does not run; the best backend does without")
        doctor = try examine("scanner: {backend: dbus}", away)
        #expect(doctor.finding("bluetoothd", .wrong)?.flags == .serviceUnavailable)
        #expect(doctor.finding("bluetoothd", .wrong)?.remedy == "sudo systemctl enable --now bluetooth")
        doctor = try examine {
            away(&$0)
            $0.rightsFacts.hasNetworkAdministration = false
        }
        #expect(doctor.finding("bluetoothd", .wrong) != nil)
        #expect(doctor.finding("rights", .wrong)?.flags == .authorizationDenied)
    }

    @Test func `a bus that refuses this user`() throws {
        let doctor = try examine("scanner: {backend: dbus}") { $0.busFacts.refusal = "AccessDenied" }
        #expect(doctor.finding("dbus", .wrong)?.flags == .authorizationDenied)
        #expect(doctor.finding("dbus", .wrong)?.summary.hasSuffix("AccessDenied") ?? false)
    }

    @Test(arguments: [("management", false), ("hci", false), ("dbus", true)])
    func `the backend that is named asks for its right`(backend: String, isOpen: Bool) throws {
        let doctor = try examine("scanner: {backend: \(backend)}") { $0.rightsFacts.hasNetworkAdministration = false }
        #expect((doctor.finding("rights", .wrong) == nil) == isOpen)
        #expect(doctor.flags == (isOpen ? [] : .authorizationDenied))
    }

    @Test func `with dbus alone reports may be thinned out`() throws {
        let doctor = try examine { $0.rightsFacts.hasNetworkAdministration = false }
        #expect(doctor.finding("rights", .warning)?.flags == .accuracyLimited)
        #expect(!doctor.isSomethingWrong)
    }

    @Test func `conditions past the limit, and circles without a source`() throws {
        let text = """
            monitor: {condition_limit: 1}
            conditions:
              - {identifier: a, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}
              - {identifier: b, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, major: 1}
              - {identifier: c, center: [48, 16], radius: 10}
            """
        let parsed = Configuration.parse(Array(text.utf8), file: "test.yaml", deafAfterUnlessSet: .seconds(10))
        let doctor = Doctor(try parsed.get(), probes: ScriptedProbes())
        #expect(doctor.finding("conditions", .warning)?.flags == .conditionLimitExceeded)
        #expect(doctor.finding("conditions", .warning)?.summary == "1 of 2 beacon conditions are not monitored")
        #expect(doctor.finding("location", .warning)?.flags == .conditionUnsupported)
    }

    @Test func `gpsd that is away matters where circles are monitored`() throws {
        let circle = "conditions: [{identifier: c, center: [48, 16], radius: 10}]\nlocation: {source: gpsd}"
        var probes = ScriptedProbes()
        probes.unreachable[2947] = "Connection refused"
        let parsed = Configuration.parse(Array(circle.utf8), file: "test.yaml", deafAfterUnlessSet: nil)
        let doctor = Doctor(try parsed.get(), probes: probes)
        #expect(doctor.finding("location", .wrong)?.flags == .locationUnavailable)
        #expect(
            try examine("location: {source: gpsd}") { $0.unreachable[2947] = "x" }.finding("location", .wrong) == nil)
    }

    private static let rooms: [(Int64, DoctorFinding.State)] = [
        (1_099_511_627_776, .ok), (2_147_483_648, .ok), (2_147_483_647, .warning), (16_777_216, .warning),
        (16_777_215, .wrong), (0, .wrong),
    ]

    @Test func `f2fs that keeps small files in their inodes is warned of`() throws {
        let found = try examine {
            $0.directories["/var/lib/beacon-gateway/events"] = DoctorFacts.Directory(
                exists: true, free: 1 << 40, isInlineF2FS: true)
        }
        let finding = try #require(found.findings.first { $0.check == "disk" && $0.state == .warning })
        #expect(finding.summary.contains("f2fs"))
        #expect(finding.remedy?.contains("noinline_data") == true)
    }

    @Test(arguments: [
        ("rw,lazytime,background_gc=on,inline_xattr,inline_data,inline_dentry", true),
        ("rw,lazytime,noinline_data,inline_dentry", false),
    ])
    func `a mount of f2fs tells whether it keeps small files in inodes`(options: String, isInline: Bool) {
        let table = """
            22 27 0:20 / /sys rw,nosuid - sysfs sysfs rw
            27 1 179:2 / / rw,relatime shared:1 - ext4 /dev/root rw
            30 27 179:300 / /var/lib rw,relatime shared:9 - f2fs /dev/mmcblk0p300 \(options)

            """
        // makedev(3) of 179:300.
        #expect(MountTable.hasInlineF2FS(table, device: 179 << 8 | 300 & 0xFF | (300 & ~0xFF) << 12) == isInline)
        #expect(!MountTable.hasInlineF2FS(table, device: 179 << 8 | 2))
        #expect(!MountTable.hasInlineF2FS("30 27\n- - -\n\n", device: 179 << 8 | 2))
    }

    @Test(arguments: rooms)
    func `room on the disk`(free: Int64, state: DoctorFinding.State) throws {
        let doctor = try examine {
            $0.directories["/var/lib/beacon-gateway/events"] = .init(exists: true, free: free)
        }
        let finding = try #require(doctor.findings.first { $0.summary.hasPrefix("/var/lib/beacon-gateway/events") })
        #expect(finding.state == state)
        #expect(finding.flags == (state == .wrong ? .persistenceUnavailable : []))
    }

    @Test func `a clock that nobody set is a warning, since the order of events is right`() throws {
        let doctor = try examine { $0.clock = false }
        #expect(doctor.finding("clock", .warning)?.flags == .clockUnsynchronized)
        #expect(!doctor.isSomethingWrong)
    }

    @Test func `each flag that the daemon holds is said, with what to do`() throws {
        let all = Diagnostics(rawValue: (1 << UInt32(Diagnostics.names.count)) - 1)
        let doctor = try examine { $0.daemonFacts.diagnostics = all }
        let said = doctor.findings.filter { $0.check == "daemon" }
        #expect(said.count == Diagnostics.names.count)
        #expect(doctor.flags == all)
        #expect(said.allSatisfy { $0.remedy != nil })
    }

    @Test func `one JSON object on one line`() throws {
        let doctor = try examine {
            $0.bluetoothFacts.switches[0] = .init(name: #"a"b"#, isSoftBlocked: true, isHardBlocked: false)
        }
        #expect(doctor.json.hasSuffix("}\n") && doctor.json.count { $0 == "\n" } == 1)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(doctor.json.utf8)) as? [String: Any])
        #expect(object["ok"] as? Bool == false)
        #expect(object["type"] as? String == "doctor")
        let findings = try #require(object["findings"] as? [[String: Any]])
        let rfkill = try #require(findings.first { $0["check"] as? String == "rfkill" })
        #expect(rfkill["summary"] as? String == #"rfkill blocks a"b"#)
        #expect(rfkill["flags"] as? [String] == ["authorizationDeniedGlobally"])
        #expect(findings.count == doctor.findings.count)
    }

    @Test func `a configuration with mistakes is a finding, and the machine is examined all the same`() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(
            "doctor-\(UInt32.random(in: 0 ... .max)).yaml")
        try Data("conditions: 7\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let doctor = Doctor(configuration: file.path, isDefault: false, probes: ScriptedProbes())
        #expect(doctor.finding("configuration", .wrong)?.remedy == "beacon-gateway check \(file.path)")
        #expect(doctor.finding("kernel", .ok) != nil)
        let missing = Doctor(configuration: "/nonexistent.yaml", isDefault: true, probes: ScriptedProbes())
        #expect(missing.finding("configuration", .wrong)?.remedy?.hasPrefix("sudo install") ?? false)
    }
}

@Suite struct SystemDoctorProbesTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
        "probes-\(UInt32.random(in: 0 ... .max))")

    private func write(_ text: String, _ path: String) throws {
        let file = folder.appendingPathComponent(path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    private func link(_ path: String, to target: String) throws {
        let file = folder.appendingPathComponent(path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: target)
    }

    private var probes: SystemDoctorProbes {
        SystemDoctorProbes(system: folder.path + "/sys", processes: folder.path + "/proc")
    }

    @Test func `adapters by number, connections left out, and those that USB may suspend`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try write("auto\n", "sys/devices/usb1/1-1/power/control")
        try write("", "sys/devices/usb1/1-1/1-1:1.0/bluetooth/hci10/address")
        try write("", "sys/devices/usb1/1-1/1-1:1.0/bluetooth/hci10:64/address")
        try link("sys/devices/usb1/1-1/1-1:1.0/subsystem", to: "../../../../bus/usb")
        try link("sys/devices/usb1/1-1/1-1:1.0/bluetooth/hci10/device", to: "../../../1-1:1.0")
        try write("", "sys/devices/uart/bluetooth/hci2/address")
        try link("sys/class/bluetooth/hci10", to: "../../devices/usb1/1-1/1-1:1.0/bluetooth/hci10")
        try link("sys/class/bluetooth/hci10:64", to: "../../devices/usb1/1-1/1-1:1.0/bluetooth/hci10:64")
        try link("sys/class/bluetooth/hci2", to: "../../devices/uart/bluetooth/hci2")
        let adapters = probes.adapters()
        #expect(adapters.map(\.name) == ["hci2", "hci10"])
        #expect(adapters[0].autosuspend == nil)
        #expect(adapters[1].autosuspend == "\(folder.path)/sys/class/bluetooth/hci10/device/../power/control")
        try write("on\n", "sys/devices/usb1/1-1/power/control")
        #expect(probes.adapters()[1].autosuspend == nil)
    }

    @Test func `rfkill's switches of the type Bluetooth`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        for (entry, type, soft, hard) in [
            ("rfkill0", "wlan", "1", "1"), ("rfkill1", "bluetooth", "1", "0"), ("rfkill2", "bluetooth", "0", "1"),
        ] {
            for (file, text) in [("type", type), ("soft", soft), ("hard", hard), ("name", "n-\(entry)")] {
                try write(text + "\n", "sys/class/rfkill/\(entry)/\(file)")
            }
        }
        #expect(
            probes.switches() == [
                .init(name: "n-rfkill1", isSoftBlocked: true, isHardBlocked: false),
                .init(name: "n-rfkill2", isSoftBlocked: false, isHardBlocked: true),
            ])
    }

    @Test func `processes by their name, rights by their bits`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try write("bluetoothd\n", "proc/12/comm")
        try write("x\n", "proc/self/comm")
        try write("Name:\tx\nCapEff:\t0000000000001000\n", "proc/self/status")
        #expect(probes.isRunning("bluetoothd"))
        #expect(!probes.isRunning("x"))
        #expect(probes.rights().hasNetworkAdministration)
        #expect(!probes.rights().hasRawNetwork)
    }

    @Test(arguments: [
        (String?.none, "/run/dbus/system_bus_socket"), ("unix:path=/a/b", "/a/b"),
        ("unix:path=/a/b,guid=12;unix:path=/c", "/a/b"), ("unix:abstract=x,guid=1", "@x"),
        ("tcp:host=a", "/run/dbus/system_bus_socket"), ("", "/run/dbus/system_bus_socket"),
    ])
    func `where the bus is`(address: String?, path: String) {
        #expect(SystemDoctorProbes.busPath(address) == path)
    }

    @Test func `folders that are there, that would be made, and that can't be`() throws {
        let there = probes.directory("/tmp")
        #expect(there.exists && there.failure == nil && (there.free ?? 0) > 0)
        let made = probes.directory("/tmp/nobody/made/this")
        #expect(!made.exists && made.failure == nil && (made.free ?? 0) > 0)
        #expect(probes.directory("/etc/passwd").failure == .notDirectory)
        #expect(probes.directory("/etc/passwd/x").failure == .notDirectory)
    }

    @Test func `a port where nobody listens, one where somebody does, a name that nobody has`() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                bind(listener, name, length) == 0 && getsockname(listener, name, &length) == 0
            }
        }
        try #require(bound)
        let port = UInt16(bigEndian: name.sin_port)
        #expect(probes.connectFailure(host: "127.0.0.1", port: port) == "127.0.0.1:\(port): Connection refused")
        try #require(listen(listener, 1) == 0)
        #expect(probes.connectFailure(host: "127.0.0.1", port: port) == nil)
        #expect(probes.connectFailure(host: "a..b", port: port)?.hasPrefix("a..b has no address: ") ?? false)
    }

    @Test func `a file in the status socket's place, and a socket that this user may not ask, are told`() throws {
        let file = FileManager.default.temporaryDirectory.path + "/status-\(UInt32.random(in: 0 ... .max)).sock"
        defer { unlink(file) }
        try Data("precious".utf8).write(to: URL(fileURLWithPath: file))
        #expect(probes.daemon(statusSocket: file) == .init(isRunning: false, occupant: "a file"))
        var facts = DoctorFacts.Daemon(isRunning: false, occupant: "a file")
        func finding() throws -> DoctorFinding {
            var machine = ScriptedProbes()
            machine.daemonFacts = facts
            return try #require(Doctor(try configuration(""), probes: machine).findings.last { $0.check == "daemon" })
        }
        #expect(try finding().state == .wrong)
        #expect(try finding().summary.hasSuffix("status.sock, which is a file"))
        facts = DoctorFacts.Daemon(isRunning: false)
        facts.isForbidden = true
        #expect(try finding().state == .warning)
        #expect(try finding().summary.hasPrefix("this user may not ask the gateway at "))
    }

    @Test func `a status socket where somebody listens, and one where nobody does`() throws {
        let path = FileManager.default.temporaryDirectory.path + "/status-\(UInt32.random(in: 0 ... .max)).sock"
        #expect(!probes.daemon(statusSocket: path).isRunning)
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer {
            close(listener)
            unlink(path)
        }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { place in
            for (index, octet) in path.utf8.enumerated() { place[index] = octet }
        }
        let bound = withUnsafePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        try #require(bound && listen(listener, 1) == 0)
        var probes = probes
        probes.daemonDiagnostics = { _ in .accuracyLimited }
        probes.daemonBrokerTrouble = { _ in "no route" }
        #expect(
            probes.daemon(statusSocket: path)
                == .init(isRunning: true, diagnostics: .accuracyLimited, brokerTrouble: "no route"))
        #expect(!probes.daemon(statusSocket: "/" + String(repeating: "a", count: 200)).isRunning)
    }

    @Test func `this machine can be examined, whatever it has`() throws {
        let doctor = Doctor(try configuration(""), probes: SystemDoctorProbes())
        #expect(
            Set(doctor.findings.map(\.check)).isSuperset(of: [
                "kernel", "rfkill", "dbus", "bluetoothd", "rights", "clock", "disk", "daemon",
            ]))
    }
}
