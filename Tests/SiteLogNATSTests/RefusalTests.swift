import BrokerSupport
import SiteLogNATS
import SiteLogSupport
import SiteMonitoring
import TestSupport
import Testing

/// Servers that refuse connections or requests, and the errors that are reported.
@Suite struct RefusalTests {
    private static func users(_ password: String) -> String {
        """
        authorization { users: [
          { user: lobby, password: "\(password)",
            permissions: { publish: ["hq.batch.lobby", "$JS.API.STREAM.INFO.hq-batches"], subscribe: ["_INBOX.>"] } },
          { user: site, password: "\(password)" }
        ] }
        """
    }

    private func fixture(_ servers: NATSServers, _ user: String, _ password: String) throws -> NATSFixture {
        let fixture = try NATSFixture(servers.addresses, replicas: 1, site: "hq")
        fixture.options.identity = .user(user, password: password)
        return fixture
    }

    /// Returns the first error that `isMeant` accepts. Earlier errors can report only that no server has answered.
    private func siteError(_ log: NATSLog, _ fixture: NATSFixture, _ isMeant: (SiteLogError) -> Bool) async throws
        -> String
    {
        var found: SiteLogError?
        try await until("the problem is reported", saw: "\(String(describing: log.failure))") {
            fixture.turn(log)
            _ = log.answers(at: fixture.now)
            found = log.failure.flatMap { isMeant($0) ? $0 : nil }
            return found != nil
        }
        return found?.description ?? ""
    }

    private func connects(_ log: NATSLog, _ fixture: NATSFixture) async throws {
        try await until("a server is reached", saw: "\(String(describing: log.failure))") {
            fixture.turn(log)
            _ = log.answers(at: fixture.now)
            return log.isConnected
        }
        #expect(log.failure == nil)
    }

    @Test(arguments: NATSServers.Program.all)
    func `a wrong password is reported with user and server, and the client connects when it is corrected`(
        _ program: NATSServers.Program
    ) async throws {
        let servers = try await NATSServers(program, 1, more: Self.users("right"))
        let fixture = try fixture(servers, "lobby", "right")
        let log = try fixture.newLog()
        try await connects(log, fixture)
        // The password changes while the client is connected, and more than once, because the library gives up
        // permanently in this case.
        for _ in 0..<2 {
            try servers.restart(0, more: Self.users("another"))
            let said = try await siteError(log, fixture) { !$0.mayPass }
            #expect(said.contains("has no permission to connect to \(servers.addresses[0])"))
            #expect(said.contains("'lobby'"))
            #expect(!said.contains("right is"))
            try servers.restart(0, more: Self.users("right"))
            try await connects(log, fixture)
        }
    }

    @Test(arguments: NATSServers.Program.all)
    func `a gateway that publishes as another one is refused, and its own batches are stored`(
        _ program: NATSServers.Program
    ) async throws {
        let servers = try await NATSServers(program, 1, more: Self.users("right"))
        // The streams are created by a user that has the permission.
        let site = try await LogDriver(fixture(servers, "site", "right"))
        let fixture = try fixture(servers, "lobby", "right")
        let log = try fixture.newLog()
        try await connects(log, fixture)
        var answers: [LogTicket: Result<LogResponse, SiteLogError>] = [:]
        func answer(_ request: LogRequest) async throws -> Result<LogResponse, SiteLogError>? {
            let ticket = try log.send(request, at: fixture.now)
            try await until("an answer", saw: "\(answers)") {
                fixture.turn(log)
                for answer in log.answers(at: fixture.now) { answers[answer.ticket] = answer.result }
                return answers[ticket] != nil
            }
            return answers[ticket]
        }
        let (lab, lobby) = (try LogName("lab"), try LogName("lobby"))
        #expect(
            try await answer(.append(BatchKey(gateway: lab, boot: 1, sequence: 1), [1]))
                == .failure(.notPermitted("publish to hq.batch.lab")))
        #expect(
            try await answer(.append(BatchKey(gateway: lobby, boot: 1, sequence: 1), [2]))
                == .success(.appended(offset: 1, isRepeat: false)))
        #expect(try await answer(.readLease) == .failure(.notPermitted("publish to $JS.API.STREAM.MSG.GET.hq-lease")))
        guard case .batches(let page) = try await site.ask(.readBatches(LogRange(from: 1))) else {
            Issue.record("the answer to a request for batches is not a page of batches")
            return
        }
        #expect(page.entries.map(\.bytes) == [[2]])
    }

    @Test(arguments: NATSServers.Program.all)
    func `a request that is larger than the servers accept is refused before it is sent, and the connection stays`(
        _ program: NATSServers.Program
    ) async throws {
        let servers = try await NATSServers(program, 1, more: "max_payload: 65536")
        let client = try await LogDriver(NATSFixture(servers.addresses, replicas: 1, site: "hq"))
        let lobby = try LogName("lobby")
        let big = try await client.result(
            client.send(.append(BatchKey(gateway: lobby, boot: 1, sequence: 1), Array(repeating: 7, count: 65_536))))
        guard case .failure(let siteError) = big else {
            Issue.record("the batch was not refused: \(big)")
            return
        }
        #expect(!siteError.mayPass)
        #expect(siteError.description.contains("65536 bytes; at most 65536 are accepted"))
        #expect(
            try await client.ask(.append(BatchKey(gateway: lobby, boot: 1, sequence: 2), [7]))
                == .appended(offset: 1, isRepeat: false))
    }

    /// The certificate of a server: its names and days, the authority that the client trusts, and the expected texts of
    /// the error.
    struct Certificate: Sendable, CustomStringConvertible {
        let description: String
        var names = "IP:127.0.0.1"
        var days = 2
        var trusts = "ca"
        let said: [String]

        static let refused = [
            Certificate(description: "expired", days: -1, said: ["has expired: renew it", "/CN=server"]),
            Certificate(
                description: "of an unknown authority", trusts: "other",
                said: ["is signed by an unknown authority", "other.pem does not have it"]),
            Certificate(
                description: "of another machine", names: "IP:127.0.0.2", said: ["is for another name or address"]),
        ]
    }

    @Test(arguments: NATSServers.Program.all, Certificate.refused)
    func `an untrusted certificate is refused with its reason, and the client connects with a valid one`(
        _ program: NATSServers.Program, _ certificate: Certificate
    ) async throws {
        let folder = try TestFolder()
        let certificates = try Certificates(folder)
        try certificates.authority("other")
        func make(_ one: Certificate) throws -> String {
            try certificates.certificate("server", for: one.names, days: one.days)
            return
                "tls { cert_file: \"\(certificates.path("server.pem"))\", key_file: \"\(certificates.path("server.key"))\" }"
        }
        let servers = try await NATSServers(program, 1, more: try make(certificate))
        let fixture = try NATSFixture(servers.addresses, replicas: 1, site: "hq")
        var encryption = NATSOptions.Encryption()
        encryption.authorities = certificates.path("\(certificate.trusts).pem")
        fixture.options.encryption = encryption
        let log = try fixture.newLog()
        let said = try await siteError(log, fixture) { $0.description.contains("certificate") }
        for text in certificate.said + [servers.addresses[0]] { #expect(said.contains(text), "\(said)") }
        // With a valid certificate, the client connects automatically. With an unknown authority, this is not tested.
        guard certificate.trusts == "ca" else { return }
        try servers.restart(0, more: try make(Certificate(description: "good", said: [])))
        try await connects(log, fixture)
    }

    @Test func `servers without TLS, and a missing file of credentials, are reported`() async throws {
        let servers = try await NATSServers(NATSServers.Program.all[0], 1)
        let fixture = try NATSFixture(servers.addresses, replicas: 1, site: "hq")
        fixture.options.identity = .credentials("/nonexistent/lobby.creds")
        var said = try await siteError(try fixture.newLog(), fixture) { $0.description.contains("lobby.creds") }
        #expect(said.contains("No such file or directory"), "\(said)")
        fixture.options.identity = .anonymous
        fixture.options.encryption = NATSOptions.Encryption()
        said = try await siteError(try fixture.newLog(), fixture) { $0.description.contains("TLS") }
        #expect(said.contains("no server there supports TLS"), "\(said)")
    }
}
