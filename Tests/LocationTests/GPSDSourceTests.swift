import BeaconMonitoring
import BluetoothLE
import BrokerSupport
import Foundation
import Location
import Polling
import TestSupport
import Testing

/// A real gpsd, fed by gpsfake with the log of a receiver.
@Suite(.serialized) struct GPSDSourceTests {
    private static let gpsfake = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures/gpsd/gpsfake.py").path

    /// What a receiver writes that goes north by 10 m a second (NMEA 0183).
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

    /// A gpsd of the test's own, until it is ended.
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
            // gpsfake ends its gpsd when it is asked to end.
            process.endWithDescendants(SIGINT)
        }

        deinit {
            end()
            _ = try? FileManager.default.removeItem(at: folder)
        }
    }

    @Test func `fixes of a real gpsd; it goes away, comes back, and fixes go on`() throws {
        let held = try HeldPort()
        let loop = try EventLoop()
        let notes = Notes()
        let source = GPSDSource(host: "localhost", port: held.number, on: loop)
        source.start(notes)
        defer { source.stop() }
        // Nobody is there yet.
        try loop.turn(until: "gpsd is missed") { !notes.reasons.isEmpty }
        #expect(notes.fixes.isEmpty)
        var daemon: Daemon? = try Daemon(port: held.number)
        try loop.turn(until: "20 fixes came") { notes.fixes.count >= 20 }
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
        #expect(notes.reasons.last?.hasPrefix("gpsd is away") == true)
        daemon = try Daemon(port: held.number)
        let before = notes.fixes.count
        try loop.turn(until: "more fixes came") { notes.fixes.count > before + 5 }
        #expect(source.counters.connections >= 2)
        #expect(source.counters.malformed == 0)
        withExtendedLifetime((daemon, held)) {}
    }

    @Test func `who answers with rubbish, or with nothing, does no harm`() throws {
        let loop = try EventLoop()
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
        listen(listener, 4)
        let notes = Notes()
        let source = GPSDSource(host: "127.0.0.1", port: UInt16(bigEndian: address.sin_port), on: loop)
        source.start(notes)
        defer { source.stop() }
        let peer = accept(listener, nil, nil)
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
