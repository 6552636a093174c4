import BaseTypes
import BeaconMonitoring
import CommandSupport
import EventLoops
import Foundation
import Glibc
import ProgramSupport
import Reports
import SystemPackage
import TestSupport

@testable import GatewayConfiguration
@testable import ReportServing

/// The clock of the machine, except that it advances by at most 20 ms between two reads. If a thousand other tests run,
/// a test can be suspended for half a minute, and the server has deadlines.
private final class PatientClock {
    private var seen = ContinuousClock.now
    private var nanoseconds: Int64 = 1

    var now: Instant {
        let time = ContinuousClock.now
        let passed = min(seen.duration(to: time), .milliseconds(20))
        seen = time
        nanoseconds += Int64(passed / .nanoseconds(1))
        return Instant(nanoseconds: nanoseconds)
    }
}

/// A server of a folder of event files, and its clients, in the same event loop.
final class ServedFixture {
    let scratch: Scratch
    let loop: EventLoop
    var writer = LineWriter()
    var names = BeaconNames()
    /// The program that makes reports.
    var program = Gateway.path
    /// The folder that ``start()`` serves.
    var directory: String
    /// The path of the gateway's status socket. If it is empty, no status is requested.
    var statusSocket = ""
    private(set) var served: ReportServer!
    private(set) var port: UInt16 = 0
    private var written = 0
    /// The present, in seconds on the timeline of the lines.
    var time = 100.0

    init(_ lines: (inout LineWriter) -> Void = { _ in }, names: BeaconNames = BeaconNames()) throws {
        scratch = try Scratch()
        directory = scratch.url.path
        let clock = PatientClock()
        loop = try EventLoop(clock: { clock.now })
        self.names = names
        lines(&writer)
        try flush()
        try start()
    }

    deinit { served.stop() }

    /// Appends the lines that were added since the last call to the event file.
    func flush() throws {
        let path = scratch.path("events-000000000001-20261121T000000Z.jsonl")
        if !FileManager.default.fileExists(atPath: path) {
            _ = try scratch.write("events-000000000001-20261121T000000Z.jsonl", "")
        }
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.seekToEnd()
        let text = writer.lines[written...].map { $0 + "\n" }.joined()
        try handle.write(contentsOf: Data(text.utf8))
        try handle.close()
        written = writer.lines.count
    }

    /// Records that the gateway was alive at `time`, and sets the present to one second later.
    func live(_ time: Double) throws {
        _ = try scratch.write("alive", writer.alive(time))
        self.time = time + 1
    }

    /// Starts a new server that has not read any line.
    func start() throws {
        served?.stop()
        var settings = HTTPServerSettings()
        // The library's own limit uses the clock of the machine, so it must not be reached.
        settings.idleSecondsMax = 3600
        let listener = try InternetAddress("127.0.0.1")!.listen(port: 0)
        port = listener.port
        served = try ReportServer(
            ReportServer.Source(
                directory: FilePath(directory), names: names, configuration: scratch.path("gateway.yaml"),
                program: program, statusSocket: statusSocket, time: ZonedTime(isUTC: true)), listener: listener.socket,
            settings,
            on: loop,
            wall: { [unowned self] in WallDate(microseconds: Int64((writer.offset + time) * 1_000_000)) })
    }

    func turn(until what: String, _ isSo: () throws -> Bool) async throws {
        try await until(what, saw: "the line \(writer.lines.count) is the last written") {
            try loop.turn(waits: false)
            return try isSo()
        }
    }

    func open(_ path: String, _ headers: String...) throws -> Peer {
        let peer = try Peer(port)
        peer.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(headers.map { $0 + "\r\n" }.joined())\r\n")
        return peer
    }

    /// Returns the complete content of a chunked answer, after all lines were read.
    func getChunks(_ path: String) async throws -> String {
        try await turn(until: "all lines are read") {
            served.following.isCurrent && served.following.state.counts.sequence == writer.sequence
        }
        let peer = try open(path)
        try await turn(until: "\(path) is answered") {
            peer.read()
            return peer.isAtEndOfChunks
        }
        return peer.dechunked
    }

    /// Returns the complete answer, after all lines were read.
    func get(_ path: String) async throws -> (head: String, body: String) {
        try await turn(until: "all lines are read") {
            served.following.isCurrent && served.following.state.counts.sequence == writer.sequence
        }
        return try await ask(path)
    }

    /// Returns the complete answer, whether or not lines were read.
    func ask(_ path: String) async throws -> (head: String, body: String) {
        let peer = try open(path)
        try await turn(until: "\(path) is answered") { peer.isAnswered }
        let parts = peer.text.split(separator: "\r\n\r\n", maxSplits: 1)
        return (String(parts.first ?? ""), parts.count > 1 ? String(parts[1]) : "")
    }
}

/// A client with a plain socket.
final class Peer {
    private let descriptor: Int32
    private(set) var received: [UInt8] = []
    private(set) var isClosed = false

    init(_ port: UInt16, from address: String = "127.0.0.1") throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard Self.call(address, 0, { bind(descriptor, $0, $1) }) == 0,
            Self.call("127.0.0.1", port, { connect(descriptor, $0, $1) }) == 0
        else { throw Errno(rawValue: errno) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    private static func call(
        _ address: String, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, address, &place.sin_addr)
        place.sin_port = port.bigEndian
        return withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    /// Returns the number of bytes in the kernel's send queues of a server at `port` (proc(5), `/proc/net/tcp`).
    static func unsentBytes(from port: UInt16) throws -> Int {
        let end = ":" + String(port, radix: 16, uppercase: true)
        let lines = String(decoding: try contents(of: "/proc/net/tcp"), as: UTF8.self).split(separator: "\n")
        return lines.reduce(0) { sum, line in
            let fields = line.split(separator: " ")
            guard fields.count > 4, fields[1].hasSuffix(end) else { return sum }
            return sum + (Int(fields[4].prefix { $0 != ":" }, radix: 16) ?? 0)
        }
    }

    /// Whether at least one byte can be read.
    var hasInput: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK)) > 0
    }

    deinit { close(descriptor) }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    func read() {
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &part, part.count)
            if count == 0 || count < 0 && errno != EAGAIN { isClosed = true }
            guard count > 0 else { return }
            received += part[..<count]
        }
    }

    var text: String { String(decoding: received, as: UTF8.self) }

    /// Reads, and returns whether the last 4,096 received bytes contain a text. Searching all bytes each time would be
    /// slow.
    func hasRead(_ text: String) -> Bool {
        read()
        return received.suffix(4096).firstRange(of: Array(text.utf8)) != nil
    }

    /// Whether the last chunk was received (RFC 9112 §7.1).
    var isAtEndOfChunks: Bool {
        // The content of a chunk can end with the same bytes.
        received[max(0, received.count - 5)...].elementsEqual("0\r\n\r\n".utf8) && chunks.isWhole
    }

    var isAnswered: Bool {
        read()
        guard let end = text.firstRange(of: "\r\n\r\n"), let length = text.firstRange(of: "Content-Length: ") else {
            return false
        }
        let count = Int(text[length.upperBound...].prefix { $0.isNumber }) ?? 0
        return text[end.upperBound...].utf8.count >= count
    }

    /// The content of the chunks that were received completely (RFC 9112 §7.1).
    var dechunked: String { String(decoding: chunks.bytes, as: UTF8.self) }

    private var chunks: (bytes: [UInt8], isWhole: Bool) {
        guard let head = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return ([], false) }
        var bytes: [UInt8] = []
        var place = head.upperBound
        while let end = received[place...].firstIndex(of: 0x0D),
            let size = Int(String(decoding: received[place..<end], as: UTF8.self), radix: 16),
            end + 2 + size + 2 <= received.count
        {
            bytes += received[end + 2..<end + 2 + size]
            place = end + 2 + size + 2
            if size == 0 { return (bytes, true) }
        }
        return (bytes, false)
    }

    /// The server-sent events that were received completely.
    var events: [(id: String, data: String)] {
        read()
        let text = dechunked
        var events: [(id: String, data: String)] = []
        var id = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("id: ") { id = String(line.dropFirst(4)) }
            if line.hasPrefix("data: {"), line.hasSuffix("}") { events.append((id, String(line.dropFirst(6)))) }
        }
        return events
    }
}
