import BaseTypes
import BluetoothLE
import Foundation
import SystemPackage
import Testing

@testable import AdapterScanning
@testable import EventLoops

/// The common code of the scanners that use the kernel's sockets. The test acts as the kernel at the other end of a
/// pair of sockets.
@Suite struct ManagementChannelTests {
    /// The kernel's side.
    private final class Kernel {
        /// The kernel's end of the last pair of sockets. A read returns 0 bytes if the scanner has closed its end.
        private(set) var other: FileDescriptor
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bgk-\(UUID().uuidString)")
        private var openings = 0

        init() throws {
            other = FileDescriptor(rawValue: -1)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }

        deinit {
            try? other.close()
            try? FileManager.default.removeItem(at: folder)
        }

        /// Returns the access that a scanner gets. If rfkill exists, it is a regular file, which cannot be waited for
        /// (epoll_ctl(2), EPERM).
        func access(rfkillIsThere: Bool) throws -> KernelAccess {
            var access = KernelAccess()
            access.openControl = { [unowned self] _ throws(Errno) in try open() }
            access.mayUseRawChannel = { true }
            let rfkill = folder.appendingPathComponent("rfkill").path
            if rfkillIsThere { try Data().write(to: URL(fileURLWithPath: rfkill)) }
            access.rfkill = FilePath(rfkillIsThere ? rfkill : rfkill + "-none")
            return access
        }

        private func open() throws(Errno) -> BluetoothSocket {
            var pair: [Int32] = [-1, -1]
            let kind = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            guard socketpair(AF_UNIX, kind, 0, &pair) == 0 else { throw Errno(rawValue: errno) }
            try? other.close()
            other = FileDescriptor(rawValue: pair[1])
            // The answer to Read Management Supported Commands: Set Powered, Add Advertisement Patterns Monitor.
            reply(to: 0x0002, of: 0xFFFF, [2, 0, 0, 0, 0x05, 0, 0x52, 0])
            return BluetoothSocket(FileDescriptor(rawValue: pair[0]))
        }

        /// Sends bytes that are not a valid message.
        func rubbish() { _ = try? other.writeAll([1, 2, 3]) }

        /// Sends Command Complete with success.
        func reply(to opcode: UInt16, of index: UInt16, _ result: [UInt8]) {
            var message: [UInt8] = []
            message.append16(0x0001)
            message.append16(index)
            message.append16(UInt16(result.count + 3))
            message.append16(opcode)
            _ = try? other.writeAll(message + [0] + result)
        }

        /// Returns the operation codes of the commands since the last call; `nil` if the scanner has closed its end.
        func commands() -> [UInt16]? {
            var opcodes: [UInt16] = []
            var buffer = [UInt8](repeating: 0, count: 512)
            while let count = try? buffer.withUnsafeMutableBytes({ try other.read(into: $0) }) {
                if count == 0 { return nil }
                opcodes.append(UInt16(buffer[0]) | UInt16(buffer[1]) << 8)
            }
            return opcodes
        }
    }

    private static func scanner(
        _ backend: ScannerBackend, on loop: EventLoop, _ access: KernelAccess
    ) -> any AdvertisingScanner {
        if backend == .hci {
            let scanner = HCIScanner(loop: loop)
            scanner.kernel = access
            return scanner
        }
        let scanner = ManagementScanner(loop: loop)
        scanner.kernel = access
        return scanner
    }

    @Test(arguments: [ScannerBackend.management, .hci])
    func `if rfkill cannot be waited for, start fails with this reason, and no closed socket is watched`(
        backend: ScannerBackend
    ) throws {
        let loop = try EventLoop()
        let kernel = try Kernel()
        let scanner = Self.scanner(backend, on: loop, try kernel.access(rfkillIsThere: true))
        let recorder = Recorder()
        let error = #expect(throws: ScannerError.self) { try scanner.start(recorder) }
        #expect(error?.kind == .unavailable)
        #expect(error?.description == "the process can't wait for Bluetooth: \(Errno.notPermitted)")
        #expect(loop.watchCount == 0)
        #expect(kernel.commands() == nil)
        try loop.turn(waits: false)
        #expect(recorder.changes == [])
    }

    private static func malformed(_ scanner: any AdvertisingScanner) -> Int {
        (scanner as? HCIScanner)?.statistics.malformed ?? (scanner as? ManagementScanner)?.statistics.malformed ?? -1
    }

    @Test(arguments: [ScannerBackend.management, .hci])
    func `a turn of the loop takes 64 messages and rests after the last one, and T5: a drain takes all`(
        backend: ScannerBackend
    ) throws {
        // The clock does not advance, so a rest would not end by itself.
        let now = Instant(nanoseconds: 1_000_000_000_000)
        let loop = try EventLoop { now }
        let kernel = try Kernel()
        let scanner = Self.scanner(backend, on: loop, try kernel.access(rfkillIsThere: false))
        try scanner.start(Recorder())
        for _ in 0..<150 { kernel.rubbish() }
        // A rest is requested in each turn, as each report does.
        loop.afterWaiting = { loop.restAfterTurn(for: .milliseconds(1)) }
        var counts: [Int] = []
        for _ in 0..<4 {
            try loop.turn()
            counts.append(Self.malformed(scanner))
        }
        #expect(counts == [64, 128, 150, 150])
        loop.afterWaiting = nil
        try loop.turn(waits: false)
        for _ in 0..<150 { kernel.rubbish() }
        scanner.drain()
        #expect(Self.malformed(scanner) == 300)
        scanner.stop()
    }

    @Test(arguments: [ScannerBackend.management, .hci])
    func `a reply after more messages than a turn takes is not late, however long the process was stopped`(
        backend: ScannerBackend
    ) throws {
        var now = Instant(nanoseconds: 1_000_000_000_000)
        let loop = try EventLoop { now }
        let kernel = try Kernel()
        let scanner = Self.scanner(backend, on: loop, try kernel.access(rfkillIsThere: false))
        let recorder = Recorder()
        try scanner.start(recorder)
        #expect(kernel.commands() == [0x0002, 0x0003])
        kernel.reply(to: 0x0003, of: 0xFFFF, [1, 0, 0, 0])
        try loop.turn(waits: false)
        #expect(kernel.commands() == [0x0004])
        for _ in 0..<100 { kernel.rubbish() }
        kernel.reply(to: 0x0004, of: 0, Self.information)
        now = now + .seconds(60)
        try loop.turn(waits: false)
        // The command is not repeated.
        #expect(recorder.appearances == 1)
        #expect(kernel.commands()?.contains(0x0004) == false)
        scanner.stop()
    }

    /// The answer to Read Controller Information: address, version, manufacturer, supported and current settings,
    /// class, names.
    private static let information: [UInt8] =
        [1, 0, 0, 1, 0xAA, 0, 8, 0xF1, 5, 1, 2, 0, 0, 1, 2, 0, 0] + [UInt8](repeating: 0, count: 263)

    @Test(arguments: [ScannerBackend.management, .hci])
    func `a scanner starts without rfkill, reports adapters, and closes all at stop`(backend: ScannerBackend) throws {
        let loop = try EventLoop()
        let kernel = try Kernel()
        var scanner: (any AdvertisingScanner)? = Self.scanner(
            backend, on: loop, try kernel.access(rfkillIsThere: false))
        let recorder = Recorder()
        for _ in 0..<2 {
            recorder.changes = []
            try scanner?.start(recorder)
            #expect(loop.watchCount == 1)
            #expect(kernel.commands() == [0x0002, 0x0003])
            kernel.reply(to: 0x0003, of: 0xFFFF, [1, 0, 0, 0])
            try loop.turn(waits: false)
            #expect(kernel.commands() == [0x0004])
            kernel.reply(to: 0x0004, of: 0, Self.information)
            try loop.turn(waits: false)
            let appearance = recorder.changes.first { if case .appeared = $0 { true } else { false } }
            guard case .appeared(0, _, let address)? = appearance else {
                Issue.record("no adapter appeared: \(recorder.changes)")
                return
            }
            #expect(address == DeviceAddress(0x00AA_0100_0001, kind: .public))
            scanner?.stop()
            #expect(loop.watchCount == 0)
            #expect(kernel.commands() == nil)
        }
        // A scanner that is released while it runs leaves no watch either.
        try scanner?.start(recorder)
        scanner = nil
        #expect(loop.watchCount == 0)
        try loop.turn(waits: false)
    }
}
