/// The settings for the web server `serve`.
public struct ServeConfiguration: Sendable, Hashable {
    /// The certificate of the server.
    public struct TLS: Sendable, Hashable {
        /// The certificate, followed by its intermediate certificates, PEM, an absolute path.
        public var certificateFile: String
        /// The key of the certificate, PEM, without a password, an absolute path.
        public var keyFile: String

        /// Creates the settings for a certificate and its key.
        public init(certificateFile: String, keyFile: String) {
            (self.certificateFile, self.keyFile) = (certificateFile, keyFile)
        }
    }

    /// The IPv4 or IPv6 address of the server. An address other than those of loopback requires ``tls`` and
    /// ``usersFile``, or ``trustedProxy``.
    public var address = "127.0.0.1"
    /// The TCP port.
    public var port: UInt16 = 8080
    /// The host name of the server in requests, in addition to `localhost` and addresses; `nil` means none.
    public var hostName: String?
    /// The settings for TLS; `nil` means HTTP without TLS.
    public var tls: TLS?
    /// The file with users and password hashes (crypt(5)), an absolute path; `nil` means no login.
    public var usersFile: String?
    /// The address of the only proxy that may connect, which is responsible for access control; `nil` means that all
    /// addresses may connect.
    public var trustedProxy: String?
    /// The folder for the cached totals of closed event files, so that a start does not read all files; an absolute
    /// path. If it does not exist or cannot be written, nothing is cached.
    public var cacheDirectory = "/var/cache/beacon-gateway-serve"

    /// Creates the default settings: only this machine, port 8080.
    public init() {}

    /// The missing protection of presence data if other machines can connect; `nil` if nothing is missing.
    package var lackOfProtection: (what: String, hint: String)? {
        let isLoopback = address == "::1" || address.hasPrefix("127.")
        guard !isLoopback, trustedProxy == nil else { return nil }
        switch (tls != nil, usersFile != nil) {
        case (true, true): return nil
        case (true, false):
            return (
                "so all clients in the network could read the presence data",
                "set serve.users_file, or set trusted_proxy to a proxy that authenticates users"
            )
        case (false, true):
            return (
                "so passwords would be sent without encryption",
                "set certificate_file and key_file under serve.tls, or set trusted_proxy to a proxy with TLS"
            )
        case (false, false):
            return (
                "so all clients in the network could read the presence data",
                "write 127.0.0.1, set serve.tls and users_file, or set trusted_proxy to a proxy that authenticates users"
            )
        }
    }
}
