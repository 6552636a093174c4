import BaseTypes
import BeaconMonitoring
import BrokerSupport
import EventLoops
import Foundation
import Location
import TestSupport
import Testing

/// A real gpsd that gets the log of a receiver from gpsfake.
@Suite(.serialized) struct GPSDSourceTests {
    private static let gpsfake = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures/gpsd/gpsfake.py").path

    /// Returns the output of a receiver that moves north by 10 m per second (NMEA 0183).
    private static func log(seconds: Int) -> String {
        func sentence(_ text: String) -> String {
            let sum = text.utf8.reduce(0 as UInt8) { $0 ^ $1 }
            return "$\(text)*\(String(format: "%02X", sum))\r\n"
        }
        return (0..<seconds).map { second in
            let minutes = (48.2082 - 48) * 60 + Double(second) * 10 / 1852
            let place = String(format: "48%08.5f,N,01622.42800,E", minutes)
            let time = String(format: "0746%02d.00", second % 60)
            return sentence("GPGGA,\(time),\(place),1,08,0.9,180.0,M,43.0,M,,")
                + sentence("GPGSA,A,3,04,05,09,12,24,25,29,31,,,,,1.8,0.9,1.5")
                + sentence("GPRMC,\(time),A,\(place),19.44,000.0,211126,,,A")
        }.joined()
    }

    /// A gpsd of the test that runs until `end()`.
    private final class Daemon {
        private let process: SpawnedProcess
        private let folder: URL

        init(port: UInt16) throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("gpsd-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let file = folder.appendingPathComponent("ride.nmea")
            try GPSDSourceTests.log(seconds: 40).write(to: file, atomically: true, encoding: .ascii)
            process = try SpawnedProcess(
                "/usr/bin/python3",
                [GPSDSourceTests.gpsfake, "-n", "-q", "-c", "0.02", "-P", "\(port)", file.path], output: .null,
                errors: .null)
        }

        func end() {
            // gpsfake ends its gpsd if it gets SIGINT.
            process.endWithDescendants(SIGINT)
        }

        deinit {
            end()
            _ = try? FileManager.default.removeItem(at: folder)
        }
    }

    @Test func `fixes of a real gpsd arrive, and arrive again after gpsd has ended and restarted`() throws {
        let held = try HeldPort()
        let loop = try EventLoop()
        let notes = Notes()
        let source = GPSDSource(host: "localhost", port: held.number, on: loop)
        source.start(notes)
        defer { source.stop() }
        // gpsd does not run yet.
        try loop.turn(until: "the missing gpsd is reported") { !notes.reasons.isEmpty }
        #expect(notes.fixes.isEmpty)
        var daemon: Daemon? = try Daemon(port: held.number)
        try loop.turn(until: "20 fixes are received") { notes.fixes.count >= 20 }
        for fix in notes.fixes {
            #expect(abs(fix.coordinate.longitude - 16.3738) < 0.0001)
            #expect((48.2081...48.213).contains(fix.coordinate.latitude))
            // HDOP 0.9 times gpsd's 19 m.
            #expect(fix.horizontalAccuracy > 5 && fix.horizontalAccuracy < 30)
            #expect(fix.time <= loop.now)
        }
        #expect(zip(notes.fixes, notes.fixes.dropFirst()).allSatisfy { $0.time <= $1.time })
        let losses = notes.reasons.count
        daemon?.end()
        try loop.turn(until: "its end is noticed") { notes.reasons.count > losses }
        #expect(notes.reasons.last?.hasPrefix("gpsd can't be used") == true)
        daemon = try Daemon(port: held.number)
        let before = notes.fixes.count
        try loop.turn(until: "more fixes are received") { notes.fixes.count > before + 5 }
        #expect(source.counters.connections >= 2)
        #expect(source.counters.malformed == 0)
        withExtendedLifetime((daemon, held)) {}
    }

    /// Returns a source, and the other end of its connection, at which the test acts as gpsd.
    private static func connected(on loop: EventLoop, _ notes: Notes) throws -> (source: GPSDSource, peer: Int32) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(listener, $0, length)
                _ = getsockname(listener, $0, &length)
            }
        }
        try #require(listen(listener, 4) == 0)
        let source = GPSDSource(host: "127.0.0.1", port: UInt16(bigEndian: address.sin_port), on: loop)
        source.start(notes)
        let peer = accept(listener, nil, nil)
        try #require(peer >= 0)
        return (source, peer)
    }

    private static let position = Array(#"{"class":"TPV","mode":3,"lat":48.2,"lon":16.4,"eph":5}"#.utf8) + [0x0A]

    /// Sends positions until the connection accepts no more.
    private static func fill(_ peer: Int32, _ position: [UInt8] = position) {
        let many = [[UInt8]](repeating: position, count: 200).flatMap { $0 }
        while send(peer, many, many.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) == many.count {}
    }

    @Test func `if gpsd sends without a pause, 64 records are handled in 100 ms, and other timers still run`() throws {
        var now = at(0)
        let loop = try EventLoop { now }
        let notes = Notes()
        let (source, peer) = try Self.connected(on: loop, notes)
        defer { source.stop() }
        defer { close(peer) }
        // The connection is open, and no data were sent yet.
        try loop.turn(waits: false)
        for round in 1...20 {
            Self.fill(peer)
            // Another timer must be handled in each turn.
            var isHandled = false
            let other = loop.makeTimer { _ in isHandled = true }
            defer { loop.end(other) }
            loop.set(other, at: now)
            try loop.turn(waits: false)
            #expect(isHandled)
            // A drain and the turns that follow must not handle more records.
            source.drain()
            for _ in 0..<5 { try loop.turn(waits: false) }
            #expect(notes.fixes.count == 64 * round)
            now = now + .milliseconds(100)
        }
        #expect(source.counters.pauses == 20)
        #expect(notes.changes == [.flags(.authorizationRequestInProgress), .flags([])])
    }

    @Test func `a stop of 70 s in a pause is not a loss, and the waiting reports are handled first`() throws {
        var now = at(0)
        let loop = try EventLoop { now }
        let notes = Notes()
        let (source, peer) = try Self.connected(on: loop, notes)
        defer { source.stop() }
        defer { close(peer) }
        try loop.turn(waits: false)
        Self.fill(peer)
        try loop.turn(waits: false)
        now = at(70)
        try loop.turn(waits: false)
        #expect(notes.fixes.count == 128 && notes.reasons == [])
    }

    @Test func `there is a pause even if the use of a record takes long`() throws {
        var now = at(0)
        let loop = try EventLoop { now }
        let notes = Notes()
        let (source, peer) = try Self.connected(on: loop, notes)
        defer { source.stop() }
        defer { close(peer) }
        try loop.turn(waits: false)
        // One read returns about ten of them.
        Self.fill(peer, [UInt8](repeating: 0x20, count: 800) + Self.position)
        notes.noted = { now = now + .milliseconds(50) }
        try loop.turn(waits: false)
        #expect((64...128).contains(notes.fixes.count))
    }

    @Test func `a connection that is reset in a pause has ended, and is not read again`() throws {
        let now = at(0)
        let loop = try EventLoop { now }
        let notes = Notes()
        let (source, peer) = try Self.connected(on: loop, notes)
        defer { source.stop() }
        try loop.turn(waits: false)
        Self.fill(peer)
        try loop.turn(waits: false)
        #expect(source.counters.pauses == 1)
        // The connection is reset, and unsent data are dropped (socket(7), SO_LINGER).
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(peer, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        close(peer)
        try loop.turn(waits: false)
        #expect(notes.reasons == ["gpsd can't be used: it closed the connection"])
        #expect(notes.fixes.count == 64)
    }

    @Test func `a server that sends random bytes and closes the connection causes no fix and no trap`() throws {
        let loop = try EventLoop()
        let notes = Notes()
        let (source, peer) = try Self.connected(on: loop, notes)
        defer { source.stop() }
        var random = SeededGenerator(state: SeededGenerator.seed)
        for _ in 0..<50 {
            let rubbish = (0..<2000).map { _ in UInt8.random(in: 0...255, using: &random) }
            send(peer, rubbish, rubbish.count, Int32(MSG_NOSIGNAL))
            source.drain()
        }
        try loop.turn(until: "malformed lines are counted") { source.counters.malformed > 0 }
        close(peer)
        try loop.turn(until: "the connection is lost") { !notes.reasons.isEmpty }
        #expect(notes.fixes.isEmpty)
    }
}
