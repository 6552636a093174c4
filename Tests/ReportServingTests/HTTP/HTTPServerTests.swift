import BaseTypes
import Testing

@testable import ReportServing

@Suite struct HTTPServerTests {
    @Test func `paths and queries are decoded, and answers forbid content from other servers`() async throws {
        let fixture = try ServerFixture()
        let answer = try await fixture.get("/here%20now?a=1&b=%26")
        #expect(answer.hasPrefix("HTTP/1.1 200"))
        #expect(answer.hasSuffix("\r\n\r\n/here now"))
        #expect(answer.contains("Content-Security-Policy: default-src 'none';"))
        #expect(answer.contains("X-Content-Type-Options: nosniff"))
        #expect(fixture.asked.map(\.query) == [[.init(key: "a", value: "1"), .init(key: "b", value: "&")]])
    }

    @Test func `if the client's ETag is current, the answer is 304 without a body`() async throws {
        let fixture = try ServerFixture()
        let first = try await fixture.get("/")
        let line = try #require(first.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") })
        let tag = line.dropFirst("ETag: ".count)
        let again = try await fixture.get("/", "If-None-Match: \(tag)")
        #expect(again.hasPrefix("HTTP/1.1 304"))
        #expect(again.hasSuffix("\r\n\r\n"))
        let other = try await fixture.get("/", "If-None-Match: \"other\"")
        #expect(other.hasPrefix("HTTP/1.1 200"))
    }

    @Test func `a connection answers several requests one after another`() async throws {
        let fixture = try ServerFixture()
        let client = try Client(fixture.port)
        for number in 1...3 {
            try client.send("GET /\(number) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await fixture.turn(until: "answer \(number)") {
                client.read()
                return client.text.hasSuffix("\r\n\r\n/\(number)")
            }
        }
        #expect(fixture.server.counters.connections == 1)
        #expect(fixture.server.counters.answers == [200: 3])
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    ])
    func `a request without Host, or with two, gets 400`(_ head: String) async throws {
        let fixture = try ServerFixture()
        #expect(try await fixture.ask(head).hasPrefix("HTTP/1.1 400"))
        #expect(fixture.asked.isEmpty)
    }

    @Test func `DNS rebinding: a Host that does not name this server gets 421`() async throws {
        let fixture = try ServerFixture()
        let answer = try await fixture.ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 421"))
        #expect(fixture.asked.isEmpty)
    }

    @Test(arguments: ["http://evil.example", "null", "https://localhost.evil.example", "http://127.0.0.1:1"])
    func `a request with another Origin gets 403`(_ origin: String) async throws {
        let fixture = try ServerFixture()
        #expect(try await fixture.get("/", "Origin: \(origin)").hasPrefix("HTTP/1.1 403"))
        #expect(fixture.asked.isEmpty)
        #expect(try await fixture.get("/", "Origin: http://127.0.0.1:\(fixture.port)").hasPrefix("HTTP/1.1 200"))
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"])
    func `a method other than GET and HEAD gets 405`(_ method: String) async throws {
        let fixture = try ServerFixture()
        let answer = try await fixture.ask("\(method) / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 405"))
        #expect(answer.contains("\r\nAllow: GET, HEAD\r\n"))
        #expect(fixture.asked.isEmpty)
    }

    @Test(arguments: ["Content-Length: 5", "Content-Length: 99999999999", "Transfer-Encoding: chunked"])
    func `a request with a body gets 413`(_ header: String) async throws {
        let fixture = try ServerFixture()
        let answer = try await fixture.ask("GET / HTTP/1.1\r\nHost: localhost\r\n\(header)\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 413"))
        #expect(fixture.asked.isEmpty)
    }

    @Test func `a head of 40,000 bytes is refused, and other clients are still answered`() async throws {
        let fixture = try ServerFixture()
        let answer = try await fixture.ask(
            "GET / HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "x", count: 40_000))\r\n\r\n")
        #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 431") || answer.hasPrefix("HTTP/1.1 4"))
        #expect(fixture.asked.isEmpty)
        #expect(try await fixture.get("/next").hasSuffix("/next"))
    }

    @Test func `a head that is not complete after 30 s is dropped, also if bytes still arrive`() async throws {
        let fixture = try ServerFixture()
        let client = try Client(fixture.port)
        try client.send("GET / HT")
        try await fixture.turn(until: "the client is connected") { fixture.server.connectionCount == 1 }
        fixture.time = fixture.time + .seconds(29)
        try fixture.turn()
        client.read()
        #expect(!client.isClosed)
        try client.send("T")
        fixture.time = fixture.time + .seconds(2)
        try await fixture.turn(until: "the connection is dropped") {
            client.read()
            return client.isClosed && fixture.server.connectionCount == 0
        }
        #expect(fixture.server.counters.dropped == 1)
    }

    @Test func `an answer that a client does not read within 30 s is dropped`() async throws {
        let fixture = try ServerFixture()
        fixture.answer = { _ in .whole(.init(contentType: "text/plain", body: [UInt8](repeating: 65, count: 32 << 20)))
        }
        let client = try Client(fixture.port)
        try client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await fixture.turn(until: "the request is received") { fixture.asked.count == 1 }
        fixture.time = fixture.time + .seconds(31)
        try await fixture.turn(until: "the connection is dropped") { fixture.server.connectionCount == 0 }
        #expect(fixture.server.counters.dropped == 1)
    }

    @Test func `only the configured proxy can connect`() async throws {
        var settings = HTTPServerSettings()
        settings.onlyFrom = InternetAddress("127.0.0.2")
        let fixture = try ServerFixture(settings)
        let anonymous = try Client(fixture.port)
        try await fixture.turn(until: "the other client is refused") {
            anonymous.read()
            return anonymous.isClosed
        }
        #expect(fixture.server.counters.turnedAway == 1)
        let proxy = try Client(fixture.port, from: "127.0.0.2")
        try proxy.send("GET /p HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await fixture.turn(until: "the proxy is answered") { try proxy.isAnswered() }
        #expect(proxy.text.hasSuffix("/p"))
    }
}
