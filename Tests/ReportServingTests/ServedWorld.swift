import BaseTypes
import BeaconMonitoring
import EventLoops
import Foundation
import Glibc
import ProgramSupport
import Reports
import SystemPackage
import TestSupport

@testable import GatewayConfiguration
@testable import ReportServing

/// The machine's clock, that waits for whoever looks at it: between two looks 20 ms go by at most. Among a thousand other
/// tests one may have to wait for half a minute, and what is served has deadlines.
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

/// A folder of event files that is served, and a client in the same loop.
final class ServedWorld {
    let scratch: Scratch
    let loop: EventLoop
    var writer = LineWriter()
    var names = BeaconNames()
    /// What makes reports.
    var program = Gateway.path
    /// The folder that is served, for ``start()``.
    var directory: String
    /// Where the gateway answers; it is not asked where empty.
    var statusSocket = ""
    private(set) var served: ReportServer!
    private(set) var port: UInt16 = 0
    private var written = 0
    /// Seconds on the lines' timeline.
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

    /// Writes what was told since.
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

    /// Says that the gateway lives at `time`, and looks at it a second later.
    func live(_ time: Double) throws {
        _ = try scratch.write("alive", writer.alive(time))
        self.time = time + 1
    }

    /// A server that knows nothing yet.
    func start() throws {
        served?.stop()
        var settings = HTTPServerSettings()
        // The library's own bound goes by the machine's clock.
        settings.idleSecondsMax = 3600
        let listener = try InternetAddress("127.0.0.1")!.listen(port: 0)
        port = listener.port
        served = try ReportServer(
            ReportServer.Source(
                directory: FilePath(directory), names: names, configuration: scratch.path("gateway.yaml"),
                program: program, statusSocket: statusSocket, time: VisitsTime(isUTC: true)), listener: listener.socket,
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

    /// The whole answer of what comes in chunks.
    func getChunks(_ path: String) async throws -> String {
        try await turn(until: "all is read") {
            served.following.isCurrent && served.following.state.counts.sequence == writer.sequence
        }
        let peer = try open(path)
        try await turn(until: "\(path) is answered") {
            peer.read()
            return peer.isAtEndOfChunks
        }
        return peer.dechunked
    }

    /// The whole answer, once everything has been read.
    func get(_ path: String) async throws -> (head: String, body: String) {
        try await turn(until: "all is read") {
            served.following.isCurrent && served.following.state.counts.sequence == writer.sequence
        }
        return try await ask(path)
    }

    /// The whole answer, whatever has been read.
    func ask(_ path: String) async throws -> (head: String, body: String) {
        let peer = try open(path)
        try await turn(until: "\(path) is answered") { peer.isAnswered }
        let parts = peer.text.split(separator: "\r\n\r\n", maxSplits: 1)
        return (String(parts.first ?? ""), parts.count > 1 ? String(parts[1]) : "")
    }
}

/// A socket, as any client has.
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

    /// The bytes that the kernel keeps for the connections of a server at `port` (proc(5), `/proc/net/tcp`).
    static func unsentBytes(from port: UInt16) throws -> Int {
        let end = ":" + String(port, radix: 16, uppercase: true)
        let lines = String(decoding: try contents(of: "/proc/net/tcp"), as: UTF8.self).split(separator: "\n")
        return lines.reduce(0) { sum, line in
            let fields = line.split(separator: " ")
            guard fields.count > 4, fields[1].hasSuffix(end) else { return sum }
            return sum + (Int(fields[4].prefix { $0 != ":" }, radix: 16) ?? 0)
        }
    }

    /// Whether something can be read.
    var hasInput: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK)) > 0
    }

    deinit { close(descriptor) }

    func send(_ text: String) {
        let octets = Array(text.utf8)
        _ = Glibc.send(descriptor, octets, octets.count, Int32(MSG_NOSIGNAL))
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

    /// Whether what has come ends with something like that: all of it is not looked through each time.
    func hasRead(_ text: String) -> Bool {
        read()
        return received.suffix(4096).firstRange(of: Array(text.utf8)) != nil
    }

    /// Whether the last chunk has come (RFC 9112 §7.1).
    var isAtEndOfChunks: Bool {
        // The text of a chunk can end like that too.
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

    /// What the chunks hold that have come whole (RFC 9112 §7.1).
    var dechunked: String { String(decoding: chunks.octets, as: UTF8.self) }

    private var chunks: (octets: [UInt8], isWhole: Bool) {
        guard let head = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return ([], false) }
        var octets: [UInt8] = []
        var place = head.upperBound
        while let end = received[place...].firstIndex(of: 0x0D),
            let size = Int(String(decoding: received[place..<end], as: UTF8.self), radix: 16),
            end + 2 + size + 2 <= received.count
        {
            octets += received[end + 2..<end + 2 + size]
            place = end + 2 + size + 2
            if size == 0 { return (octets, true) }
        }
        return (octets, false)
    }

    /// The server-sent events that have come whole.
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
