import BaseTypes
import Testing

@testable import ReportServing

@Suite struct HTTPServerTests {
    @Test func `a path is answered, with what forbids a page everything from elsewhere`() async throws {
        let world = try ServerWorld()
        let answer = try await world.get("/here%20now?a=1&b=%26")
        #expect(answer.hasPrefix("HTTP/1.1 200"))
        #expect(answer.hasSuffix("\r\n\r\n/here now"))
        #expect(answer.contains("Content-Security-Policy: default-src 'none';"))
        #expect(answer.contains("X-Content-Type-Options: nosniff"))
        #expect(world.asked.map(\.query) == [[.init(key: "a", value: "1"), .init(key: "b", value: "&")]])
    }

    @Test func `what has not changed is not sent again`() async throws {
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

    @Test func `a connection takes one request after another`() async throws {
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
    func `whoever names no host, or two, is not answered`(_ head: String) async throws {
        let world = try ServerWorld()
        #expect(try await world.ask(head).hasPrefix("HTTP/1.1 400"))
        #expect(world.asked.isEmpty)
    }

    @Test func `DNS rebinding: a name that is not ours is refused`() async throws {
        let world = try ServerWorld()
        let answer = try await world.ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 421"))
        #expect(world.asked.isEmpty)
    }

    @Test(arguments: ["http://evil.example", "null", "https://localhost.evil.example", "http://127.0.0.1:1"])
    func `pages of others may not ask`(_ origin: String) async throws {
        let world = try ServerWorld()
        #expect(try await world.get("/", "Origin: \(origin)").hasPrefix("HTTP/1.1 403"))
        #expect(world.asked.isEmpty)
        #expect(try await world.get("/", "Origin: http://127.0.0.1:\(world.port)").hasPrefix("HTTP/1.1 200"))
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"])
    func `nothing can be changed`(_ method: String) async throws {
        let world = try ServerWorld()
        let answer = try await world.ask("\(method) / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 405"))
        #expect(answer.contains("\r\nAllow: GET, HEAD\r\n"))
        #expect(world.asked.isEmpty)
    }

    @Test(arguments: ["Content-Length: 5", "Content-Length: 99999999999", "Transfer-Encoding: chunked"])
    func `a body is not read`(_ header: String) async throws {
        let world = try ServerWorld()
        let answer = try await world.ask("GET / HTTP/1.1\r\nHost: localhost\r\n\(header)\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 413"))
        #expect(world.asked.isEmpty)
    }

    @Test func `a head that is too long is refused, and costs its bound alone`() async throws {
        let world = try ServerWorld()
        let answer = try await world.ask(
            "GET / HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "x", count: 40_000))\r\n\r\n")
        #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 431") || answer.hasPrefix("HTTP/1.1 4"))
        #expect(world.asked.isEmpty)
        #expect(try await world.get("/next").hasSuffix("/next"))
    }

    @Test func `whoever sends a head letter by letter is dropped by a deadline that no letter moves`() async throws {
        let world = try ServerWorld()
        let client = try Client(world.port)
        try client.send("GET / HT")
        try await world.turn(until: "it is connected") { world.server.connectionCount == 1 }
        world.time = world.time + .seconds(29)
        try world.turn()
        client.read()
        #expect(!client.isClosed)
        try client.send("T")
        world.time = world.time + .seconds(2)
        try await world.turn(until: "it is dropped") {
            client.read()
            return client.isClosed && world.server.connectionCount == 0
        }
        #expect(world.server.counters.dropped == 1)
    }

    @Test func `an answer that nobody takes is dropped by the same deadline`() async throws {
        let world = try ServerWorld()
        world.answer = { _ in .whole(.init(contentType: "text/plain", body: [UInt8](repeating: 65, count: 32 << 20))) }
        let client = try Client(world.port)
        try client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await world.turn(until: "it is asked for") { world.asked.count == 1 }
        world.time = world.time + .seconds(31)
        try await world.turn(until: "it is dropped") { world.server.connectionCount == 0 }
        #expect(world.server.counters.dropped == 1)
    }

    @Test func `only the proxy that is named may connect`() async throws {
        var settings = HTTPServerSettings()
        settings.onlyFrom = InternetAddress("127.0.0.2")
        let world = try ServerWorld(settings)
        let stranger = try Client(world.port)
        try await world.turn(until: "the stranger is turned away") {
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
