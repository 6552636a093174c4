/// The reason why a broker does not accept messages. The publisher tries again, and reports the reason to operators.
package enum BrokerError: Error, Sendable, Hashable {
    /// The host name cannot be resolved: the name, and the text of the resolver (getaddrinfo(3)).
    case unresolved(String, String)
    /// No TCP connection could be established: the host and port, and the reason.
    case unreachable(String, String)
    /// The broker did not answer in time: the answer that is missing.
    case silent(String)
    /// The connection ended without a reason code: the known cause.
    case lost(String)
    /// The broker ended the connection: the reason code (MQTT 5 §3.14.2.1), and its name.
    case ended(UInt8, String)
    /// The broker closed a new connection without an answer: the host and port, and the protection of the connection.
    case unanswered(String, Security)
    /// The broker closed this number of connections in a row soon after it had accepted them: the number, and the
    /// client identifier.
    case closedSoon(Int, clientID: String)
    /// Another client connected with the same client identifier, which is the value.
    case takenOver(clientID: String)
    /// The peer uses another protocol than MQTT: the host and port, and the protocol.
    case otherProtocol(String, String)
    /// TLS failed.
    case tls(TLSError)
    /// A file of a setting cannot be used: the setting, the file, and the reason.
    case file(String, String, String)
    /// The key is encrypted with a password: the file.
    case keyNeedsPassword(String)
    /// The broker refused the connection: the reason code (MQTT 5 §3.2.2.2), and its name.
    case refused(UInt8, String)
    /// The broker does not support this version of MQTT.
    case versionRefused
    /// The broker does not support retained messages (MQTT 5 §3.2.2.3.5), and the last will is retained.
    case retainRefused
    /// The broker refused a message: its topic, the reason code (MQTT 5 §3.4.2.1), and its name.
    case publishRefused(topic: String, UInt8, String)
    /// This broker cannot accept a message: its topic, and the reason.
    case unacceptable(topic: String, String)

    /// The protection of a connection.
    package enum Security: Sendable, Hashable {
        /// The connection has no TLS.
        case none
        /// The connection uses TLS. The value is whether a client certificate was offered.
        case tls(hasCertificate: Bool)
    }
}

extension BrokerError {
    /// Whether an operator must make a change, here or at the broker, because the error does not disappear without it.
    package var needsSomebody: Bool {
        switch self {
        case .unresolved, .unreachable, .silent, .lost, .unanswered, .closedSoon, .versionRefused, .retainRefused: false
        case .tls, .file, .keyNeedsPassword, .publishRefused, .unacceptable, .takenOver, .otherProtocol: true
        // Server unavailable, busy, shutting down, quota, moved, rate: temporary errors.
        case .refused(let code, _): ![0x03, 0x88, 0x89, 0x8B, 0x97, 0x9C, 0x9D, 0x9F].contains(code)
        // Not authorized, administrative action.
        case .ended(let code, _): [0x87, 0x98].contains(code)
        }
    }

    /// The remedy for the operator; `nil` if there is none.
    package var remedy: String? {
        switch self {
        case .unresolved: "check mqtt.host, and the name server of this machine"
        case .unreachable: "check mqtt.host and mqtt.port, and that the broker runs"
        case .silent, .lost: nil
        case .versionRefused: "set mqtt.protocol to auto, or to the version of the broker"
        case .retainRefused: "if you need states, enable retained messages in the broker"
        case .ended(let code, _): code == 0x87 ? Self.rights : nil
        case .unanswered(_, .none):
            "if the broker uses TLS at this port, set mqtt.tls: true, otherwise check the broker's log"
        case .unanswered(_, .tls(true)):
            "check in the broker's log whether it knows the authority of mqtt.tls.certificate_file"
        case .unanswered(_, .tls(false)):
            "if the broker requires a client certificate, set mqtt.tls.certificate_file and key_file, and check its log"
        case .closedSoon(_, let clientID), .takenOver(let clientID):
            "check whether another gateway connects as \(clientID), and give each gateway its own gateway.name or mqtt.client_id"
        case .otherProtocol(_, let what):
            what == "TLS"
                ? "set mqtt.tls: true, or set mqtt.port to the broker's port without TLS (usually 1883)"
                : "set mqtt.port to the broker's port (usually 8883 with TLS, 1883 without)"
        case .tls(let failure): failure.remedy
        case .file(let setting, let path, "Permission denied"):
            "let the gateway's user read \(path), or set another \(setting)"
        case .file(let setting, _, _): "fix the file, or the setting \(setting)"
        case .keyNeedsPassword(let path):
            "write it without a password: openssl pkey -in \(path) -out FILE, which only the gateway's user should be able to read"
        case .refused(let code, _): Self.remedy(code)
        case .publishRefused(_, let code, _): code == 0x87 ? Self.rights : "check the broker's log"
        case .unacceptable: "raise the broker's limit"
        }
    }

    private static let rights = "allow this username to publish below mqtt.prefix in the broker"

    private static func remedy(_ code: UInt8) -> String {
        switch code {
        // 3.1.1: identifier rejected, bad user name or password, not authorized (§3.2.2.3); 5: the same.
        case 0x02, 0x85: "set another mqtt.client_id"
        case 0x04, 0x86: "check mqtt.username and the password"
        case 0x05, 0x87:
            "allow this username and client identifier to connect in the broker, or set the password that it requires"
        case 0x8A: "ask the operator of the broker, which has banned this client"
        case 0x90: "\(rights), because the broker refuses the topic of the last will"
        default: "check the broker's log"
        }
    }
}

extension BrokerError: CustomStringConvertible {
    /// The error in one line, without the remedy.
    package var description: String {
        switch self {
        case .unresolved(let name, let why): "the broker's name \(name) can't be resolved: \(why)"
        case .unreachable(let place, let why): "the broker at \(place) can't be reached: \(why)"
        case .silent(let what): "the broker does not answer: \(what)"
        case .lost(let why): "the connection to the broker ended: \(why)"
        case .ended(let code, let name): "the broker ended the connection: \(name) (\(Self.hexadecimal(code)))"
        case .unanswered(let place, let security):
            "the broker at \(place) closed the connection without an answer"
                + (security == .none ? "" : ", after the TLS handshake")
        case .closedSoon(let count, let clientID):
            "the broker closed \(count) connections of \(clientID) in a row soon after it had accepted them, probably because "
                + "two clients have the same client identifier"
        case .takenOver(let clientID):
            "another client has connected to the broker as \(clientID) and has taken over the session (0x8E)"
        case .otherProtocol(let place, let what): "\(place) uses \(what), not MQTT"
        case .tls(let failure): failure.description
        case .file(let setting, let path, let why): "\(path) (\(setting)) can't be used: \(why)"
        case .keyNeedsPassword(let path):
            "\(path) (mqtt.tls.key_file) can't be used: the key is encrypted, and the gateway has no password for it"
        case .refused(let code, let name): "the broker refuses the connection: \(name) (\(Self.hexadecimal(code)))"
        case .versionRefused: "the broker does not support this version of MQTT"
        case .retainRefused: "the broker does not support retained messages"
        case .publishRefused(let topic, let code, let name):
            "the broker refuses messages to \(topic): \(name) (\(Self.hexadecimal(code)))"
        case .unacceptable(let topic, let why): "the broker can't accept a message to \(topic): \(why)"
        }
    }

    private static func hexadecimal(_ code: UInt8) -> String {
        "0x" + (code < 16 ? "0" : "") + String(code, radix: 16, uppercase: true)
    }
}
