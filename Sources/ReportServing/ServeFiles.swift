import CommandSupport
import EventLoops
import GatewayConfiguration
import SystemPackage

/// The files with the certificate of `serve` and the users that have access.
struct ServeFiles: Sendable, Hashable {
    // The maximum size of a certificate or key file. A certificate with its intermediate certificates has some KiB.
    private static let identityBytesMax = 1 << 18

    var identity: TLSIdentity?
    var users: UsersFile?

    /// Reads the files that a configuration names.
    ///
    /// - Throws: ``ExitFailure`` with a remedy if a file cannot be read or is invalid.
    init(_ serve: ServeConfiguration) throws(ExitFailure) {
        if let tls = serve.tls { identity = try Self.identity(tls) }
        if let path = serve.usersFile { users = try Self.users(path) }
    }

    private static func identity(_ tls: ServeConfiguration.TLS) throws(ExitFailure) -> TLSIdentity {
        let certificate = try bytes(tls.certificateFile, "serve.tls.certificate_file", atMost: identityBytesMax)
        let key = try bytes(tls.keyFile, "serve.tls.key_file", atMost: identityBytesMax)
        do throws(TLSIdentity.Problem) {
            return try TLSIdentity(certificate: certificate, key: key)
        } catch {
            switch error {
            case .certificate(let words):
                throw ExitFailure(
                    .configurationInvalid, "\(tls.certificateFile) (serve.tls.certificate_file) can't be used: \(words)"
                )
            case .key(let words):
                throw ExitFailure(
                    .configurationInvalid, "\(tls.keyFile) (serve.tls.key_file) can't be used: \(words)")
            }
        }
    }

    private static func users(_ path: String) throws(ExitFailure) -> UsersFile {
        let bytes = try bytes(path, "serve.users_file", atMost: UsersFile.bytesMax)
        do throws(UsersFile.FormatError) {
            return try UsersFile(bytes)
        } catch {
            let place = error.line == 0 ? path : "\(path):\(error.line)"
            throw ExitFailure(.configurationInvalid, "\(place) (serve.users_file): \(error.words)")
        }
    }

    private static func bytes(
        _ path: String, _ setting: String, atMost limit: Int
    ) throws(ExitFailure) -> [UInt8] {
        let bytes: [UInt8]
        do throws(Errno) {
            bytes = try SmallFile.read(FilePath(path), maximum: limit + 1, isBlocking: false)
        } catch {
            let isDenied = error == .permissionDenied
            let advice =
                isDenied
                ? "allow only the group of the gateway to read it: sudo chgrp beacon-gateway \(path); sudo chmod 640 \(path)"
                : "create the file, or remove \(setting)"
            throw ExitFailure(
                isDenied ? .noPermission : .inputMissing, "\(path) (\(setting)) can't be read: \(error); \(advice)")
        }
        guard bytes.count <= limit else {
            throw ExitFailure(
                .configurationInvalid,
                "\(path) (\(setting)) has more than \(limit) bytes, so it can't be a valid file; correct the path")
        }
        return bytes
    }
}
