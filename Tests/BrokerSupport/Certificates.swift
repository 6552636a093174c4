import Foundation

/// The error that a command failed.
private struct CommandError: Error, CustomStringConvertible {
    let description: String
}

/// A certificate authority and its certificates, which openssl creates for each test.
package final class Certificates {
    package let folder: TestFolder

    package init(_ folder: TestFolder) throws {
        self.folder = folder
        try authority("ca")
    }

    package func path(_ name: String) -> String { folder.file(name) }

    private func openssl(_ arguments: String...) throws {
        let child = try Child(BrokerTools.openssl, arguments)
        guard child.wait() == 0 else { throw CommandError(description: "openssl \(arguments): \(child.said)") }
    }

    /// Creates the authority `<name>.pem` with its key `<name>.key`.
    package func authority(_ name: String) throws {
        try openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=\(name)", "-keyout", path("\(name).key"), "-out", path("\(name).pem"),
            "-addext", "basicConstraints=critical,CA:TRUE")
    }

    /// Creates the certificate `<name>.pem` with its key `<name>.key`, for `names` such as
    /// `DNS:broker.test,IP:127.0.0.1`.
    package func certificate(_ name: String, for names: String, by authority: String = "ca", days: Int = 2) throws {
        try openssl(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=\(name)",
            "-keyout", path("\(name).key"), "-out", path("\(name).csr"))
        try folder.write("\(name).ext", "subjectAltName=\(names)\n")
        try openssl(
            "x509", "-req", "-in", path("\(name).csr"), "-CA", path("\(authority).pem"), "-CAkey",
            path("\(authority).key"), "-CAcreateserial", "-days", "\(days)", "-extfile", path("\(name).ext"), "-out",
            path("\(name).pem"))
    }

    /// Returns the settings of a broker that uses the certificate `name`.
    package func listener(_ name: String, more: String = "") -> String {
        "cafile \(path("ca.pem"))\ncertfile \(path("\(name).pem"))\nkeyfile \(path("\(name).key"))\n\(more)"
    }
}
