import Foundation
import Testing

/// A certificate for this machine and its key, created by OpenSSL in files. It is valid for 30 days.
package struct MadeCertificate {
    private let scratch: Scratch
    /// The path of the certificate. This file and the key are in PEM format.
    package var certificate: String { scratch.path("cert.pem") }
    package var key: String { scratch.path("key.pem") }

    /// Creates both. If `options` of `openssl req` are given, they replace the option for a key without a password.
    package init(_ options: String...) throws {
        scratch = try Scratch()
        let ending = try run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "30", "-subj",
                "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
                scratch.path("key.pem"), "-out", scratch.path("cert.pem"),
            ] + (options.isEmpty ? ["-nodes"] : options))
        try #require(ending.status == 0, "\(ending.errors)")
    }
}
