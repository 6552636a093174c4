import BaseTypes
import Foundation
import ProgramSupport
import TestSupport
import Testing

@testable import ReportServing

/// A server with TLS and a certificate of OpenSSL, tested with a Python client.
@Suite struct TLSTests {
    private func identity(_ made: MadeCertificate) throws -> TLSIdentity {
        try TLSIdentity(
            certificate: Array(try contents(of: made.certificate)), key: Array(try contents(of: made.key)))
    }

    private static func fixture(_ identity: TLSIdentity?) throws -> ServerFixture {
        var settings = HTTPServerSettings()
        settings.identity = identity
        return try ServerFixture(settings)
    }

    /// Returns the result of a Python client for `path`: the version of TLS, the status and the body.
    private func fetch(_ path: String, _ fixture: ServerFixture, trusting certificate: String) async throws -> String {
        let script = """
            import http.client, ssl, sys
            context = ssl.create_default_context(cafile=sys.argv[1])
            connection = http.client.HTTPSConnection("localhost", int(sys.argv[2]), context=context)
            connection.request("GET", sys.argv[3])
            answer = connection.getresponse()
            body = answer.read()
            print(connection.sock.version() if connection.sock else "", answer.status, body.decode() if len(body) < 100 else f"{set(body)} {len(body)}", end="")
            """
        let process = try SpawnedProcess(
            "/usr/bin/python3", ["-c", script, certificate, "\(fixture.port)", path], output: .pipe, errors: .pipe)
        try await fixture.turn(until: "the client has ended") { !process.isRunning }
        let said = String(decoding: try #require(process.output).readDataToEndOfFile(), as: UTF8.self)
        let wrong = String(decoding: try #require(process.errors).readDataToEndOfFile(), as: UTF8.self)
        return process.wait() == 0 ? said : "failed: \(wrong.split(separator: "\n").last ?? "")"
    }

    @Test func `a client that trusts the certificate is answered, and one that does not fails`() async throws {
        let (made, other) = (try MadeCertificate(), try MadeCertificate())
        let fixture = try Self.fixture(try identity(made))
        #expect(try await fetch("/hello", fixture, trusting: made.certificate) == "TLSv1.3 200 /hello")
        #expect(try await fetch("/hello", fixture, trusting: other.certificate).contains("CERTIFICATE_VERIFY_FAILED"))
        #expect(fixture.asked.map(\.path) == ["/hello"])
    }

    @Test func `a stream of 40 pieces arrives complete over TLS`() async throws {
        let made = try MadeCertificate()
        let fixture = try Self.fixture(try identity(made))
        var (pieces, streams): (Int, [HTTPStream]) = (0, [])
        fixture.answer = { _ in
            var stream: HTTPStream?
            let made = HTTPStream { bytes in
                guard pieces < 40 else {
                    stream?.finish()
                    return
                }
                pieces += 1
                bytes += Array(repeating: UInt8(ascii: "x"), count: 5000)
            }
            stream = made
            streams.append(made)
            return .stream(made)
        }
        let answer = try await fetch("/", fixture, trusting: made.certificate)
        // The body is larger than the buffer of a pipe, so the client prints only its distinct bytes and its length.
        #expect(answer == "TLSv1.3 200 {120} 200000")
    }

    @Test func `a client without TLS is dropped after 30 s, and others are answered meanwhile`() async throws {
        let made = try MadeCertificate()
        let fixture = try Self.fixture(try identity(made))
        let silent = try Client(fixture.port)
        let plain = try Client(fixture.port)
        try plain.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await fixture.turn(until: "both connections are open") { fixture.server.counters.connections == 2 }
        #expect(try await fetch("/", fixture, trusting: made.certificate) == "TLSv1.3 200 /")
        fixture.time = fixture.time + .seconds(31)
        try await fixture.turn(until: "both connections are closed") {
            silent.read()
            plain.read()
            return silent.isClosed && plain.isClosed
        }
        #expect(!plain.text.contains("HTTP/1.1 200"))
    }

    @Test func `an error states whether the certificate or the key cannot be used`() throws {
        let (made, other, locked) = (
            try MadeCertificate(), try MadeCertificate(), try MadeCertificate("-passout", "pass:secret")
        )
        let (certificate, key) = (Array(try contents(of: made.certificate)), Array(try contents(of: made.key)))
        func problem(_ certificate: [UInt8], _ key: [UInt8]) -> TLSIdentity.Problem? {
            do throws(TLSIdentity.Problem) {
                _ = try TLSIdentity(certificate: certificate, key: key)
                return nil
            } catch {
                return error
            }
        }
        #expect(problem(certificate, key) == nil)
        #expect(
            problem(certificate, Array(try contents(of: other.key))) == .key("it is not the key of the certificate"))
        #expect(
            problem(Array(try contents(of: locked.certificate)), Array(try contents(of: locked.key)))
                == .key("the key is encrypted, and the server has no password for it"))
        for nothing in [[], key, Array("x".utf8), [0], [0xFF]] {
            guard case .certificate? = problem(nothing, key) else {
                Issue.record("\(nothing.prefix(20)) is accepted as a certificate")
                continue
            }
        }
        for nothing in [[], certificate, Array("x".utf8)] {
            guard case .key? = problem(certificate, nothing) else {
                Issue.record("\(nothing.prefix(20)) is accepted as a key")
                continue
            }
        }
        // A certificate that is cut at any place must be refused.
        for cut in stride(from: 0, to: certificate.count - 2, by: 37) {
            #expect(problem(Array(certificate.prefix(cut)), key) != nil, "\(cut)")
        }
        let ends = try identity(made).ends - Int64(Date().timeIntervalSince1970)
        #expect((28 * 86_400...31 * 86_400).contains(ends))
    }
}
