import BackgroundActivity
import BeaconMonitoring
import Foundation
import TestSupport
import Testing

/// A private bus, and a mock of systemd-logind on it if a test starts one.
private final class LogindFixture {
    private let bus: PrivateBus
    var address: String { bus.address }
    private var logind: SpawnedProcess?
    private var rest: [UInt8] = []

    init() throws { bus = try PrivateBus() }

    deinit {
        try? logind?.input?.close()
        logind?.wait()
    }

    func startLogind(_ arguments: String...) throws {
        logind = try SpawnedProcess(
            PrivateBus.python, [PrivateBus.script("logind_mock.py")] + arguments, environment: bus.environment,
            input: .pipe, output: .pipe)
        #expect(said() == #"{"ready": true}"#)
    }

    /// Sets the behavior of the mock from now on.
    func behave(_ how: String) {
        logind?.input?.write(Data((how + "\n").utf8))
        #expect(said() == #"{"behaviour": "\#(how)"}"#)
    }

    /// Returns the next line of the mock.
    func said() -> String {
        while true {
            if let end = rest.firstIndex(of: 0x0A) {
                defer { rest.removeSubrange(...end) }
                return String(decoding: rest[..<end], as: UTF8.self)
            }
            guard let data = logind?.output?.availableData, !data.isEmpty else { return "" }
            rest += data
        }
    }

    func session(_ reason: String = "badges are monitored") -> BackgroundActivitySession {
        BackgroundActivitySession(
            reason: reason, provider: LogindInhibitor(program: "tests", busAddress: address))
    }
}

@Suite struct LogindInhibitorTests {
    /// Returns the diagnostics of a session that has ended.
    private func diagnostics(of session: BackgroundActivitySession) async -> [Diagnostics] {
        await session.diagnostics.reduce(into: []) { $0.append($1) }
    }

    @Test func `a session holds a lock of logind until it is invalidated`() async throws {
        let fixture = try LogindFixture()
        try fixture.startLogind()
        let session = fixture.session("badges are monitored: “lobby”")
        #expect(
            fixture.said()
                == #"{"inhibit": ["sleep:idle", "tests", "badges are monitored: \u201clobby\u201d", "block"]}"#)
        #expect(session.status == .held)
        session.invalidate()
        #expect(fixture.said() == #"{"released": 0}"#)
        #expect(session.status == .ended)
        session.invalidate()
        #expect(await diagnostics(of: session) == [[]])
    }

    @Test func `without arguments, a session uses the system bus, the name of the program and a general reason`()
        async throws
    {
        let fixture = try LogindFixture()
        try fixture.startLogind()
        await #expect(processExitsWith: .success) { [address = fixture.address as String] in
            setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1)
            let session = BackgroundActivitySession()
            #expect(session.status == .held)
        }
        let line = fixture.said()
        let program = try #require(CommandLine.arguments.first?.split(separator: "/").last)
        #expect(line == #"{"inhibit": ["sleep:idle", "\#(program)", "beacons are monitored", "block"]}"#)
        #expect(fixture.said() == #"{"released": 0}"#)
    }

    @Test func `a session that is released ends its own lock, and no other`() throws {
        let fixture = try LogindFixture()
        try fixture.startLogind()
        var first: BackgroundActivitySession? = fixture.session()
        _ = fixture.said()
        let second = fixture.session()
        _ = fixture.said()
        #expect(first?.status == .held)
        first = nil
        #expect(fixture.said() == #"{"released": 1}"#)
        #expect(second.status == .held)
        second.invalidate()
        #expect(fixture.said() == #"{"released": 0}"#)
    }

    @Test func `if logind refuses, the session has the reason and authorizationDenied`() async throws {
        let fixture = try LogindFixture()
        try fixture.startLogind()
        fixture.behave("refuse")
        let session = fixture.session()
        guard case .refused(let why) = session.status else {
            Issue.record("\(session.status)")
            return
        }
        #expect(why.contains("Permission denied"))
        #expect(why.contains("org.freedesktop.login1.inhibit-block-sleep"))
        session.invalidate()
        #expect(session.status == .ended)
        #expect(await diagnostics(of: session) == [.authorizationDenied])
    }

    @Test func `an answer without a descriptor is not a lock`() throws {
        let fixture = try LogindFixture()
        try fixture.startLogind("strange")
        guard case .refused(let why) = fixture.session().status else {
            Issue.record("an answer without a descriptor must be refused")
            return
        }
        #expect(why.contains("no file descriptor"))
    }

    @Test func `without logind no lock is needed`() throws {
        let fixture = try LogindFixture()
        guard case .unneeded(let why) = fixture.session().status else {
            Issue.record("without logind, the session must not need a lock")
            return
        }
        #expect(why.contains("systemd-logind does not run"))
    }

    @Test func `without a bus no lock is needed`() async {
        let session = session(at: "unix:path=/nowhere/at/all")
        guard case .unneeded = session.status else {
            Issue.record("\(session.status)")
            return
        }
        session.invalidate()
        #expect(await diagnostics(of: session) == [[]])
    }

    @Test(arguments: ["nonsense", "", "unix:"]) func `an invalid bus address is refused, not unneeded`(
        address: String
    ) {
        let session = session(at: address)
        guard case .refused = session.status else {
            Issue.record("\(session.status)")
            return
        }
    }

    private func session(at address: String) -> BackgroundActivitySession {
        BackgroundActivitySession(
            reason: "tests", provider: LogindInhibitor(program: "tests", busAddress: address))
    }
}
