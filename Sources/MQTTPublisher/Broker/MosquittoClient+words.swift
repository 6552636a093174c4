import CMosquitto
import SystemPackage

// What the library's and the broker's numbers mean.
extension MosquittoClient {
    /// The name of a reason code.
    static func name(_ reason: UInt8, _ version: ConnectionPlan.Version) -> String {
        // 3.1.1 has five codes of its own (§3.2.2.3), numbered as MQTT 5 numbers none that could be meant.
        let text =
            unsafe reason < 0x80 && version == .three
            ? mosquitto_connack_string(Int32(reason)) : mosquitto_reason_string(Int32(reason))
        guard let text = unsafe text else { return "no reason is known" }
        let words = unsafe String(cString: text)
        return words.hasSuffix(".") ? String(words.dropLast()) : words
    }

    /// Whether a connection that ended before anything was heard had been established: who can't be reached, or refuses,
    /// resets nothing (connect(2)). Somebody took it and ended it, as who speaks TLS does with what is none.
    static func wasEstablished(_ code: Int32, _ error: Errno) -> Bool {
        code == Int32(MOSQ_ERR_CONN_LOST.rawValue) || error == .connectionReset || error == .brokenPipe
    }

    /// Why a connection ended, or did not come about where TCP's was not established.
    func trouble(_ code: Int32, _ error: Errno, isEstablished: Bool) -> BrokerTrouble {
        if let trouble = tls?.trouble { return .tls(trouble) }
        if let answer, answer.reason != 0 {
            // Versions that are not supported: 3.1.1's code, and MQTT 5's.
            if answer.reason == 0x84 || version == .three && answer.reason == 0x01 { return .versionRefused }
            if answer.reason == Self.retainNotSupported { return .retainRefused }
            return .refused(answer.reason, Self.name(answer.reason, version))
        }
        switch endReason {
        case Self.sessionTakenOver: return .takenOver(clientID: clientID)
        case Self.retainNotSupported: return .retainRefused
        case let reason?: return .ended(reason, Self.name(reason, .five))
        case nil: break
        }
        if let tls, isEstablished, !tls.isAgreed {
            let text = code == Int32(MOSQ_ERR_TLS.rawValue) ? lastError ?? "no reason is known" : "unexpected eof"
            return .tls(TLSTrouble.sorted(text, wasAnswered: tls.wasAnswered))
        }
        switch code {
        case Int32(MOSQ_ERR_TLS.rawValue): return .tls(.failed(lastError ?? "no reason is known"))
        case Int32(MOSQ_ERR_ERRNO.rawValue): return .lost("\(error)")
        case Int32(MOSQ_ERR_KEEPALIVE.rawValue): return .silent("nothing came within mqtt.keep_alive")
        case Int32(MOSQ_ERR_SUCCESS.rawValue), Int32(MOSQ_ERR_CONN_LOST.rawValue), Int32(MOSQ_ERR_NO_CONN.rawValue):
            return .lost("it was closed")
        case Int32(MOSQ_ERR_PROTOCOL.rawValue), Int32(MOSQ_ERR_MALFORMED_PACKET.rawValue):
            return .lost("it sent what MQTT has not")
        default: return .lost(unsafe String(cString: mosquitto_strerror(code)))
        }
    }

    private static let sessionTakenOver: UInt8 = 0x8E
    static let retainNotSupported: UInt8 = 0x9A
}
