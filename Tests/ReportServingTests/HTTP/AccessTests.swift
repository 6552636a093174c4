import BaseTypes
import Testing

@testable import ReportServing

/// Logins by name and password, with a clock that the test sets.
@Suite struct AccessTests {
    private static let users =
        "ada:$5$rounds=1000$abcdefgh$ue35C0ITbth1b5zVUjrjm2mMmsmMKiodEeH2UV/Hq10\n"
        + "bob:$5$rounds=1000$abcdefgh$M71CZYxfSHUmAcwLMMjmRZs/O/o/0KcEzWppgyi8G/1\n"
    // base64 of "ada:correct horse", "bob:grüße: x", "ada:wrong", "eve:correct horse".
    private static let ada = "Basic YWRhOmNvcnJlY3QgaG9yc2U="
    private static let bob = "Basic Ym9iOmdyw7zDn2U6IHg="
    private static let wrong = "Basic YWRhOndyb25n"
    private static let eve = "Basic ZXZlOmNvcnJlY3QgaG9yc2U="

    private let fixture: ServerFixture
    private let access: BasicAccess

    init() throws {
        fixture = try ServerFixture()
        access = BasicAccess(try UsersFile(Array(Self.users.utf8)), on: fixture.loop)
        fixture.server.access = access
    }

    private func ask(_ header: String, from address: String? = nil) throws -> Client {
        let client = try Client(fixture.port, from: address)
        try client.send("GET /a HTTP/1.1\r\nHost: localhost\r\nAuthorization: \(header)\r\n\r\n")
        return client
    }

    @Test func `a request without a valid login header gets 401, and no hash is computed`() async throws {
        for header in ["X: y", "Authorization: Basic YQ==", "Authorization: Bearer x"] {
            let answer = try await fixture.get("/a", header)
            #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(answer)")
            #expect(answer.contains("WWW-Authenticate: Basic realm=\"beacon-gateway\", charset=\"UTF-8\"\r\n"))
            #expect(answer.contains("Cache-Control: no-store\r\n"))
        }
        #expect(fixture.asked.isEmpty && access.counters.hashes == 0)
    }

    @Test func `a request with two Authorization headers gets 401`() async throws {
        let answer = try await fixture.get("/a", "Authorization: \(Self.ada)", "Authorization: \(Self.ada)")
        #expect(answer.hasPrefix("HTTP/1.1 401 ") && fixture.asked.isEmpty)
    }

    @Test func `a valid login is cached for 5 minutes, and needs one hash in this time`() async throws {
        for _ in 0..<20 {
            #expect(try await fixture.get("/a", "Authorization: \(Self.ada)").hasPrefix("HTTP/1.1 200 "))
        }
        #expect(access.counters.hashes == 1 && access.counters.allowed == 1)
        fixture.time = fixture.time + .seconds(299)
        _ = try await fixture.get("/a", "Authorization: \(Self.ada)")
        #expect(access.counters.hashes == 1)
        fixture.time = fixture.time + .seconds(2)
        #expect(try await fixture.get("/a", "Authorization: \(Self.ada)").hasPrefix("HTTP/1.1 200 "))
        #expect(access.counters.hashes == 2)
    }

    @Test func `an unknown name needs one hash, like a wrong password`() async throws {
        for header in [Self.wrong, Self.eve] {
            #expect(try await fixture.get("/a", "Authorization: \(header)").hasPrefix("HTTP/1.1 401 "))
            fixture.time = fixture.time + .seconds(1)
        }
        #expect(access.counters.hashes == 2 && access.counters.refused == 2 && fixture.asked.isEmpty)
    }

    @Test func `for an unknown name, the most expensive hash is computed once, and the login fails`() async throws {
        let cheap = "$5$rounds=1000$abcdefgh$ue35C0ITbth1b5zVUjrjm2mMmsmMKiodEeH2UV/Hq10"
        let dear = "$y$j9T$abcdefghijkl$8s6LJgovyuqurPsVG9AbzYY6SBmbkjpwSfPi7q7VsL9"
        var computed: [String] = []
        let users = try UsersFile(Array("ada:\(cheap)\nbob:\(dear)\n".utf8))
        let counting = BasicAccess(users, on: fixture.loop) { _, hash in
            computed.append(hash)
            // A match with another user's hash must not prove an unknown name.
            return true
        }
        fixture.server.access = counting
        for (header, status) in [(Self.eve, "401"), (Self.ada, "200"), (Self.bob, "200"), (Self.eve, "401")] {
            #expect(try await fixture.get("/a", "Authorization: \(header)").hasPrefix("HTTP/1.1 \(status) "))
            fixture.time = fixture.time + .seconds(1)
        }
        #expect(computed == [dear, cheap, dear, dear])
        #expect(counting.counters.hashes == 4)
    }

    @Test func `wrong logins are checked at one per second, and a cached login does not wait for them`() async throws {
        _ = try await fixture.get("/a", "Authorization: \(Self.ada)")
        let guesses = try (0..<3).map { _ in try ask(Self.wrong) }
        try await fixture.turn(until: "all clients wait") { access.waitingCount == 3 }
        for left in [2, 1, 0] {
            #expect(try await fixture.get("/b", "Authorization: \(Self.ada)").hasPrefix("HTTP/1.1 200 "))
            #expect(access.waitingCount == left + 1, "no login is checked before a second has passed")
            fixture.time = fixture.time + .seconds(1)
            try await fixture.turn(until: "one client is answered") { access.waitingCount == left }
        }
        for guess in guesses {
            try await fixture.turn(until: "a refusal") { try guess.isAnswered() }
            #expect(guess.text.hasPrefix("HTTP/1.1 401 "))
        }
        #expect(access.counters.hashes == 4)
    }

    @Test func `at most 8 logins of an address wait, and the login of another address is checked next`() async throws {
        let first = try ask(Self.wrong, from: "127.0.0.9")
        try await fixture.turn(until: "a refusal") { try first.isAnswered() }
        let guesses = try (0..<12).map { _ in try ask(Self.wrong, from: "127.0.0.9") }
        try await fixture.turn(until: "eight clients wait, and four are refused until later") {
            access.waitingCount == 8 && access.counters.turnedAway == 4
        }
        let honest = try ask(Self.bob)
        try await fixture.turn(until: "the other client waits too") { access.waitingCount == 9 }
        fixture.time = fixture.time + .seconds(1)
        try await fixture.turn(until: "the client has access") { try honest.isAnswered() }
        #expect(honest.text.hasPrefix("HTTP/1.1 200 "))
        #expect(access.waitingCount == 8)
        withExtendedLifetime(guesses) {}
    }

    @Test func `waiting requests with the same valid login are all answered after one hash`() async throws {
        let clients = try (0..<4).map { _ in try ask(Self.ada) }
        for client in clients { try await fixture.turn(until: "an answer") { try client.isAnswered() } }
        #expect(clients.allSatisfy { $0.text.hasPrefix("HTTP/1.1 200 ") } && access.counters.hashes == 1)
    }

    @Test func `a client that disconnects while it waits does not block later logins`() async throws {
        _ = try await fixture.get("/a", "Authorization: \(Self.wrong)")
        var gone: Client? = try ask(Self.wrong)
        try await fixture.turn(until: "the client waits") { access.waitingCount == 1 }
        withExtendedLifetime(gone) {}
        gone = nil
        // A connection that waits for an answer is not read, so the server does not know that it is closed. Its login
        // must be checked first.
        fixture.time = fixture.time + .seconds(1)
        try await fixture.turn(until: "no client waits") { access.waitingCount == 0 }
        fixture.time = fixture.time + .seconds(1)
        #expect(try await fixture.get("/a", "Authorization: \(Self.ada)").hasPrefix("HTTP/1.1 200 "))
    }

    @Test func `new users discard cached logins, so each login must be checked again`() async throws {
        _ = try await fixture.get("/a", "Authorization: \(Self.ada)")
        access.use(try UsersFile(Array("bob:$5$a$b\n".utf8)))
        #expect(access.rememberedCount == 0)
        fixture.time = fixture.time + .seconds(1)
        #expect(try await fixture.get("/a", "Authorization: \(Self.ada)").hasPrefix("HTTP/1.1 401 "))
    }

    @Test func `a request with a foreign Host gets 421 before its password is checked`() async throws {
        let answer = try await fixture.ask(
            "GET /a HTTP/1.1\r\nHost: evil.example\r\nAuthorization: \(Self.ada)\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 421 ") && access.counters.hashes == 0)
    }
}
