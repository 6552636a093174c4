import Foundation
import ProgramSupport
import SystemPackage
import Testing

@testable import GatewayCommands

@Suite struct ServiceNotifierTests {
    /// A manager's socket, with a path or in the abstract namespace. It is read without waiting.
    final class Manager {
        let descriptor: Int32
        let address: String

        init(_ address: String) throws {
            self.address = address
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(address.utf8)
            withUnsafeMutableBytes(of: &name.sun_path) { place in
                for (index, byte) in bytes.enumerated() { place[index] = byte == UInt8(ascii: "@") ? 0 : byte }
            }
            // A path ends with a zero byte. An abstract name is as long as the length of the address specifies.
            let length = socklen_t(2 + bytes.count + (address.hasPrefix("/") ? 1 : 0))
            let result = withUnsafePointer(to: &name) { name in
                name.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            guard result == 0 else { throw Errno(rawValue: errno) }
        }

        deinit {
            close(descriptor)
            if address.hasPrefix("/") { unlink(address) }
        }

        func received() -> String? {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
        }
    }

    private func notifier(_ variables: [String: String], processID: Int32 = 7) -> ServiceNotifier {
        ServiceNotifier(environment: { variables[$0] }, processID: processID)
    }

    private static func addresses() -> [String] {
        let number = UInt32.random(in: 0 ... .max)
        let folder = FileManager.default.temporaryDirectory.path
        return ["\(folder)/notify-\(number).sock", "@beacon-gateway-test/\(number)"]
    }

    @Test(arguments: addresses())
    func `the manager gets each message, by a path or an abstract name`(address: String) throws {
        let manager = try Manager(address)
        let notifier = notifier(["NOTIFY_SOCKET": address])
        #expect(notifier.isActive)
        #expect(notifier.problem == nil)
        try notifier.ready(status: "listening on hci0")
        #expect(manager.received() == "READY=1\nSTATUS=listening on hci0")
        try notifier.watchdog()
        #expect(manager.received() == "WATCHDOG=1")
        try notifier.stopping(status: "ending")
        #expect(manager.received() == "STOPPING=1\nSTATUS=ending")
    }

    @Test func `a reload sends the time of its start on the monotonic clock`() throws {
        let address = Self.addresses()[0]
        let manager = try Manager(address)
        let before = ProcessInfo.processInfo.systemUptime
        try notifier(["NOTIFY_SOCKET": address]).reloading()
        let lines = try #require(manager.received()).split(separator: "\n")
        #expect(lines.first == "RELOADING=1")
        let microseconds = try #require(Double(lines[1].dropFirst("MONOTONIC_USEC=".count)))
        #expect(abs(microseconds / 1e6 - before) < 60)
    }

    @Test func `a status is sent only if it has changed, and cannot contain another assignment`() throws {
        let address = Self.addresses()[0]
        let manager = try Manager(address)
        let notifier = notifier(["NOTIFY_SOCKET": address])
        try notifier.status("hci0\nREADY=1")
        #expect(manager.received() == "STATUS=hci0 READY=1")
        try notifier.status("hci0\nREADY=1")
        #expect(manager.received() == nil)
        try notifier.status("hci1")
        #expect(manager.received() == "STATUS=hci1")
    }

    @Test func `without a manager, no message is sent and no error occurs`() throws {
        let notifier = notifier([:])
        #expect(!notifier.isActive)
        #expect(notifier.problem == nil)
        try notifier.ready(status: "")
        try notifier.watchdog()
    }

    @Test(arguments: ["relative", "vsock:2:1234", "/", "@", "/" + String(repeating: "a", count: 107)])
    func `an unusable address is reported as a problem`(address: String) throws {
        let notifier = notifier(["NOTIFY_SOCKET": address])
        #expect(!notifier.isActive)
        #expect(try #require(notifier.problem).hasSuffix(address))
        try notifier.watchdog()
    }

    @Test func `if the manager's socket does not exist, an error is thrown without waiting`() throws {
        let notifier = notifier(["NOTIFY_SOCKET": "/nonexistent/notify"])
        #expect(throws: Errno.noSuchFileOrDirectory) { try notifier.watchdog() }
    }

    @Test func `if the manager does not read, an error is thrown without waiting`() throws {
        let address = Self.addresses()[0]
        let manager = try Manager(address)
        let notifier = notifier(["NOTIFY_SOCKET": address])
        #expect(throws: Errno.resourceTemporarilyUnavailable) {
            for _ in 0..<100_000 { try notifier.watchdog() }
        }
        #expect(manager.received() == "WATCHDOG=1")
    }

    @Test(arguments: [
        (["WATCHDOG_USEC": "30000000"], Duration?.some(.seconds(15))),
        (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"], .some(.seconds(15))),
        (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"], nil),
        (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "x"], nil),
        (["WATCHDOG_PID": "7"], nil), (["WATCHDOG_USEC": "1"], nil), (["WATCHDOG_USEC": "-5"], nil),
        (["WATCHDOG_USEC": "soon"], nil), (["WATCHDOG_USEC": "99999999999999999999"], nil),
    ])
    func `the watchdog interval is half of its time limit, if the watchdog watches this process`(
        variables: [String: String], interval: Duration?
    ) {
        #expect(notifier(variables).watchdogInterval == interval)
    }
}
