import BaseTypes
import EventLoops
import Glibc
import SystemPackage
import TestSupport

@testable import ReportServing

/// A server and its clients in one event loop, with a clock that the test sets.
final class ServerFixture {
    private final class Clock { var now = Instant(nanoseconds: 1) }

    private let clock = Clock()
    var time: Instant {
        get { clock.now }
        set { clock.now = newValue }
    }
    let loop: EventLoop
    private(set) var server: HTTPServer!
    private(set) var port: UInt16 = 0
    var asked: [HTTPRequest] = []
    var answer: (HTTPRequest) -> HTTPAnswer = { .whole(.init(contentType: "text/plain", body: Array($0.path.utf8))) }

    init(_ settings: HTTPServerSettings = HTTPServerSettings()) throws {
        var settings = settings
        // The library's own limit uses the clock of the machine, and a busy machine can be slow.
        settings.idleSecondsMax = 3600
        loop = try EventLoop(clock: { [clock] in clock.now })
        let listener = try InternetAddress("127.0.0.1")!.listen(port: 0)
        port = listener.port
        server = try HTTPServer(listener.socket, settings, on: loop) { [unowned self] request in
            asked.append(request)
            return answer(request)
        }
    }

    deinit { server.stop() }

    func turn() throws { try loop.turn(waits: false) }

    /// Runs turns of the loop until a condition is true.
    func turn(until what: String, _ isSo: () throws -> Bool) async throws {
        try await until(what, saw: "\(asked.map(\.path).suffix(5)) asked") {
            try turn()
            return try isSo()
        }
    }

    /// Returns the answer to `head`. It ends by its own length, or when the server closes the connection.
    func ask(_ head: String) async throws -> String {
        let client = try Client(port)
        try client.send(head)
        try await turn(until: "an answer") { try client.isAnswered() }
        return client.text
    }

    /// Returns the answer to a GET request for `path`.
    func get(_ path: String, _ headers: String...) async throws -> String {
        try await ask("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(headers.map { $0 + "\r\n" }.joined())\r\n")
    }
}

/// A client with a plain socket.
final class Client {
    let descriptor: Int32
    private(set) var received: [UInt8] = []
    private(set) var isClosed = false

    init(_ port: UInt16, from address: String? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var here = sockaddr_in()
        here.sin_family = sa_family_t(AF_INET)
        if let address {
            inet_pton(AF_INET, address, &here.sin_addr)
            _ = Self.call(&here) { bind(descriptor, $0, $1) }
        }
        inet_pton(AF_INET, "127.0.0.1", &here.sin_addr)
        here.sin_port = port.bigEndian
        guard Self.call(&here, { connect(descriptor, $0, $1) }) == 0 else { throw Errno(rawValue: errno) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close(descriptor) }

    private static func call(
        _ address: inout sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    var text: String { String(decoding: received, as: UTF8.self) }

    func send(_ text: String) throws { send(Array(text.utf8)) }

    /// Ends the sending direction of the connection.
    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    func send(_ bytes: [UInt8]) {
        // If the server has closed the connection, the next read shows it.
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Reads the bytes that have arrived; at most about `limit` in total.
    func read(atMost limit: Int = .max) {
        var part = [UInt8](repeating: 0, count: min(65_536, limit))
        while received.count < limit {
            let count = Glibc.read(descriptor, &part, part.count)
            if count == 0 || count < 0 && errno != EAGAIN { isClosed = true }
            guard count > 0 else { return }
            received += part[..<count]
            if limit != .max { return }
        }
    }

    /// Reads, and returns whether an answer is complete by its own length, or the connection was closed.
    func isAnswered() throws -> Bool {
        read()
        guard !isClosed else { return true }
        guard let end = text.firstRange(of: "\r\n\r\n"), let length = text.firstRange(of: "Content-Length: ") else {
            return text.hasPrefix("HTTP/1.1 304") && text.contains("\r\n\r\n")
        }
        let count = Int(text[length.upperBound...].prefix { $0.isNumber }) ?? 0
        return text[end.upperBound...].utf8.count >= count
    }
}
