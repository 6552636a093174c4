import BaseTypes
import Testing

@testable import ReportServing

/// Names and passwords, on a clock that is turned by hand.
@Suite struct AccessTests {
    private static let users =
        "ada:$5$rounds=1000$abcdefgh$ue35C0ITbth1b5zVUjrjm2mMmsmMKiodEeH2UV/Hq10\n"
        + "bob:$5$rounds=1000$abcdefgh$M71CZYxfSHUmAcwLMMjmRZs/O/o/0KcEzWppgyi8G/1\n"
    // base64 of "ada:correct horse", "bob:grüße: x", "ada:wrong", "eve:correct horse".
    private static let ada = "Basic YWRhOmNvcnJlY3QgaG9yc2U="
    private static let bob = "Basic Ym9iOmdyw7zDn2U6IHg="
    private static let wrong = "Basic YWRhOndyb25n"
    private static let eve = "Basic ZXZlOmNvcnJlY3QgaG9yc2U="

    private let world: ServerWorld
    private let access: BasicAccess

    init() throws {
        world = try ServerWorld()
        access = BasicAccess(try UsersFile(Array(Self.users.utf8)), on: world.loop)
        world.server.access = access
    }

    private func ask(_ header: String, from address: String? = nil) throws -> Client {
        let client = try Client(world.port, from: address)
        try client.send("GET /a HTTP/1.1\r\nHost: localhost\r\nAuthorization: \(header)\r\n\r\n")
        return client
    }

    @Test func `who says no name is asked for one, and sees nothing`() async throws {
        for header in ["X: y", "Authorization: Basic YQ==", "Authorization: Bearer x"] {
            let answer = try await world.get("/a", header)
            #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(answer)")
            #expect(answer.contains("WWW-Authenticate: Basic realm=\"beacon-gateway\", charset=\"UTF-8\"\r\n"))
            #expect(answer.contains("Cache-Control: no-store\r\n"))
        }
        #expect(world.asked.isEmpty && access.counters.hashes == 0)
    }

    @Test func `two headers are none`() async throws {
        let answer = try await world.get("/a", "Authorization: \(Self.ada)", "Authorization: \(Self.ada)")
        #expect(answer.hasPrefix("HTTP/1.1 401 ") && world.asked.isEmpty)
    }

    @Test func `who is let in is known for five minutes, and costs one hash`() async throws {
        for _ in 0..<20 {
            #expect(try await world.get("/a", "Authorization: \(Self.ada)").hasPrefix("HTTP/1.1 200 "))
        }
        #expect(access.counters.hashes == 1 && access.counters.allowed == 1)
        world.time = world.time + .seconds(299)
        _ = try await world.get("/a", "Authorization: \(Self.ada)")
        #expect(access.counters.hashes == 1)
        world.time = world.time + .seconds(2)
        #expect(try await world.get("/a", "Authorization: \(Self.ada)").hasPrefix("HTTP/1.1 200 "))
        #expect(access.counters.hashes == 2)
    }

    @Test func `a name that nobody has costs as much as a password that is wrong`() async throws {
        for header in [Self.wrong, Self.eve] {
            #expect(try await world.get("/a", "Authorization: \(header)").hasPrefix("HTTP/1.1 401 "))
            world.time = world.time + .seconds(1)
        }
        #expect(access.counters.hashes == 2 && access.counters.refused == 2 && world.asked.isEmpty)
    }

    @Test func `an unknown name costs one computation of the dearest hash`() async throws {
        let cheap = "$5$rounds=1000$abcdefgh$ue35C0ITbth1b5zVUjrjm2mMmsmMKiodEeH2UV/Hq10"
        let dear = "$y$j9T$abcdefghijkl$8s6LJgovyuqurPsVG9AbzYY6SBmbkjpwSfPi7q7VsL9"
        var computed: [String] = []
        let users = try UsersFile(Array("ada:\(cheap)\nbob:\(dear)\n".utf8))
        let counting = BasicAccess(users, on: world.loop) { _, hash in
            computed.append(hash)
            // The hash of another user is no proof.
            return true
        }
        world.server.access = counting
        for (header, status) in [(Self.eve, "401"), (Self.ada, "200"), (Self.bob, "200"), (Self.eve, "401")] {
            #expect(try await world.get("/a", "Authorization: \(header)").hasPrefix("HTTP/1.1 \(status) "))
            world.time = world.time + .seconds(1)
        }
        #expect(computed == [dear, cheap, dear, dear])
        #expect(counting.counters.hashes == 4)
    }

    @Test func `guesses are answered one a second, and nobody who is known waits for them`() async throws {
        _ = try await world.get("/a", "Authorization: \(Self.ada)")
        let guesses = try (0..<3).map { _ in try ask(Self.wrong) }
        try await world.turn(until: "all wait") { access.waitingCount == 3 }
        for left in [2, 1, 0] {
            #expect(try await world.get("/b", "Authorization: \(Self.ada)").hasPrefix("HTTP/1.1 200 "))
            #expect(access.waitingCount == left + 1, "nobody is looked at before his second")
            world.time = world.time + .seconds(1)
            try await world.turn(until: "one is answered") { access.waitingCount == left }
        }
        for guess in guesses {
            try await world.turn(until: "a refusal") { try guess.isAnswered() }
            #expect(guess.text.hasPrefix("HTTP/1.1 401 "))
        }
        #expect(access.counters.hashes == 4)
    }

    @Test func `an address that guesses is in its own way alone`() async throws {
        let first = try ask(Self.wrong, from: "127.0.0.9")
        try await world.turn(until: "a refusal") { try first.isAnswered() }
        let guesses = try (0..<12).map { _ in try ask(Self.wrong, from: "127.0.0.9") }
        try await world.turn(until: "eight wait, and four are told to come back") {
            access.waitingCount == 8 && access.counters.turnedAway == 4
        }
        let honest = try ask(Self.bob)
        try await world.turn(until: "he waits too") { access.waitingCount == 9 }
        world.time = world.time + .seconds(1)
        try await world.turn(until: "he is let in") { try honest.isAnswered() }
        #expect(honest.text.hasPrefix("HTTP/1.1 200 "))
        #expect(access.waitingCount == 8)
        withExtendedLifetime(guesses) {}
    }

    @Test func `who asks for several things at once is let in to all of them`() async throws {
        let clients = try (0..<4).map { _ in try ask(Self.ada) }
        for client in clients { try await world.turn(until: "an answer") { try client.isAnswered() } }
        #expect(clients.allSatisfy { $0.text.hasPrefix("HTTP/1.1 200 ") } && access.counters.hashes == 1)
    }

    @Test func `who goes while he waits, and who waits too long, leaves his place`() async throws {
        _ = try await world.get("/a", "Authorization: \(Self.wrong)")
        var gone: Client? = try ask(Self.wrong)
        try await world.turn(until: "he waits") { access.waitingCount == 1 }
        withExtendedLifetime(gone) {}
        gone = nil
        // A connection that waits for an answer is not read from: its turn has to come.
        world.time = world.time + .seconds(1)
        try await world.turn(until: "nobody waits") { access.waitingCount == 0 }
        world.time = world.time + .seconds(1)
        #expect(try await world.get("/a", "Authorization: \(Self.ada)").hasPrefix("HTTP/1.1 200 "))
    }

    @Test func `whoever was known shows again who he is when the users are others`() async throws {
        _ = try await world.get("/a", "Authorization: \(Self.ada)")
        access.use(try UsersFile(Array("bob:$5$a$b\n".utf8)))
        #expect(access.rememberedCount == 0)
        world.time = world.time + .seconds(1)
        #expect(try await world.get("/a", "Authorization: \(Self.ada)").hasPrefix("HTTP/1.1 401 "))
    }

    @Test func `who may not ask here at all is told so before any password is looked at`() async throws {
        let answer = try await world.ask(
            "GET /a HTTP/1.1\r\nHost: evil.example\r\nAuthorization: \(Self.ada)\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 421 ") && access.counters.hashes == 0)
    }
}
