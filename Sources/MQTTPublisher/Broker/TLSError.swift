/// The reason why a TLS connection failed. The subject of a certificate is followed by the end of its validity.
package enum TLSError: Error, Sendable, Hashable {
    /// The broker's certificate is not signed by an authority that is trusted here: its subject.
    case authorityUnknown(String)
    /// The broker's certificate is for another host: the expected name, and the names in the certificate.
    case nameMismatch(expected: String, found: String)
    /// The broker's certificate has expired: its subject and the end of its validity.
    case expired(String)
    /// The broker's certificate is not valid yet, or the clock of this machine is set too early: its subject.
    case notYetValid(String)
    /// The broker's certificate is invalid for another reason: its subject, and the text of OpenSSL.
    case certificate(String, String)
    /// The broker sent an alert: its number and name (RFC 8446 §6), and whether a client certificate was offered.
    case alert(UInt8, String, hasCertificate: Bool)
    /// The broker does not support TLS 1.2 or later.
    case tooOld
    /// The peer does not use TLS: the text of OpenSSL.
    case notTLS(String)
    /// The broker closed the connection when its first message was expected.
    case closedAtOnce
    /// TLS failed for another reason: the text of OpenSSL.
    case failed(String)

    /// Converts an error text of OpenSSL about a handshake (`error:0A000102:SSL routines::unsupported protocol`).
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - wasAnswered: whether the broker's ServerHello was received.
    /// - Returns: the error for which an operator can find a remedy.
    static func sorted(_ text: String, wasAnswered: Bool) -> TLSError {
        if text.contains("unsupported protocol") { return .tooOld }
        if wasAnswered { return .failed(text) }
        let foreign = ["wrong version number", "packet length too long", "unexpected message", "http request"]
        if foreign.contains(where: { text.contains($0) }) { return .notTLS(text) }
        return text.contains("unexpected eof") ? .closedAtOnce : .failed(text)
    }

    var remedy: String? {
        switch self {
        case .authorityUnknown:
            "set mqtt.tls.ca_file to the certificate of the authority that signed the broker's certificate"
        case .nameMismatch(let expected, _):
            "set mqtt.host or mqtt.tls.server_name to the broker's own name instead of \(expected)"
        case .expired: "renew the certificate"
        case .notYetValid: "check this machine's clock: timedatectl"
        case .certificate: nil
        case .alert(let number, _, let hasCertificate): Self.remedy(number, hasCertificate)
        case .tooOld: "enable TLS 1.2 or 1.3 in the broker (mosquitto: tls_version)"
        case .notTLS, .closedAtOnce:
            "set mqtt.port to the broker's port with TLS 1.2 or 1.3 (usually 8883), or set mqtt.tls: false if it has none"
        case .failed: "check whether mqtt.port uses TLS, and the broker's log"
        }
    }

    private static func remedy(_ number: UInt8, _ hasCertificate: Bool) -> String {
        switch number {
        case 45 where hasCertificate:
            "renew the certificate of mqtt.tls.certificate_file, and check the clocks of both machines"
        case 48 where hasCertificate:
            "add the authority of mqtt.tls.certificate_file to the broker (mosquitto: cafile), or use a certificate of one "
                + "that it knows"
        case 42...46 where hasCertificate, 51 where hasCertificate:
            "use another certificate for mqtt.tls.certificate_file, and check the broker's log"
        case 112: "set mqtt.tls.server_name to a name that the broker has a certificate for"
        case 40 where hasCertificate, 47, 71: "check the broker's TLS versions and ciphers, and its log"
        case 40, 42...46, 116:
            "if the broker requires a client certificate, set mqtt.tls.certificate_file and key_file"
        default: "check the broker's log"
        }
    }
}

extension TLSError: CustomStringConvertible {
    /// The error in one line, without the remedy.
    package var description: String {
        switch self {
        case .authorityUnknown(let whose):
            "the broker's certificate (\(whose)) is signed by an unknown authority"
        case .nameMismatch(let expected, let found):
            "the broker's certificate is for \(found.isEmpty ? "another name" : found), not for \(expected)"
        case .expired(let whose): "the broker's certificate (\(whose)) has expired"
        case .notYetValid(let whose): "the broker's certificate (\(whose)) is not valid yet"
        case .certificate(let whose, let why): "the broker's certificate (\(whose)) is invalid: \(why)"
        case .alert(let number, let name, let hasCertificate):
            "the broker ended TLS with the alert \"\(name)\": \(Self.meaning(number, hasCertificate))"
        case .tooOld: "the broker's TLS is not secure: it must support at least 1.2, and supports less"
        case .notTLS(let why): "mqtt.port does not use TLS: \(why)"
        case .closedAtOnce:
            "the broker closed the connection at the first TLS message, probably because it has no TLS at this port, or no secure version"
        case .failed(let why): "TLS with the broker failed: \(why)"
        }
    }

    private static func meaning(_ number: UInt8, _ hasCertificate: Bool) -> String {
        switch number {
        case 45 where hasCertificate: "this gateway's certificate has expired, by the broker's clock"
        case 48 where hasCertificate: "it does not know the authority of this gateway's certificate"
        case 42...46 where hasCertificate, 51 where hasCertificate: "it does not accept this gateway's certificate"
        case 40 where hasCertificate: "it accepts none of the TLS parameters, such as ciphers"
        case 40, 42...46, 116: "it received no client certificate"
        case 112: "it has no certificate for the name"
        default: "the reason is in its log"
        }
    }
}
