import Glibc
import TestSupport
import Testing

@testable import ReportServing

/// The memory of answers to clients that do not read.
@Suite struct BodyTests {
    private static let size = 1 << 20

    private static func response(_ byte: UInt8, _ size: Int = size) -> HTTPResponse {
        HTTPResponse(contentType: "text/plain", body: [UInt8](repeating: byte, count: size))
    }

    /// Returns a client that has sent a request and reads nothing.
    private static func client(_ path: String, _ fixture: ServerFixture) async throws -> Client {
        let count = fixture.asked.count
        let client = try Client(fixture.port)
        try client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await fixture.turn(until: "\(path) is answered") { fixture.asked.count > count }
        return client
    }

    /// Returns the text that a client has received: its answer, or the start of a large one.
    private static func start(_ client: Client, _ fixture: ServerFixture) async throws -> String {
        try await fixture.turn(until: "an answer starts") {
            client.read(atMost: 500)
            return !client.received.isEmpty
        }
        return client.text
    }

    @Test func `clients that get the same answer share its bytes`() async throws {
        let fixture = try ServerFixture()
        let response = Self.response(65)
        fixture.answer = { _ in .whole(response) }
        var clients: [Client] = []
        for _ in 0..<50 { clients.append(try await Self.client("/", fixture)) }
        #expect(fixture.server.bodyBytes == Self.size)
        #expect(fixture.server.counters.answers == [200: 50])
        // One of them reads, and must get all bytes.
        try await fixture.turn(until: "the client has read everything") { try clients[0].isAnswered() }
        #expect(clients[0].received.suffix(Self.size).allSatisfy { $0 == 65 })
        #expect(fixture.server.bodyBytes == Self.size)
        clients = []
        try await fixture.turn(until: "no answer is sent") { fixture.server.connectionCount == 0 }
        #expect(fixture.server.bodyBytes == 0)
    }

    @Test func `an answer that has no room gets 503, and small ones are still sent`() async throws {
        var settings = HTTPServerSettings()
        settings.bodyBytesMax = 3 * Self.size
        let fixture = try ServerFixture(settings)
        var number: UInt8 = 65
        fixture.answer = { request in
            if request.path == "/small" { return .whole(Self.response(97, BodiesInUse.smallMax)) }
            defer { number += 1 }
            return .whole(Self.response(number))
        }
        var clients: [Client] = []
        for _ in 0..<3 { clients.append(try await Self.client("/large", fixture)) }
        let refused = try await Self.client("/large", fixture)
        try await fixture.turn(until: "the request is refused") { try refused.isAnswered() }
        let text = refused.text
        #expect(text.hasPrefix("HTTP/1.1 503") && text.contains("\r\nRetry-After: 5\r\n"), "\(text)")
        #expect(text.hasSuffix("too many bytes are being sent to other clients\ntry again in 5 s\n"), "\(text)")
        #expect(fixture.server.counters.bodiesRefused == 1)
        #expect(fixture.server.bodyBytes == 3 * Self.size)
        #expect(try await fixture.get("/small").hasPrefix("HTTP/1.1 200"))
        // A client that disconnects makes room.
        clients.removeLast()
        try await fixture.turn(until: "there is room") { fixture.server.bodyBytes == 2 * Self.size }
        #expect(try await fixture.get("/large").hasPrefix("HTTP/1.1 200"))
        #expect(fixture.server.counters.bodiesRefused == 1)
        _ = clients
    }

    @Test func `one answer that is larger than the bound is sent, and takes no room from others`() async throws {
        var settings = HTTPServerSettings()
        settings.bodyBytesMax = Self.size
        let fixture = try ServerFixture(settings)
        var number: UInt8 = 65
        fixture.answer = { request in
            defer { number += 1 }
            return .whole(Self.response(number, request.path == "/huge" ? 3 * Self.size : Self.size))
        }
        let huge = try await Self.client("/huge", fixture)
        #expect(try await Self.start(huge, fixture).hasPrefix("HTTP/1.1 200"))
        let large = try await Self.client("/large", fixture)
        #expect(try await Self.start(large, fixture).hasPrefix("HTTP/1.1 200"))
        #expect(fixture.server.bodyBytes == 4 * Self.size)
        for path in ["/huge", "/large"] {
            #expect(try await Self.start(Self.client(path, fixture), fixture).hasPrefix("HTTP/1.1 503"))
        }
        try await fixture.turn(until: "the huge answer is read") { try huge.isAnswered() }
        try await fixture.turn(until: "the huge answer takes no room any more") {
            fixture.server.bodyBytes == Self.size
        }
        #expect(try await Self.start(Self.client("/huge", fixture), fixture).hasPrefix("HTTP/1.1 200"))
        _ = large
    }

    @Test func `an address can use half of the room, and other addresses the rest`() async throws {
        var settings = HTTPServerSettings()
        (settings.bodyBytesMax, settings.bodyBytesPerAddressMax) = (4 * Self.size, 2 * Self.size)
        let fixture = try ServerFixture(settings)
        var number: UInt8 = 65
        fixture.answer = { _ in
            defer { number += 1 }
            return .whole(Self.response(number))
        }
        var clients: [Client] = []
        for (index, address) in ["127.0.0.2", "127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.3"].enumerated() {
            let client = try Client(fixture.port, from: address)
            try client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let start = try await Self.start(client, fixture)
            #expect(start.hasPrefix("HTTP/1.1 \(index == 2 ? 503 : 200)"), "\(index)")
            clients.append(client)
        }
        #expect(fixture.server.bodyBytes == 4 * Self.size)
        clients = []
        try await fixture.turn(until: "no answer is sent") { fixture.server.connectionCount == 0 }
        #expect(fixture.server.bodyBytes == 0)
    }

    @Test func `an answer larger than the share of an address is sent, and the next after it has ended`() async throws {
        var settings = HTTPServerSettings()
        (settings.bodyBytesMax, settings.bodyBytesPerAddressMax) = (4 * Self.size, 2 * Self.size)
        let fixture = try ServerFixture(settings)
        var number: UInt8 = 65
        fixture.answer = { request in
            defer { number += 1 }
            return .whole(Self.response(number, request.path == "/huge" ? 3 * Self.size : Self.size))
        }
        var client: Client? = try await Self.client("/huge", fixture)
        #expect(try await Self.start(#require(client), fixture).hasPrefix("HTTP/1.1 200"))
        // Four other answers have room in addition to it.
        var others: [Client] = []
        for address in ["127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.3"] {
            let other = try Client(fixture.port, from: address)
            try other.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await Self.start(other, fixture).hasPrefix("HTTP/1.1 200"))
            others.append(other)
        }
        #expect(fixture.server.bodyBytes == 7 * Self.size)
        #expect(try await Self.start(Self.client("/huge", fixture), fixture).hasPrefix("HTTP/1.1 503"))
        client = nil
        try await fixture.turn(until: "the answer is not sent any more") { fixture.server.bodyBytes == 4 * Self.size }
        #expect(try await Self.start(Self.client("/huge", fixture), fixture).hasPrefix("HTTP/1.1 200"))
        _ = others
    }

    @Test func `the answer to a HEAD request takes no room`() async throws {
        var settings = HTTPServerSettings()
        settings.bodyBytesMax = Self.size
        let fixture = try ServerFixture(settings)
        var number: UInt8 = 65
        fixture.answer = { _ in
            defer { number += 1 }
            return .whole(Self.response(number))
        }
        let client = try await Self.client("/", fixture)
        let head = try Client(fixture.port)
        try head.send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await fixture.turn(until: "the head is sent") {
            head.read()
            return head.text.contains("\r\n\r\n")
        }
        let text = head.text
        #expect(text.hasPrefix("HTTP/1.1 200") && text.contains("\r\nContent-Length: \(Self.size)\r\n"), "\(text)")
        // The connection gets no body for the HEAD request. There is no room for its next answer.
        try head.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await fixture.turn(until: "the next request is refused") {
            head.read()
            return head.text.contains("HTTP/1.1 503")
        }
        #expect(fixture.server.bodyBytes == Self.size)
        _ = client
    }

    @Test func `the 304 answer to a client that has the content takes no room`() async throws {
        var settings = HTTPServerSettings()
        settings.bodyBytesMax = Self.size
        let fixture = try ServerFixture(settings)
        let response = Self.response(65)
        var isFull = false
        fixture.answer = { _ in .whole(isFull ? Self.response(66) : response) }
        let client = try await Self.client("/", fixture)
        isFull = true
        #expect(try await Self.start(Self.client("/", fixture), fixture).hasPrefix("HTTP/1.1 503"))
        let known = try await fixture.get("/", "If-None-Match: \(Self.response(66).body.tag)")
        #expect(known.hasPrefix("HTTP/1.1 304"))
        #expect(fixture.server.bodyBytes == Self.size)
        _ = client
    }

    @Test func `the kernel buffers at most 32 KiB of unsent bytes for a connection`() async throws {
        let fixture = try ServerFixture()
        let client = try Client(fixture.port)
        try await fixture.turn(until: "the client is connected") { fixture.server.connectionCount == 1 }
        let socket = try #require(fixture.server.connections.values.first).socket
        var (bytes, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        #expect(getsockopt(socket, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &bytes, &length) == 0)
        #expect(bytes == 32 << 10)
        _ = client
    }
}
