import BaseTypes
import Testing

@testable import ReportServing

@Suite struct HTTPStreamTests {
    /// A stream of what a test puts there.
    final class Source {
        var waiting: [UInt8] = []
        var asked = 0
        func stream() -> HTTPStream {
            let stream = HTTPStream { [self] octets in
                asked += 1
                octets += waiting
                waiting = []
            }
            stream.isWokenForLines = true
            return stream
        }
    }

    static let head = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"

    @Test func `a stream waits without work, and goes on when it is woken`() async throws {
        let world = try ServerWorld()
        let source = Source()
        world.answer = { _ in .stream(source.stream()) }
        let client = try Client(world.port)
        try client.send(Self.head)
        try await world.turn(until: "the stream waits") { source.asked == 1 && world.server.streamCount == 1 }
        for _ in 0..<100 { try world.turn() }
        #expect(source.asked == 1)
        source.waiting = Array("data: one\n\n".utf8)
        world.server.wakeStreams()
        try await world.turn(until: "it has come") {
            client.read()
            return client.text.contains("data: one\n\n")
        }
    }

    @Test func `a stream without events shows that it lives, and one whose client is gone ends`() async throws {
        let world = try ServerWorld()
        let source = Source()
        world.answer = { _ in .stream(source.stream()) }
        var client: Client? = try Client(world.port)
        try client?.send(Self.head)
        try await world.turn(until: "the stream waits") { source.asked == 1 }
        world.time = world.time + .seconds(16)
        try await world.turn(until: "a sign of life has come") {
            client?.read()
            return client?.text.contains("\r\n:\n\n\r\n") == true
        }
        client = nil
        // The first octets after it find a closed socket, the next find it reset.
        try await world.turn(until: "it has ended") {
            world.time = world.time + .seconds(16)
            return world.server.connectionCount == 0
        }
        #expect(world.server.streamCount == 0)
    }

    @Test func `a client that takes nothing costs one piece, and is dropped`() async throws {
        let world = try ServerWorld()
        let source = Source()
        var pieces = 0
        world.answer = { _ in
            .stream(
                HTTPStream { octets in
                    pieces += 1
                    octets += [UInt8](repeating: 65, count: HTTPStream.pieceMax)
                })
        }
        let client = try Client(world.port)
        try client.send(Self.head)
        // Until the kernel's buffers on both sides are full.
        var (before, quiet) = (-1, 0)
        try await world.turn(until: "nothing more is asked for") {
            quiet = pieces == before ? quiet + 1 : 0
            before = pieces
            return pieces > 0 && quiet > 1000
        }
        world.time = world.time + .seconds(31)
        try await world.turn(until: "it is dropped") { world.server.connectionCount == 0 }
        #expect(world.server.counters.dropped == 1)
        _ = (client, source)
    }

    @Test func `more streams than there may be are told to come back`() async throws {
        var settings = HTTPServerSettings()
        settings.streamsMax = 2
        let world = try ServerWorld(settings)
        world.answer = { $0.path == "/events" ? .stream(Source().stream()) : .whole(.text(200, "here")) }
        let clients = try (0..<3).map { _ in try Client(world.port) }
        for client in clients { try client.send(Self.head) }
        try await world.turn(until: "one is refused") { world.server.counters.answers[503] == 1 }
        #expect(world.server.streamCount == 2)
        #expect(try await world.get("/").hasSuffix("here\n"))
    }

    @Test func `clients that are gone take nobody's place, though nothing was sent since`() async throws {
        var settings = HTTPServerSettings()
        settings.streamsMax = 2
        let world = try ServerWorld(settings)
        world.answer = { _ in .stream(Source().stream()) }
        var clients = try (0..<2).map { _ in try Client(world.port) }
        for client in clients { try client.send(Self.head) }
        try await world.turn(until: "both wait") { world.server.streamCount == 2 }
        clients = []
        // Nobody looks at those that wait.
        for _ in 0..<100 { try world.turn() }
        #expect(world.server.streamCount == 2)
        let next = try Client(world.port)
        try next.send(Self.head)
        try await world.turn(until: "he is in their place") { world.server.streamCount == 1 }
        #expect(world.server.counters.answers == [200: 3])
    }

    @Test func `a server that is stopped ends its streams`() async throws {
        let world = try ServerWorld()
        world.answer = { _ in .stream(Source().stream()) }
        let client = try Client(world.port)
        try client.send(Self.head)
        try await world.turn(until: "the stream waits") { world.server.streamCount == 1 }
        world.server.stop()
        try await world.turn(until: "it is closed") {
            client.read()
            return client.isClosed
        }
    }
}
