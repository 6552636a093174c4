import Testing

@testable import ReportServing

/// Requests whose end or body length a proxy can interpret differently (RFC 9112 §11.2). No byte after the head of such
/// a request must be answered as another request.
@Suite struct FramingTests {
    private static let inner = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
    private static let length = inner.utf8.count

    private static func get(_ headers: String) -> String {
        "GET /first HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n\r\n"
    }

    /// Returns the bytes received on a connection that sends `head` and a request after it, until the server closes it.
    private func send(_ head: String, to fixture: ServerFixture) async throws -> String {
        let client = try Client(fixture.port)
        client.send(Array((head + Self.inner).utf8))
        try await fixture.turn(until: "the connection is closed") {
            client.read()
            return client.isClosed
        }
        return client.text
    }

    @Test(arguments: [
        "Content-Length : \(length)", "Content-Length\t: \(length)", " Content-Length: \(length)",
        "X: y\r\n Content-Length: \(length)", "X: y\r\n\tContent-Length: \(length)", "Content-Length:\r\n \(length)",
        "Content-Length: 0\r\n \(length)", "Content-Length: 0\r\n\t\(length)", "Content-Length: 0\u{0}\(length)",
        "Content-Length: 0\u{0}\u{0}X\u{0}y", "Content-Length: 0\u{0}\u{0}", "Content-Length\u{0}: \(length)",
        "Content-Length: +\(length)", "Content-Length: -0", "Content-Length: 0x2A", "Content-Length: 0, \(length)",
        "Content-Length:", "Content-Length: 0 ", "Content-Length:\u{0B}\(length)", "Content-Length \(length)",
        "Transfer-Encoding : chunked", "Transfer-Encoding\u{0C}: chunked", "\u{0C}Transfer-Encoding: chunked",
        "Transfer-Encoding:\r\n chunked", "Transfer-Encoding: \u{0B}chunked", "X: y\nTransfer-Encoding: chunked",
        "X: y\rTransfer-Encoding: chunked", "X: y\r\n\rTransfer-Encoding: chunked",
        "X: y\u{0}Transfer-Encoding: chunked",
        "X Y: z", "X(Y): z", ": z", "X: \u{1}", "X: \u{7F}", "\u{FF}X: y", "Host : localhost", "X: y\n", "\n",
    ])
    func `a head that violates RFC 9112 gets 400, and the connection is closed`(headers: String) async throws {
        let fixture = try ServerFixture()
        let answer = try await send(Self.get(headers), to: fixture)
        #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
        #expect(answer.contains("Connection: close\r\n"))
        #expect(fixture.asked.isEmpty)
    }

    @Test(arguments: [
        "GET /first HTTP/1.1\nHost: localhost\n\n", "GET  /first HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /first HTTP/1.1\r\n Host: localhost\r\nHost: localhost\r\n\r\n",
        "GET /first\u{0}/x HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /first\u{0} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /first\u{0}HTTP/1.1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /first?a=b\u{0}c HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET \u{0}/first HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /first\u{1} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /first?a=\u{7F} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /fi\trst HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /first\t HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /first\r HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /first?a=%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ])
    func `an invalid request line, or a NUL in it, gets 400, and the connection is closed`(head: String) async throws {
        let fixture = try ServerFixture()
        #expect(try await send(head, to: fixture).hasPrefix("HTTP/1.1 400 "))
        #expect(fixture.asked.isEmpty)
    }

    @Test(arguments: [
        "Content-Length: \(length)", "Content-Length: 00", "Content-Length: 0\r\nContent-Length: \(length)",
        "Content-Length: \(length)\r\nContent-Length: 0", "Transfer-Encoding: chunked",
        "Transfer-Encoding: identity", "Transfer-Encoding: xchunked", "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 0\r\nTransfer-Encoding: chunked",
    ])
    func `a body of any length gets 413, and the connection is closed`(headers: String) async throws {
        let fixture = try ServerFixture()
        let answer = try await send(Self.get(headers), to: fixture)
        #expect(answer.hasPrefix("HTTP/1.1 413 ") && answer.contains("Connection: close\r\n"), "\(answer)")
        #expect(fixture.asked.isEmpty)
    }

    @Test(arguments: [
        ("Expect: 100-continue", "417"), ("Host: evil.example", "400"), ("Origin: http://evil.example", "403"),
        ((0..<100).map { "X\($0): y" }.joined(separator: "\r\n") + "\r\nOrigin: http://evil.example", "431"),
    ])
    func `every refusal closes the connection`(headers: String, status: String) async throws {
        let fixture = try ServerFixture()
        let answer = try await send(Self.get(headers), to: fixture)
        #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.contains("Connection: close\r\n"), "\(answer)")
        #expect(fixture.asked.isEmpty)
    }

    @Test func `Content-Length: 0 is answered, and the connection is closed`() async throws {
        let fixture = try ServerFixture()
        let answer = try await send(Self.get("Content-Length: 0"), to: fixture)
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("Connection: close\r\n"))
        #expect(fixture.asked.map(\.path) == ["/first"])
    }

    @Test(arguments: [
        "X: y", "X:y", "X:\t y", "X:", "X: y ", "X: \u{E4}\u{1F3E0}", "!#$%&'*+-.^_`|~09azAZ: y", "X: y: z",
        (0..<90).map { "X\($0): y" }.joined(separator: "\r\n"), "Cookie: a=b; c=\"d\"", "Upgrade: h2c",
    ])
    func `requests with valid headers (RFC 9112) are answered one after another`(headers: String) async throws {
        let fixture = try ServerFixture()
        let client = try Client(fixture.port)
        for _ in 0..<3 { try client.send(Self.get(headers)) }
        try await fixture.turn(until: "all requests are answered") {
            client.read()
            return fixture.server.counters.answers[200] == 3
        }
        #expect(fixture.asked.map(\.path) == ["/first", "/first", "/first"])
        // Queries use the same memory as headers.
        #expect(try await fixture.get("/q?a=b&c=%26&d", headers).hasPrefix("HTTP/1.1 200 "))
        #expect(fixture.asked.last?.query.map(\.key) == ["a", "c", "d"])
    }

    @Test(arguments: [
        (1, 8000, "200"), (100, 10, "200"), (101, 1, "414"), (301, 1, "414"), (2000, 1, "414"), (100, 100, "414"),
        (2, 6000, "414"), (1, 40_000, "414"),
    ])
    func `a query with more than 100 parameters, or one that is too long, gets 414 and reaches no handler`(
        members: Int, length: Int, status: String
    ) async throws {
        let fixture = try ServerFixture()
        let member = "a=" + String(repeating: "x", count: length)
        let answer = try await fixture.get("/q?" + Array(repeating: member, count: members).joined(separator: "&"))
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer.prefix(200))")
        #expect(fixture.asked.first?.query.count == (status == "200" ? members : nil))
    }
}
