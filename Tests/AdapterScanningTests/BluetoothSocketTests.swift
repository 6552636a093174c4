import BaseTypes
import BluetoothLE
import EventLoops
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import AdapterScanning

private final class Deaf: ScanHandler {
    var changes: [ScanChange] = []
    func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {}
    func changed(_ change: ScanChange, at time: Instant) { changes.append(change) }
}

/// Whether Bluetooth sockets exist for this thread. The kernel must support them, and only its initial network
/// namespace has them.
private var hasBluetooth: Bool {
    do throws(Errno) {
        _ = try BluetoothSocket(.control, receiveBufferBytes: 4096)
        return true
    } catch {
        return error != .addressFamilyNotSupported
    }
}

/// Moves this thread to a new network namespace. The kernel has Bluetooth only in the initial one (unshare(2); Linux:
/// bt_sock_create() in net/bluetooth/af_bluetooth.c).
private func leaveNetwork() throws {
    typealias Unshare = @convention(c) (CInt) -> CInt
    let function = try #require(dlsym(nil, "unshare"))
    // CLONE_NEWNET
    try #require(unsafeBitCast(function, to: Unshare.self)(0x4000_0000) == 0)
}

@Suite struct BluetoothSocketTests {
    @Test(
        .enabled(if: !hasBluetooth || geteuid() == 0, "this user may not change the network namespace"),
        arguments: [ScannerBackend.management, .hci])
    func `if the kernel has no Bluetooth, start fails with the remedy`(backend: ScannerBackend) async throws {
        try await BlockingThreads(width: 1).run {
            if hasBluetooth { try leaveNetwork() }
            let loop = try EventLoop()
            let scanner: any AdvertisingScanner =
                backend == .hci ? HCIScanner(loop: loop) : ManagementScanner(loop: loop)
            #expect(scanner.backend == backend)
            let handler = Deaf()
            let error = #expect(throws: ScannerError.self) { try scanner.start(handler) }
            #expect(error?.kind == .unavailable)
            #expect(error?.description.contains("modprobe bluetooth") == true)
            // A scanner that could not start has nothing to drain, no step to take and nothing to stop.
            scanner.drain()
            guard case .skipped = scanner.take(.restartScan, on: 0) else {
                Issue.record("a scanner that could not start took a step")
                return
            }
            scanner.stop()
            #expect(handler.changes == [])
        }
    }

    /// A message that arrives between a read that finds none and the reading of a clock must not count as received
    /// before that read. Otherwise the messages of a whole stop of the process lose their receive times, and beacons
    /// exit that were present.
    @Test func `T5: a message that arrives in a stop of the process after an empty read keeps its time`() throws {
        var ends: [CInt] = [-1, -1]
        try #require(unsafe socketpair(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
        let other = FileDescriptor(rawValue: ends[1])
        defer { try? other.close() }
        var now = Instant.second(100)
        // When the message arrived. The process is then stopped for three seconds, before it reads the clock.
        var arrival: Instant?
        var stops = false
        let socket = BluetoothSocket(FileDescriptor(rawValue: ends[0]), at: now)
        let queue = ReceiveQueue(socket) {
            if stops, arrival == nil {
                arrival = now + .milliseconds(1)
                now = now + .seconds(3)
                _ = try? other.writeAll([1])
            }
            return now
        }
        stops = true
        // A read that still finds nothing says nothing about the time after it.
        if !queue.fill(before: .earliest) {
            #expect(try socket.emptyAt < #require(arrival))
            queue.beginTurn()
            #expect(queue.fill(before: .earliest))
        }
        #expect(try socket.emptyAt < #require(arrival))
    }

    @Test func `T5: after a stop of the process, a message can be as old as the last read that found none`() {
        let now = Instant.second(5000)
        let wall: Int64 = 1_795_247_187_000_000_000
        func time(_ age: Int64) -> Instant {
            ReceiveTime.time(stamp: wall - age, now: now, wall: wall, emptyAt: now - .seconds(8))
        }
        #expect(time(8_000_000_000) == now - .seconds(8))
        #expect(time(8_000_000_001) == now)
        #expect(time(1_500_000_000) == now - .milliseconds(1500))
        #expect(time(-1) == now)
    }

    @Test func `T1: a receive timestamp is used as an age if the age is 0 to 1 s, else the time is now`() {
        let now = Instant.second(5000)
        let wall: Int64 = 1_795_247_187_000_000_000
        func time(_ age: Int64) -> Instant { ReceiveTime.time(stamp: wall - age, now: now, wall: wall, emptyAt: now) }
        #expect(time(0) == now)
        #expect(time(1) == now - .nanoseconds(1))
        #expect(time(1_000_000_000) == now - .seconds(1))
        #expect(time(1_000_000_001) == now)
        #expect(time(-1) == now)
        #expect(ReceiveTime.time(stamp: nil, now: now, wall: wall, emptyAt: now) == now)
        #expect(ReceiveTime.time(stamp: .min, now: now, wall: wall, emptyAt: now) == now)
        #expect(ReceiveTime.time(stamp: .max, now: now, wall: .min, emptyAt: now) == now)
        #expect(ReceiveTime.time(stamp: 0, now: .earliest, wall: 5, emptyAt: .latest) == .earliest)
    }

    @Test(
        arguments: [
            (.notPermitted, .denied, "the management channel"), (.permissionDenied, .denied, "the management channel"),
            (.addressFamilyNotSupported, .unavailable, "modprobe bluetooth"),
            (.protocolNotSupported, .unavailable, "modprobe bluetooth"),
            (.tooManyOpenFiles, .unavailable, "the management channel"),
        ] as [(Errno, ScannerError.Kind, String)])
    func `the errno of a refused socket decides kind and text`(error: Errno, kind: ScannerError.Kind, says: String) {
        let found = ScannerError.noSocket(error, for: "the management channel")
        #expect(found.kind == kind)
        #expect(found.description.contains(says))
        #expect(found.description.contains("\(error)"))
    }

    @Test func `a status is printed with the kernel's name for it, if there is one, and its number`() {
        #expect("\(ManagementStatus.busy)" == "busy (status 0x0a)")
        #expect("\(ManagementStatus.permissionDenied)" == "permission denied (status 0x14)")
        #expect("\(ManagementStatus(rawValue: 0xFF))" == "status 0xff")
    }

    @Test func `numbers are read in little-endian order and never outside the bytes`() {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 6]
        #expect(bytes.span.number16(at: 4) == 0x0605)
        #expect(bytes.span.number16(at: 5) == nil)
        #expect(bytes.span.number32(at: 2) == 0x0605_0403)
        #expect(bytes.span.number32(at: 3) == nil)
        #expect(bytes.span.address48(at: 0) == 0x0605_0403_0201)
        #expect(bytes.span.address48(at: 1) == nil)
        #expect(bytes.span.byte(at: -1) == nil)
        #expect(bytes.span.number16(at: -1) == nil)
    }
}
