import BaseTypes
import TestSupport
import Testing

@testable import ReportServing

/// Attacks on a port. Tests check limits and counters, not times.
@Suite struct UnderFireTests {
    @Test func `200 clients that read nothing block no others, get no more pieces, and are dropped`() async throws {
        let fixture = try ServerFixture()
        var pieces = 0
        fixture.answer = { request in
            guard request.path == "/events" else { return .whole(.text(200, "here")) }
            return .stream(
                HTTPStream { bytes in
                    pieces += 1
                    bytes += [UInt8](repeating: 65, count: HTTPStream.pieceMax)
                })
        }
        var clients: [Client] = []
        for _ in 0..<200 {
            let client = try Client(fixture.port)
            try client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            clients.append(client)
            // The kernel queues at most 128 connections that were not accepted.
            try fixture.turn()
        }
        let settings = HTTPServerSettings()
        try await fixture.turn(until: "as many clients as allowed are served, and the others are refused") {
            fixture.server.streamCount == settings.streamsMax
                && fixture.server.counters.answers[503] == 200 - settings.streamsMax
        }
        #expect(try await fixture.ask("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").hasSuffix("here\n"))
        #expect(fixture.server.counters.streamsMost == settings.streamsMax)
        // If a client does not read, its stream must not produce more pieces.
        var (before, quiet) = (-1, 0)
        try await fixture.turn(until: "no more data is requested") {
            quiet = pieces == before ? quiet + 1 : 0
            before = pieces
            return quiet > 1000
        }
        fixture.time = fixture.time + .seconds(31)
        try await fixture.turn(until: "all connections are dropped") { fixture.server.connectionCount <= 1 }
        #expect(fixture.server.streamCount == 0)
        _ = clients
    }

    @Test func `an address has at most 10 connections, and others are still accepted`() async throws {
        var settings = HTTPServerSettings()
        settings.connectionsPerAddressMax = 10
        let fixture = try ServerFixture(settings)
        let clients = try (0..<40).map { _ in try Client(fixture.port) }
        try await fixture.turn(until: "the connections over the limit are closed") {
            for client in clients { client.read() }
            return clients.count(where: \.isClosed) == 30
        }
        #expect(fixture.server.connectionCount == 10)
        #expect(fixture.server.counters.connectionsMost == 10)
        let other = try Client(fixture.port, from: "127.0.0.9")
        try other.send("GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await fixture.turn(until: "the other client is answered") { try other.isAnswered() }
        #expect(other.text.hasSuffix("/other"))
    }

    @Test func `if all places are taken, a new client replaces a connection of the flooding addresses`() async throws {
        var settings = HTTPServerSettings()
        (settings.connectionsMax, settings.connectionsPerAddressMax) = (40, 40)
        let fixture = try ServerFixture(settings)
        // These requests are started and never completed. Only a deadline would end them, and the clock does not move
        // here.
        var clients: [Client] = []
        for number in 0..<40 {
            let client = try Client(fixture.port, from: "127.0.0.\(2 + number % 2)")
            try client.send("GET / HTTP/1.1\r\nHo")
            clients.append(client)
            try fixture.turn()
        }
        try await fixture.turn(until: "all places are taken") { fixture.server.connectionCount == 40 }
        for _ in 0..<5 {
            let honest = try Client(fixture.port, from: "127.0.0.9")
            try honest.send("GET /honest HTTP/1.1\r\nHost: localhost\r\n\r\n")
            clients.append(honest)
            try await fixture.turn(until: "the honest client is answered") { try honest.isAnswered() }
            #expect(honest.text.hasSuffix("/honest"))
        }
        try await fixture.turn(until: "the limit of connections is reached") { fixture.server.connectionCount == 40 }
        #expect(fixture.server.counters.dropped == 5)
        for client in clients[40...] {
            client.read()
            #expect(!client.isClosed)
        }
    }

    @Test func `1,000 damaged requests reach no handler and leave no connection open`() async throws {
        let fixture = try ServerFixture()
        var generator = SeededGenerator(state: SeededGenerator.seed)
        let good = Array("GET /secret HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n\r\n".utf8)
        let count = 1000
        for _ in 0..<count {
            var bytes = good
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.removeSubrange(place..<min(bytes.count, place + 5))
                default: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
                }
                if bytes.isEmpty { bytes = [0] }
            }
            let client = try Client(fixture.port)
            client.send(bytes)
            client.endSending()
            try await fixture.turn(until: "the connection is closed") {
                // An incomplete request ends only at its deadline, so the clock must move.
                fixture.time = fixture.time + .seconds(1)
                client.read()
                return client.isClosed
            }
        }
        try await fixture.turn(until: "all connections are closed") { fixture.server.connectionCount == 0 }
        // No damage can change the foreign name into a name of this server.
        #expect(fixture.asked.isEmpty)
        #expect(fixture.server.counters.connections == count)
        #expect(fixture.server.counters.connectionsMost == 1)
        #expect(fixture.server.counters.answers[200] == nil)
    }

    @Test func `200 requests that announce a body of 1 GiB get 405, and the body is not read`() async throws {
        let fixture = try ServerFixture()
        let body = String(repeating: "x", count: 100_000)
        for number in 0..<200 {
            let client = try Client(fixture.port)
            try client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(1 << 30)\r\n\r\n\(body)")
            try await fixture.turn(until: "the connection is closed") {
                client.read()
                return client.isClosed
            }
            #expect(client.text.isEmpty || client.text.hasPrefix("HTTP/1.1 405"), "\(number)")
        }
        #expect(fixture.asked.isEmpty)
        #expect(fixture.server.counters.answers == [405: 200])
    }
}
