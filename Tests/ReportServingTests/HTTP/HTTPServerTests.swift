import BaseTypes
import Testing

@testable import ReportServing

@Suite struct HTTPServerTests {
    @Test func `paths and queries are decoded, and answers forbid content from other servers`() async throws {
        let world = try ServerWorld()
        let answer = try await world.get("/here%20now?a=1&b=%26")
        #expect(answer.hasPrefix("HTTP/1.1 200"))
        #expect(answer.hasSuffix("\r\n\r\n/here now"))
        #expect(answer.contains("Content-Security-Policy: default-src 'none';"))
        #expect(answer.contains("X-Content-Type-Options: nosniff"))
        #expect(world.asked.map(\.query) == [[.init(key: "a", value: "1"), .init(key: "b", value: "&")]])
    }

    @Test func `if the client's ETag is current, the answer is 304 without a body`() async throws {
        let world = try ServerWorld()
        let first = try await world.get("/")
        let line = try #require(first.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") })
        let tag = line.dropFirst("ETag: ".count)
        let again = try await world.get("/", "If-None-Match: \(tag)")
        #expect(again.hasPrefix("HTTP/1.1 304"))
        #expect(again.hasSuffix("\r\n\r\n"))
        let other = try await world.get("/", "If-None-Match: \"other\"")
        #expect(other.hasPrefix("HTTP/1.1 200"))
    }

    @Test func `a connection answers several requests one after another`() async throws {
        let world = try ServerWorld()
        let client = try Client(world.port)
        for number in 1...3 {
            try client.send("GET /\(number) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await world.turn(until: "answer \(number)") {
                client.read()
                return client.text.hasSuffix("\r\n\r\n/\(number)")
            }
        }
        #expect(world.server.counters.connections == 1)
        #expect(world.server.counters.answers == [200: 3])
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    ])
    func `a request without Host, or with two, gets 400`(_ head: String) async throws {
        let world = try ServerWorld()
        #expect(try await world.ask(head).hasPrefix("HTTP/1.1 400"))
        #expect(world.asked.isEmpty)
    }

    @Test func `DNS rebinding: a Host that does not name this server gets 421`() async throws {
        let world = try ServerWorld()
        let answer = try await world.ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 421"))
        #expect(world.asked.isEmpty)
    }

    @Test(arguments: ["http://evil.example", "null", "https://localhost.evil.example", "http://127.0.0.1:1"])
    func `a request with another Origin gets 403`(_ origin: String) async throws {
        let world = try ServerWorld()
        #expect(try await world.get("/", "Origin: \(origin)").hasPrefix("HTTP/1.1 403"))
        #expect(world.asked.isEmpty)
        #expect(try await world.get("/", "Origin: http://127.0.0.1:\(world.port)").hasPrefix("HTTP/1.1 200"))
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"])
    func `a method other than GET and HEAD gets 405`(_ method: String) async throws {
        let world = try ServerWorld()
        let answer = try await world.ask("\(method) / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 405"))
        #expect(answer.contains("\r\nAllow: GET, HEAD\r\n"))
        #expect(world.asked.isEmpty)
    }

    @Test(arguments: ["Content-Length: 5", "Content-Length: 99999999999", "Transfer-Encoding: chunked"])
    func `a request with a body gets 413`(_ header: String) async throws {
        let world = try ServerWorld()
        let answer = try await world.ask("GET / HTTP/1.1\r\nHost: localhost\r\n\(header)\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 413"))
        #expect(world.asked.isEmpty)
    }

    @Test func `a head of 40,000 bytes is refused, and other clients are still answered`() async throws {
        let world = try ServerWorld()
        let answer = try await world.ask(
            "GET / HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "x", count: 40_000))\r\n\r\n")
        #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 431") || answer.hasPrefix("HTTP/1.1 4"))
        #expect(world.asked.isEmpty)
        #expect(try await world.get("/next").hasSuffix("/next"))
    }

    @Test func `a head that is not complete after 30 s is dropped, also if bytes still arrive`() async throws {
        let world = try ServerWorld()
        let client = try Client(world.port)
        try client.send("GET / HT")
        try await world.turn(until: "the client is connected") { world.server.connectionCount == 1 }
        world.time = world.time + .seconds(29)
        try world.turn()
        client.read()
        #expect(!client.isClosed)
        try client.send("T")
        world.time = world.time + .seconds(2)
        try await world.turn(until: "the connection is dropped") {
            client.read()
            return client.isClosed && world.server.connectionCount == 0
        }
        #expect(world.server.counters.dropped == 1)
    }

    @Test func `an answer that a client does not read within 30 s is dropped`() async throws {
        let world = try ServerWorld()
        world.answer = { _ in .whole(.init(contentType: "text/plain", body: [UInt8](repeating: 65, count: 32 << 20))) }
        let client = try Client(world.port)
        try client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await world.turn(until: "the request is received") { world.asked.count == 1 }
        world.time = world.time + .seconds(31)
        try await world.turn(until: "the connection is dropped") { world.server.connectionCount == 0 }
        #expect(world.server.counters.dropped == 1)
    }

    @Test func `only the configured proxy can connect`() async throws {
        var settings = HTTPServerSettings()
        settings.onlyFrom = InternetAddress("127.0.0.2")
        let world = try ServerWorld(settings)
        let stranger = try Client(world.port)
        try await world.turn(until: "the other client is refused") {
            stranger.read()
            return stranger.isClosed
        }
        #expect(world.server.counters.turnedAway == 1)
        let proxy = try Client(world.port, from: "127.0.0.2")
        try proxy.send("GET /p HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await world.turn(until: "the proxy is answered") { try proxy.isAnswered() }
        #expect(proxy.text.hasSuffix("/p"))
    }
}
