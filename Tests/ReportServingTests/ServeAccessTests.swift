import Foundation
import ProgramSupport
import ReportServing
import TestSupport
import Testing

/// Access to `beacon-gateway serve`, tested with the built program.
@Suite struct ServeAccessTests {
    // The hash of the password "correct horse".
    private static let ada = "ada:$5$rounds=1000$abcdefgh$ue35C0ITbth1b5zVUjrjm2mMmsmMKiodEeH2UV/Hq10\n"
    private static let bob = ada.replacing("ada", with: "bob")
    private static let conditions = "conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]\n"

    private let scratch: Scratch
    private let port: UInt16

    init() throws {
        scratch = try Scratch()
        let made = try #require(InternetAddress("127.0.0.1")).listen(port: 0)
        try made.socket.close()
        port = made.port
    }

    private func configuration(_ serve: String) throws -> String {
        try scratch.write(
            "gateway.yaml",
            Self.conditions + "output: {directory: \(scratch.url.path)}\nserve: {port: \(port), \(serve)}\n")
    }

    /// Returns the status that a Python client gets for `/api/v1/present`, or the reason of its failure.
    private func fetch(_ user: String?, trusting certificate: String) throws -> String {
        let script = """
            import base64, http.client, ssl, sys
            context = ssl.create_default_context(cafile=sys.argv[1])
            connection = http.client.HTTPSConnection("localhost", int(sys.argv[2]), context=context)
            headers = {"Authorization": "Basic " + base64.b64encode(sys.argv[3].encode()).decode()} if sys.argv[3] else {}
            connection.request("GET", "/api/v1/present", headers=headers)
            print(connection.getresponse().status, end="")
            """
        let ending = try run(Tool.python, ["-c", script, certificate, "\(port)", user ?? ""])
        return ending.status == 0 ? ending.text : "failed: \(ending.errors.split(separator: "\n").last ?? "")"
    }

    @Test func `with TLS and users any address is served, and SIGHUP loads new files if they are valid`() async throws {
        let (first, second) = (try MadeCertificate(), try MadeCertificate())
        let certificate = try scratch.write("cert.pem", try contents(of: first.certificate))
        let key = try scratch.write("key.pem", try contents(of: first.key))
        let users = try scratch.write("users", Self.ada)
        var writer = LineWriter()
        writer.event("staff", "satisfied", 10, minor: 7, seen: 10)
        _ = try scratch.write("events-000000000001-20261121T000000Z.jsonl", writer.lines.map { $0 + "\n" }.joined())
        let errors = try scratch.write("said", "")
        let process = try SpawnedProcess(
            Gateway.path,
            [
                "serve", "--config",
                try configuration(
                    "address: 0.0.0.0, users_file: \(users), tls: {certificate_file: \(certificate), key_file: \(key)}"),
            ], errors: .file(errors))
        defer { process.signal(SIGKILL) }
        func said() throws -> String { String(decoding: try contents(of: errors), as: UTF8.self) }
        func until(_ words: String) async throws {
            try await TestSupport.until(words, saw: (try? said()) ?? "") { try said().contains(words) }
        }

        try await until("at https://0.0.0.0:\(port)/")
        #expect(try fetch(nil, trusting: first.certificate) == "401")
        #expect(try fetch("ada:wrong", trusting: first.certificate) == "401")
        var status = ""
        try await TestSupport.until("ada has access after the files are read", saw: status) {
            status = try fetch("ada:correct horse", trusting: first.certificate)
            return status == "200"
        }
        #expect(try fetch("ada:correct horse", trusting: second.certificate).contains("CERTIFICATE_VERIFY_FAILED"))

        _ = try scratch.write("cert.pem", try contents(of: second.certificate))
        _ = try scratch.write("key.pem", try contents(of: second.key))
        _ = try scratch.write("users", Self.bob)
        process.signal(SIGHUP)
        try await until("existing connections were closed")
        #expect(try fetch("bob:correct horse", trusting: second.certificate) == "200")
        #expect(try fetch("ada:correct horse", trusting: second.certificate) == "401")

        _ = try scratch.write("key.pem", try contents(of: first.key))
        process.signal(SIGHUP)
        try await until("were not reloaded: \(key) (serve.tls.key_file) can't be used: it is not the key")
        #expect(try fetch("bob:correct horse", trusting: second.certificate) == "200")
    }

    @Test(arguments: [
        ("tls: {certificate_file: /c, key_file: /k}", "users_file"), ("users_file: /u", "serve.tls"),
        ("host_name: b", "trusted_proxy"),
    ])
    func `for a non-loopback address, serve and check report which of TLS, users and proxy is missing`(
        _ serve: String, _ missing: String
    ) throws {
        let file = try configuration("address: 192.0.2.10, \(serve)")
        for command in [["serve", "--config", file], ["check", file]] {
            let ending = try Gateway.run(command)
            #expect(ending.status == 78, "\(command)")
            #expect(ending.errors.contains("serve.address is 192.0.2.10"), "\(ending.errors)")
            #expect(ending.errors.contains(missing), "\(ending.errors)")
        }
    }

    @Test func `an error for a certificate, key or users file names the file or the missing setting`() throws {
        let made = try MadeCertificate()
        func said(_ serve: String) throws -> (Int32, String) {
            let ending = try Gateway.run("serve", "--config", try configuration(serve))
            return (ending.status, ending.errors)
        }
        let missing = scratch.path("missing.pem")
        var (status, errors) = try said("tls: {certificate_file: \(missing), key_file: \(made.key)}")
        #expect(status == 66 && errors.contains("\(missing) (serve.tls.certificate_file) can't be read"), "\(errors)")
        (status, errors) = try said("tls: {certificate_file: \(made.key), key_file: \(made.key)}")
        #expect(status == 78 && errors.contains("(serve.tls.certificate_file) can't be used"), "\(errors)")
        let users = try scratch.write("users", "# who\nada:secret\n")
        (status, errors) = try said("users_file: \(users)")
        #expect(status == 78 && errors.contains("\(users):2 (serve.users_file)"), "\(errors)")
        #expect(errors.contains("mkpasswd -m yescrypt") && !errors.contains("secret"), "\(errors)")
        (status, errors) = try said("tls: {certificate_file: \(made.certificate)}")
        #expect(status == 78 && errors.contains("serve.tls has no key_file"), "\(errors)")
    }
}
