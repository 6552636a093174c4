package import SiteMonitoring

/// Where a site's servers are, and as whom one connects.
package struct NATSOptions: Sendable {
    /// As whom; a server says what each may do.
    package enum Identity: Sendable {
        case nobody
        case user(String, password: String)
        /// A file with a JWT and its seed, as `nsc` writes them.
        case credentials(String)
    }

    /// TLS, where the connection is not of one machine with itself.
    package struct Encryption: Sendable {
        /// A file of certificates that sign the servers'; absent for those that the machine trusts.
        package var authorities: String?
        /// One's own certificate and its key, in files, where the servers ask for one.
        package var identity: (certificate: String, key: String)?

        /// By what the machine trusts.
        package init() {}
    }

    /// Such as `nats://10.0.0.1:4222`; at least one, and any of them leads to all.
    package var servers: [String]
    package var identity = Identity.nobody
    package var encryption: Encryption?
    /// Whose connection it is, in the servers' own lists.
    package var name: LogName
    /// What waits in the library while no server is reached, octets; what is more is refused.
    package var bufferOctetsMax = 16 << 20

    /// A plain connection of nobody.
    package init(servers: [String], name: LogName) {
        self.servers = servers
        self.name = name
    }
}
