import CNATS
import SiteMonitoring

/// The reason why no server of a site accepted the connection, as the library reports it in the calling thread.
struct NATSRefusal {
    private let status: natsStatus
    private let detail: String
    private let options: NATSOptions

    /// Creates the reason from the error of the thread's last call.
    init(_ status: natsStatus, _ options: NATSOptions) {
        self.init(status, unsafe nats_GetLastError(nil).map { unsafe String(cString: $0) } ?? "", options)
    }

    /// Creates the reason from a known text.
    init(_ status: natsStatus, _ detail: String, _ options: NATSOptions) {
        self.status = status
        // The text starts with the place in the library's source, such as `(conn.c:733): `.
        self.detail = detail.split(separator: "): ", maxSplits: 1).last.map(String.init) ?? ""
        self.options = options
    }

    /// The reason as an error of a log.
    var failure: SiteLogError {
        let servers = options.servers.joined(separator: ", ")
        switch status {
        case NATS_CONNECTION_AUTH_FAILED:
            return .notPermitted("connect to \(servers) (\(who) is not accepted there: check user and credentials)")
        case NATS_SSL_ERROR: return .unavailable("\(servers): \(handshake ?? detail)")
        case NATS_SECURE_CONNECTION_WANTED:
            return .unavailable(
                "\(servers): no server there supports TLS; give the servers certificates, or configure other servers")
        case NATS_NO_SERVER:
            return .unavailable("\(servers): no server accepts connections there, or the network blocks them")
        default:
            return .unavailable("\(servers): " + (detail.isEmpty ? Self.words(status) : detail))
        }
    }

    private var who: String {
        switch options.identity {
        case .anonymous: "a connection without a user"
        case .user(let user, password: _): "'\(user)'"
        case .credentials(let path): "the user of \(path)"
        }
    }

    /// The result of OpenSSL's verification of the server's certificate (X509_STORE_CTX_get_error(3)), as text.
    private var handshake: String? {
        let prefix = "SSL handshake error: "
        guard detail.hasPrefix(prefix) else { return nil }
        let text = detail.dropFirst(prefix.count)
        let whose = text.split(separator: ":cert=").last.map { " (\($0.split(separator: ":issuer=")[0]))" } ?? ""
        switch Int(text.prefix { $0 != ":" }) {
        case 9:
            return "the server's certificate\(whose) is not valid yet: correct the clock of this machine or the server"
        case 10: return "the server's certificate\(whose) has expired: renew it, or correct the clock"
        case 18, 19, 20, 21:
            let file = options.encryption?.authorities
            let known = file.map { "\($0) does not have it" } ?? "this machine does not have it"
            return "the server's certificate\(whose) is signed by an unknown authority: \(known)"
        case 62, 64: return "the server's certificate\(whose) is for another name or address than the one in \(text)"
        default: return nil
        }
    }

    static func words(_ status: natsStatus) -> String {
        unsafe natsStatus_GetText(status).map { unsafe String(cString: $0) } ?? "status \(status.rawValue)"
    }
}
