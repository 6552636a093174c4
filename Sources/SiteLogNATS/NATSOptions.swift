package import SiteMonitoring

/// The servers of a site, and how to connect to them.
package struct NATSOptions: Sendable {
    /// The identity of the client. The permissions of each user are set on the servers.
    package enum Identity: Sendable {
        case anonymous
        case user(String, password: String)
        /// A file with a JWT and its seed, as `nsc` writes them.
        case credentials(String)
    }

    /// The settings of TLS, which should be used unless client and server run on one machine.
    package struct Encryption: Sendable {
        /// A file with the certificates that sign those of the servers; `nil` for the certificates that the machine
        /// trusts.
        package var authorities: String?
        /// Files with the client's certificate and its key, if the servers require one.
        package var identity: (certificate: String, key: String)?

        /// Creates settings that use the certificates that the machine trusts.
        package init() {}
    }

    /// URLs such as `nats://10.0.0.1:4222`; at least one. The client learns the addresses of all servers from any of
    /// them.
    package var servers: [String]
    package var identity = Identity.anonymous
    package var encryption: Encryption?
    /// The name of the connection in the servers' lists.
    package var name: LogName
    /// The maximum size of the messages that the library stores while no server is connected, in bytes. Further
    /// messages are refused.
    package var bufferBytesMax = 16 << 20

    /// Creates the options of a connection without TLS and without a user.
    package init(servers: [String], name: LogName) {
        self.servers = servers
        self.name = name
    }
}
