import BaseTypes
import Testing

@testable import ReportServing

@Suite struct HTTPStreamTests {
    /// A source of streams, with bytes that the test sets.
    final class Source {
        var waiting: [UInt8] = []
        var asked = 0
        func stream() -> HTTPStream {
            let stream = HTTPStream { [self] bytes in
                asked += 1
                bytes += waiting
                waiting = []
            }
            stream.isWokenForLines = true
            return stream
        }
    }

    static let head = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"

    @Test func `a waiting stream costs no work, and continues when it is woken`() async throws {
        let fixture = try ServerFixture()
        let source = Source()
        fixture.answer = { _ in .stream(source.stream()) }
        let client = try Client(fixture.port)
        try client.send(Self.head)
        try await fixture.turn(until: "the stream waits") { source.asked == 1 && fixture.server.streamCount == 1 }
        for _ in 0..<100 { try fixture.turn() }
        #expect(source.asked == 1)
        source.waiting = Array("data: one\n\n".utf8)
        fixture.server.wakeStreams()
        try await fixture.turn(until: "the event is received") {
            client.read()
            return client.text.contains("data: one\n\n")
        }
    }

    @Test func `a stream without events sends a comment within 16 s, and ends after its client closed`() async throws {
        let fixture = try ServerFixture()
        let source = Source()
        fixture.answer = { _ in .stream(source.stream()) }
        var client: Client? = try Client(fixture.port)
        try client?.send(Self.head)
        try await fixture.turn(until: "the stream waits") { source.asked == 1 }
        fixture.time = fixture.time + .seconds(16)
        try await fixture.turn(until: "a keep-alive comment is received") {
            client?.read()
            return client?.text.contains("\r\n:\n\n\r\n") == true
        }
        client = nil
        // The first bytes that are sent now reach a closed socket, and the next ones a connection that was reset.
        try await fixture.turn(until: "the stream has ended") {
            fixture.time = fixture.time + .seconds(16)
            return fixture.server.connectionCount == 0
        }
        #expect(fixture.server.streamCount == 0)
    }

    @Test func `a client that reads nothing gets no more pieces, and is dropped after 30 s`() async throws {
        let fixture = try ServerFixture()
        let source = Source()
        var pieces = 0
        fixture.answer = { _ in
            .stream(
                HTTPStream { bytes in
                    pieces += 1
                    bytes += [UInt8](repeating: 65, count: HTTPStream.pieceMax)
                })
        }
        let client = try Client(fixture.port)
        try client.send(Self.head)
        // Waits until the kernel's buffers on both sides are full.
        var (before, quiet) = (-1, 0)
        try await fixture.turn(until: "no more data is requested") {
            quiet = pieces == before ? quiet + 1 : 0
            before = pieces
            return pieces > 0 && quiet > 1000
        }
        fixture.time = fixture.time + .seconds(31)
        try await fixture.turn(until: "the connection is dropped") { fixture.server.connectionCount == 0 }
        #expect(fixture.server.counters.dropped == 1)
        _ = (client, source)
    }

    @Test func `streams beyond the limit get 503, and other paths are still answered`() async throws {
        var settings = HTTPServerSettings()
        settings.streamsMax = 2
        let fixture = try ServerFixture(settings)
        fixture.answer = { $0.path == "/events" ? .stream(Source().stream()) : .whole(.text(200, "here")) }
        let clients = try (0..<3).map { _ in try Client(fixture.port) }
        for client in clients { try client.send(Self.head) }
        try await fixture.turn(until: "one stream is refused") { fixture.server.counters.answers[503] == 1 }
        #expect(fixture.server.streamCount == 2)
        #expect(try await fixture.get("/").hasSuffix("here\n"))
    }

    @Test func `a new stream takes the place of closed ones, although nothing was sent to them since`() async throws {
        var settings = HTTPServerSettings()
        settings.streamsMax = 2
        let fixture = try ServerFixture(settings)
        fixture.answer = { _ in .stream(Source().stream()) }
        var clients = try (0..<2).map { _ in try Client(fixture.port) }
        for client in clients { try client.send(Self.head) }
        try await fixture.turn(until: "both streams wait") { fixture.server.streamCount == 2 }
        clients = []
        // The server does not check streams that wait.
        for _ in 0..<100 { try fixture.turn() }
        #expect(fixture.server.streamCount == 2)
        let next = try Client(fixture.port)
        try next.send(Self.head)
        try await fixture.turn(until: "the new client took their place") { fixture.server.streamCount == 1 }
        #expect(fixture.server.counters.answers == [200: 3])
    }

    @Test func `a server that is stopped ends its streams`() async throws {
        let fixture = try ServerFixture()
        fixture.answer = { _ in .stream(Source().stream()) }
        let client = try Client(fixture.port)
        try client.send(Self.head)
        try await fixture.turn(until: "the stream waits") { fixture.server.streamCount == 1 }
        fixture.server.stop()
        try await fixture.turn(until: "the stream is closed") {
            client.read()
            return client.isClosed
        }
    }
}
