import BackgroundActivity
import BeaconMonitoring
import Foundation
import Testing

/// A private bus, with a stand-in for systemd-logind on it where it is started.
private final class LogindWorld {
    static let daemon = "/usr/bin/dbus-daemon"
    static let python = "/usr/bin/python3"
    static let mock = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures/dbus/logind_mock.py").path

    static let canRun: Bool = {
        guard FileManager.default.isExecutableFile(atPath: daemon), FileManager.default.isExecutableFile(atPath: python)
        else { return false }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = ["-c", "import dbus, dbus.mainloop.glib; from gi.repository import GLib"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    // sockaddr_un holds 107 octets.
    let folder = URL(fileURLWithPath: "/tmp/bgl-\(UUID().uuidString.prefix(8))")
    var address: String { "unix:path=\(folder.path)/bus" }
    private let bus = Process()
    private let busInput = Pipe()
    private var logind: Process?
    private let input = Pipe()
    private let output = Pipe()
    private var rest: [UInt8] = []

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let configuration = folder.appendingPathComponent("bus.conf")
        try """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig><type>custom</type><listen>\(address)</listen><auth>EXTERNAL</auth>
        <policy context="default"><allow user="*"/><allow own="*"/><allow send_type="method_call"/>
        <allow send_type="signal"/><allow send_type="method_return"/><allow send_type="error"/>
        <allow receive_type="method_call"/><allow receive_type="signal"/><allow receive_type="method_return"/>
        <allow receive_type="error"/></policy></busconfig>
        """.write(to: configuration, atomically: true, encoding: .utf8)
        // It is killed when its input ends: by us, or because the tests were killed themselves.
        bus.executableURL = URL(fileURLWithPath: "/bin/sh")
        bus.arguments = [
            "-c",
            #""$0" --config-file="$1" --nofork --nopidfile --print-address=1 & cat >/dev/null; kill -9 $!; wait 2>/dev/null"#,
            Self.daemon, configuration.path,
        ]
        let printed = Pipe()
        bus.standardInput = busInput
        bus.standardOutput = printed
        try bus.run()
        #expect(!printed.fileHandleForReading.availableData.isEmpty)
    }

    deinit {
        try? input.fileHandleForWriting.close()
        logind?.waitUntilExit()
        try? busInput.fileHandleForWriting.close()
        bus.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }

    func startLogind(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.python)
        process.arguments = [Self.mock] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["DBUS_SYSTEM_BUS_ADDRESS": address]) { $1 }
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        logind = process
        #expect(said() == #"{"ready": true}"#)
    }

    /// Has logind behave so from now on.
    func behave(_ how: String) {
        input.fileHandleForWriting.write(Data((how + "\n").utf8))
        #expect(said() == #"{"behaviour": "\#(how)"}"#)
    }

    /// The next line that logind says.
    func said() -> String {
        while true {
            if let end = rest.firstIndex(of: 0x0A) {
                defer { rest.removeSubrange(...end) }
                return String(decoding: rest[..<end], as: UTF8.self)
            }
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { return "" }
            rest += data
        }
    }

    func session(_ reason: String = "badges are monitored") -> BackgroundActivitySession {
        BackgroundActivitySession(
            reason: reason, provider: LogindInhibitor(program: "tests", busAddress: address))
    }
}

@Suite(.enabled(if: LogindWorld.canRun, "dbus-daemon, python3-dbus or python3-gi is missing"))
struct LogindInhibitorTests {
    @Test func `a session holds a lock that logind knows, until it is invalidated`() throws {
        let world = try LogindWorld()
        try world.startLogind()
        let session = world.session("badges are monitored: “lobby”")
        #expect(
            world.said()
                == #"{"inhibit": ["sleep:idle", "tests", "badges are monitored: \u201clobby\u201d", "block"]}"#)
        #expect(session.standing == .held)
        #expect(session.diagnostics == [])
        session.invalidate()
        #expect(world.said() == #"{"released": 0}"#)
        #expect(session.standing == .ended)
        session.invalidate()
    }

    @Test func `a session that is discarded lets go, and no other's lock`() throws {
        let world = try LogindWorld()
        try world.startLogind()
        var first: BackgroundActivitySession? = world.session()
        _ = world.said()
        let second = world.session()
        _ = world.said()
        #expect(first?.standing == .held)
        first = nil
        #expect(world.said() == #"{"released": 1}"#)
        #expect(second.standing == .held)
        second.invalidate()
        #expect(world.said() == #"{"released": 0}"#)
    }

    @Test func `where logind refuses, the session says so and why, and monitoring can go on`() throws {
        let world = try LogindWorld()
        try world.startLogind()
        world.behave("refuse")
        let session = world.session()
        guard case .refused(let why) = session.standing else {
            Issue.record("\(session.standing)")
            return
        }
        #expect(why.contains("Permission denied"))
        #expect(why.contains("org.freedesktop.login1.inhibit-block-sleep"))
        #expect(session.diagnostics == .authorizationDenied)
        session.invalidate()
        #expect(session.standing == .ended)
        #expect(session.diagnostics == [])
    }

    @Test func `an answer without a descriptor is none`() throws {
        let world = try LogindWorld()
        try world.startLogind("strange")
        guard case .refused(let why) = world.session().standing else {
            Issue.record("a lock was made of nothing")
            return
        }
        #expect(why.contains("no descriptor"))
    }

    @Test func `without logind nothing has to be held`() throws {
        let world = try LogindWorld()
        guard case .unneeded(let why) = world.session().standing else {
            Issue.record("something is held")
            return
        }
        #expect(why.contains("systemd-logind does not run"))
    }

    @Test func `without a bus neither`() {
        let session = session(at: "unix:path=/nowhere/at/all")
        guard case .unneeded = session.standing else {
            Issue.record("\(session.standing)")
            return
        }
        #expect(session.diagnostics == [])
    }

    @Test(arguments: ["nonsense", "", "unix:"]) func `an address that is none is a mistake, and said so`(
        address: String
    ) {
        let session = session(at: address)
        guard case .refused = session.standing else {
            Issue.record("\(session.standing)")
            return
        }
    }

    private func session(at address: String) -> BackgroundActivitySession {
        BackgroundActivitySession(
            reason: "tests", provider: LogindInhibitor(program: "tests", busAddress: address))
    }
}
