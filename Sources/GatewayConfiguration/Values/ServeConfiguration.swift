/// Where `serve` shows what the event files tell, and to whom.
public struct ServeConfiguration: Sendable, Hashable {
    /// Whom it shows itself as.
    public struct TLS: Sendable, Hashable {
        /// The certificate with those between it and its authority, PEM, an absolute path.
        public var certificateFile: String
        /// The key to it, PEM, without a password, an absolute path.
        public var keyFile: String

        /// A certificate's file, and its key's.
        public init(certificateFile: String, keyFile: String) {
            (self.certificateFile, self.keyFile) = (certificateFile, keyFile)
        }
    }

    /// The address that is listened at, of version 4 or 6. Beyond the loopback only with ``tls`` and ``usersFile``, or with
    /// ``trustedProxy``.
    public var address = "127.0.0.1"
    /// The TCP port.
    public var port: UInt16 = 8080
    /// The name that browsers know it by, beside `localhost` and addresses; absent: none.
    public var hostName: String?
    /// Speaks TLS; absent: HTTP as it is.
    public var tls: TLS?
    /// The file of those who may look, an absolute path: names with hashes (crypt(5)); absent: nobody is asked for a name.
    public var usersFile: String?
    /// The address of the proxy that alone may connect, and that lets in only who may look; absent: anybody who can may
    /// connect.
    public var trustedProxy: String?
    /// The folder in which it keeps what the event files that are over come to, so that it begins at once; an absolute path.
    /// One that is not there, or can't be written to, keeps nothing.
    public var cacheDirectory = "/var/cache/beacon-gateway-serve"

    /// The defaults: this machine alone, port 8080.
    public init() {}

    /// What keeps others from reading who is here where they can connect, and is missing; `nil` where nothing is.
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
