import BeaconMonitoring
import Foundation
import GatewayConfiguration
import ProgramSupport
import SystemPackage
import Testing

@testable import GatewayCommands

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

    @Test func `adapters are sorted by number, without connections, with the control file of USB autosuspend`() throws {
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

    @Test func `only rfkill switches of the type bluetooth are read`() throws {
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

    @Test func `processes are found by their name, and rights by their bits`() throws {
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
    func `the bus path is in the first address, or the default`(address: String?, path: String) {
        #expect(SystemDoctorProbes.busPath(address) == path)
    }

    @Test func `a folder that exists or can be created has free space; a file in its path is an error`() throws {
        let there = probes.directory("/tmp")
        #expect(there.exists && there.failure == nil && (there.free ?? 0) > 0)
        let made = probes.directory("/tmp/nobody/made/this")
        #expect(!made.exists && made.failure == nil && (made.free ?? 0) > 0)
        #expect(probes.directory("/etc/passwd").failure == .notDirectory)
        #expect(probes.directory("/etc/passwd/x").failure == .notDirectory)
    }

    @Test func `a refused connection and an unknown host are failures, an open port is not`() throws {
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

    @Test func `doctor reports a file at the status socket's path, and a socket without permission`() throws {
        let file = FileManager.default.temporaryDirectory.path + "/status-\(UInt32.random(in: 0 ... .max)).sock"
        defer { unlink(file) }
        try Data("precious".utf8).write(to: URL(fileURLWithPath: file))
        let daemon = probes.daemon(statusSocket: file)
        #expect(!daemon.isRunning && daemon.occupant == "a file" && !daemon.isForbidden)
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
        #expect(try finding().summary.hasPrefix("this user has no permission to ask the gateway at "))
    }

    @Test func `the gateway runs only if a process listens at the status socket`() throws {
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
            for (index, byte) in path.utf8.enumerated() { place[index] = byte }
        }
        let bound = withUnsafePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        try #require(bound && listen(listener, 1) == 0)
        var probes = probes
        probes.daemonDiagnostics = { _ in .accuracyLimited }
        probes.daemonBrokerFailure = { _ in "no route" }
        #expect(
            probes.daemon(statusSocket: path)
                == .init(isRunning: true, diagnostics: .accuracyLimited, brokerFailure: "no route"))
        #expect(!probes.daemon(statusSocket: "/" + String(repeating: "a", count: 200)).isRunning)
    }

    @Test func `this machine can be examined: each of eight checks has a finding, whatever it has`() throws {
        let doctor = Doctor(try configuration(""), probes: SystemDoctorProbes())
        #expect(
            Set(doctor.findings.map(\.check)).isSuperset(of: [
                "kernel", "rfkill", "dbus", "bluetoothd", "rights", "clock", "disk", "daemon",
            ]))
    }
}
