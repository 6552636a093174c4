/// Why a broker does not take what is published: a state, tried again, and what operators are told.
public enum BrokerTrouble: Error, Sendable, Hashable {
    /// Its name is not known: the name, and the resolver's words (getaddrinfo(3)).
    case unresolved(String, String)
    /// No TCP connection came about: where to, and why not.
    case unreachable(String, String)
    /// It did not answer in time: what was waited for.
    case silent(String)
    /// The connection ended: what is known of it.
    case lost(String)
    /// TLS came to nothing.
    case tls(TLSTrouble)
    /// A setting's file can't be used: the setting, the file, why.
    case file(String, String, String)
    /// It refused the connection: the reason code (MQTT 5 §3.2.2.2), and its name.
    case refused(UInt8, String)
    /// It speaks another version of the protocol.
    case versionRefused
    /// It refuses a message: its topic, the reason code (MQTT 5 §3.4.2.1), and its name.
    case publishRefused(topic: String, UInt8, String)
    /// A message that it can't take: its topic, and why.
    case unacceptable(topic: String, String)
}

extension BrokerTrouble {
    /// Whether it does not pass by itself: somebody has to change something, here or at the broker.
    public var needsSomebody: Bool {
        switch self {
        case .unresolved, .unreachable, .silent, .lost, .versionRefused: false
        case .tls, .file, .publishRefused, .unacceptable: true
        // Server unavailable, busy, shutting down, quota, moved, rate: they pass.
        case .refused(let code, _): ![0x03, 0x88, 0x89, 0x8B, 0x97, 0x9C, 0x9D, 0x9F].contains(code)
        }
    }

    /// What to do about it; absent where nothing is to be done here.
    public var remedy: String? {
        switch self {
        case .unresolved: "compare mqtt.host with the broker's name; see whether this machine's name server answers"
        case .unreachable: "compare mqtt.host and mqtt.port with the broker's, and see whether it runs"
        case .silent, .lost, .versionRefused: nil
        case .tls(let trouble): trouble.remedy
        case .file(let setting, _, _): "mend the file, or the setting \(setting)"
        case .refused(let code, _):
            switch code {
            // 3.1.1: identifier rejected, bad user name or password, not authorized (§3.2.2.3); 5: the same.
            case 0x02, 0x85: "set another mqtt.client_id"
            case 0x04, 0x86: "compare mqtt.username and the password with the broker's"
            case 0x05, 0x87: "have the broker let this username and client identifier connect; it may want a password"
            case 0x8A: "the broker has banned this client; ask who runs it"
            case 0x90: "have the broker let this username publish below mqtt.prefix; it refuses the last will's topic"
            default: "ask the broker's log why"
            }
        case .publishRefused(_, let code, _):
            code == 0x87
                ? "have the broker let this username publish below mqtt.prefix"
                : "ask the broker's log why"
        case .unacceptable: "raise the broker's limit"
        }
    }
}

extension BrokerTrouble: CustomStringConvertible {
    /// What is the matter, in one line.
    public var description: String {
        switch self {
        case .unresolved(let name, let why): "the broker's name \(name) can't be resolved: \(why)"
        case .unreachable(let place, let why): "the broker at \(place) can't be reached: \(why)"
        case .silent(let what): "the broker does not answer: \(what)"
        case .lost(let why): "the connection to the broker ended: \(why)"
        case .tls(let trouble): trouble.description
        case .file(let setting, let path, let why): "\(path) (\(setting)) can't be used: \(why)"
        case .refused(let code, let name): "the broker refuses the connection: \(name) (\(Self.hexadecimal(code)))"
        case .versionRefused: "the broker does not speak this version of MQTT"
        case .publishRefused(let topic, let code, let name):
            "the broker refuses messages to \(topic): \(name) (\(Self.hexadecimal(code)))"
        case .unacceptable(let topic, let why): "the broker can't take a message to \(topic): \(why)"
        }
    }

    private static func hexadecimal(_ code: UInt8) -> String {
        "0x" + (code < 16 ? "0" : "") + String(code, radix: 16, uppercase: true)
    }
}

/// Why a TLS connection came to nothing.
public enum TLSTrouble: Error, Sendable, Hashable {
    /// Nobody that is trusted here vouches for the broker's certificate.
    case authorityUnknown(String)
    /// It is another's: the name that was expected, and the names that it has.
    case nameMismatch(expected: String, found: String)
    /// It is over: whose, and when it ended.
    case expired(String)
    /// It is not valid yet; or this machine's clock is behind.
    case notYetValid(String)
    /// It does not hold for another reason: whose, and OpenSSL's words.
    case certificate(String, String)
    /// The broker sent an alert: its name (RFC 8446 §6), and whether a client certificate was offered.
    case alert(String, hasCertificate: Bool)
    /// Something else: OpenSSL's words.
    case failed(String)

    var remedy: String? {
        switch self {
        case .authorityUnknown: "set mqtt.tls.ca_file to the certificate of the authority that vouches for the broker"
        case .nameMismatch(let expected, _):
            "use the broker's own name in place of \(expected): mqtt.host, or mqtt.tls.server_name"
        case .expired: "renew the certificate"
        case .notYetValid: "compare this machine's clock: timedatectl"
        case .certificate: nil
        case .alert(_, let hasCertificate):
            hasCertificate
                ? "see whether the broker knows the authority of mqtt.tls.certificate_file, and whether that has expired"
                : "the broker may demand a client certificate: set mqtt.tls.certificate_file and key_file"
        case .failed: "see whether there is TLS at mqtt.port, and the broker's log"
        }
    }
}

extension TLSTrouble: CustomStringConvertible {
    /// What is the matter, in one line.
    public var description: String {
        switch self {
        case .authorityUnknown(let whose):
            "the broker's certificate (\(whose)) is vouched for by an unknown authority"
        case .nameMismatch(let expected, let found):
            "the broker's certificate is for \(found.isEmpty ? "another name" : found), not for \(expected)"
        case .expired(let whose): "the broker's certificate (\(whose)) has expired"
        case .notYetValid(let whose): "the broker's certificate (\(whose)) is not valid yet"
        case .certificate(let whose, let why): "the broker's certificate (\(whose)) does not hold: \(why)"
        case .alert(let name, let hasCertificate):
            "the broker ended TLS with the alert \"\(name)\""
                + (hasCertificate ? "" : "; no client certificate was offered, and it may demand one")
        case .failed(let why): "TLS with the broker failed: \(why)"
        }
    }
}
