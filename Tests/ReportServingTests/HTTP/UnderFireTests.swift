import BaseTypes
import TestSupport
import Testing

@testable import ReportServing

/// What strangers do to a port: bounds and counters are held, not times.
@Suite struct UnderFireTests {
    @Test func `200 clients that take nothing keep nobody out, cost a piece each, and are dropped`() async throws {
        let world = try ServerWorld()
        var pieces = 0
        world.answer = { request in
            guard request.path == "/events" else { return .whole(.text(200, "here")) }
            return .stream(
                HTTPStream { octets in
                    pieces += 1
                    octets += [UInt8](repeating: 65, count: HTTPStream.pieceMax)
                })
        }
        var clients: [Client] = []
        for _ in 0..<200 {
            let client = try Client(world.port)
            try client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            clients.append(client)
            // The kernel's queue holds 128 that were not accepted.
            try world.turn()
        }
        let settings = HTTPServerSettings()
        try await world.turn(until: "as many as may are served, and the others told so") {
            world.server.streamCount == settings.streamsMax
                && world.server.counters.answers[503] == 200 - settings.streamsMax
        }
        #expect(try await world.ask("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").hasSuffix("here\n"))
        #expect(world.server.counters.streamsMost == settings.streamsMax)
        // A stream that nobody takes from is not asked for more.
        var (before, quiet) = (-1, 0)
        try await world.turn(until: "nothing more is asked for") {
            quiet = pieces == before ? quiet + 1 : 0
            before = pieces
            return quiet > 1000
        }
        world.time = world.time + .seconds(31)
        try await world.turn(until: "all are dropped") { world.server.connectionCount <= 1 }
        #expect(world.server.streamCount == 0)
        _ = clients
    }

    @Test func `an address has its bound of connections, and others theirs`() async throws {
        var settings = HTTPServerSettings()
        settings.connectionsPerAddressMax = 10
        let world = try ServerWorld(settings)
        let clients = try (0..<40).map { _ in try Client(world.port) }
        try await world.turn(until: "what is too much is closed") {
            for client in clients { client.read() }
            return clients.count(where: \.isClosed) == 30
        }
        #expect(world.server.connectionCount == 10)
        #expect(world.server.counters.connectionsMost == 10)
        let other = try Client(world.port, from: "127.0.0.9")
        try other.send("GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await world.turn(until: "the other is answered") { try other.isAnswered() }
        #expect(other.text.hasSuffix("/other"))
    }

    @Test func `who fills the server is in his own way, and in nobody else's`() async throws {
        var settings = HTTPServerSettings()
        (settings.connectionsMax, settings.connectionsPerAddressMax) = (40, 40)
        let world = try ServerWorld(settings)
        // Begun, and left: nothing ends them but time, which stands still here.
        var clients: [Client] = []
        for number in 0..<40 {
            let client = try Client(world.port, from: "127.0.0.\(2 + number % 2)")
            try client.send("GET / HTTP/1.1\r\nHo")
            clients.append(client)
            try world.turn()
        }
        try await world.turn(until: "all places are taken") { world.server.connectionCount == 40 }
        for _ in 0..<5 {
            let honest = try Client(world.port, from: "127.0.0.9")
            try honest.send("GET /honest HTTP/1.1\r\nHost: localhost\r\n\r\n")
            clients.append(honest)
            try await world.turn(until: "the honest one is answered") { try honest.isAnswered() }
            #expect(honest.text.hasSuffix("/honest"))
        }
        try await world.turn(until: "there are as many as there may be") { world.server.connectionCount == 40 }
        #expect(world.server.counters.dropped == 5)
        for client in clients[40...] {
            client.read()
            #expect(!client.isClosed)
        }
    }

    @Test func `what is no request reaches no handler, and leaves nothing behind`() async throws {
        let world = try ServerWorld()
        var generator = SeededGenerator(state: SeededGenerator.seed)
        let good = Array("GET /secret HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n\r\n".utf8)
        let count = 1000
        for _ in 0..<count {
            var octets = good
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                let place = Int.random(in: 0..<octets.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: octets[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: octets.removeSubrange(place..<min(octets.count, place + 5))
                default: octets.insert(UInt8.random(in: 0...255, using: &generator), at: place)
                }
                if octets.isEmpty { octets = [0] }
            }
            let client = try Client(world.port)
            client.send(octets)
            client.endSending()
            try await world.turn(until: "it is over") {
                // What is no whole request is waited for, until the deadline.
                world.time = world.time + .seconds(1)
                client.read()
                return client.isClosed
            }
        }
        try await world.turn(until: "all are gone") { world.server.connectionCount == 0 }
        // No damage makes the stranger's name one of ours.
        #expect(world.asked.isEmpty)
        #expect(world.server.counters.connections == count)
        #expect(world.server.counters.connectionsMost == 1)
        #expect(world.server.counters.answers[200] == nil)
    }

    @Test func `a flood of bodies is not read`() async throws {
        let world = try ServerWorld()
        let body = String(repeating: "x", count: 100_000)
        for number in 0..<200 {
            let client = try Client(world.port)
            try client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(1 << 30)\r\n\r\n\(body)")
            try await world.turn(until: "it is over") {
                client.read()
                return client.isClosed
            }
            #expect(client.text.isEmpty || client.text.hasPrefix("HTTP/1.1 405"), "\(number)")
        }
        #expect(world.asked.isEmpty)
        #expect(world.server.counters.answers == [405: 200])
    }
}
