import CMosquitto
import COpenSSL
import EventLog
import Glibc
import PublisherProtocol
import SystemPackage

/// One connection to a broker, through libmosquitto's functions for external event loops.
///
/// It belongs to one thread and one connection. After a reconnection, libmosquitto would send its unacknowledged
/// messages again by itself, out of order. Therefore each connection has its own client, which has no earlier messages.
/// The callbacks only store the results, which the owner must read afterwards.
@safe final class MosquittoClient {
    /// The broker's answer to the request for a connection.
    struct Answer {
        /// The reason code (MQTT 5 §3.2.2.2), or the return code (3.1.1 §3.2.2.3).
        var reason: UInt8
        /// The broker's keep-alive in seconds, which replaces that of the request; `nil` if the broker has none.
        var keepAlive: Int?
        /// The number of messages that the broker accepts at a time (MQTT 5 §3.2.2.3.3); `nil` if it reports no limit.
        var receiveMaximum: Int?
        /// The maximum size of a packet in bytes (MQTT 5 §3.2.2.3.6); `nil` if the broker reports no limit.
        var maximumPacketSize: Int?
        /// Whether the broker supports retained messages (MQTT 5 §3.2.2.3.5).
        var keepsRetained = true
    }

    /// The error of a call.
    enum Failure: Error {
        /// The connection has ended: the library's error code, and `errno`, which is valid if the code is
        /// MOSQ_ERR_ERRNO.
        case ended(Int32, Errno)
        /// The message cannot be sent over this connection: the reason.
        case unacceptable(String)
        /// The message cannot be sent over any connection, because MQTT does not allow it: the reason.
        case impossible(String)
    }

    /// The broker's answer to the request for a connection; `nil` until it arrives.
    private(set) var answer: Answer?
    // The acknowledgements that were not taken yet: the library's message number, and the reason code (MQTT 5
    // §3.4.2.1).
    private var acknowledged: [(message: Int32, reason: UInt8)] = []
    /// The reason code with which the broker ended the connection (MQTT 5 §3.14.2.1); `nil` if it sent none.
    private(set) var endReason: UInt8?
    /// The library's last error message in its log; only with TLS.
    private(set) var lastError: String?
    /// The TLS context of the connection; `nil` without TLS.
    let tls: TLSContext?
    /// The version of MQTT.
    let version: ConnectionPlan.Version

    /// The client identifier.
    let clientID: String

    /// The number of messages that were passed to the library.
    private(set) var published = 0

    private let handle: OpaquePointer
    private let messageExpiry: UInt32?
    // A second array for the acknowledgements that are being taken. Its capacity is reused.
    private var taken: [(message: Int32, reason: UInt8)] = []
    private var isGathering = false

    // Must be called once in a process, before any other function of the library.
    private static let library: Int32 = mosquitto_lib_init()

    /// Creates a client that is not connected.
    ///
    /// - Throws: ``BrokerError/lost(_:)`` if no memory is left.
    init(
        _ options: PublisherOptions, _ version: ConnectionPlan.Version, _ tls: TLSContext?, password: [UInt8]?,
        will: String?
    ) throws(BrokerError) {
        guard Self.library == MOSQ_ERR_SUCCESS.rawValue, let made = unsafe mosquitto_new(options.clientID, true, nil)
        else { throw .lost("libmosquitto can't create a client: \(Errno(rawValue: errno))") }
        unsafe handle = made
        self.version = version
        self.tls = tls
        clientID = options.clientID
        messageExpiry =
            version == .five
            ? options.messageExpiry.map { UInt32(clamping: max($0.components.seconds, 1)) } : nil
        unsafe mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        let number = version == .five ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311
        unsafe mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, number)
        // If the broker has no limit, the library would otherwise use 20.
        unsafe mosquitto_int_option(handle, MOSQ_OPT_SEND_MAXIMUM, Int32(clamping: min(options.window, 65_535)))
        unsafe mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1)
        if let tls {
            unsafe _ = mosquitto_void_option(handle, MOSQ_OPT_SSL_CTX, UnsafeMutableRawPointer(tls.context))
            // Otherwise the library would replace the verification by its own callback.
            unsafe _ = mosquitto_int_option(handle, MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0)
        }
        if let username = options.username {
            let text = password.map { ($0.prefix { $0 != 0 } + [0]).map { CChar(bitPattern: $0) } }
            unsafe mosquitto_username_pw_set(handle, username, text)
        }
        if let will {
            let word = Array("offline".utf8)
            unsafe mosquitto_will_set(handle, will, Int32(word.count), word, 1, true)
        }
        listen()
    }

    deinit { unsafe mosquitto_destroy(handle) }

    // MARK: The connection

    /// Starts to connect. The rest happens when the socket becomes ready.
    ///
    /// - Throws: ``Failure/ended(_:_:)``.
    func connect(_ address: String, _ port: UInt16, keepAlive: Int) throws(Failure) {
        try check(unsafe mosquitto_connect_async(handle, address, Int32(port), Int32(keepAlive)))
    }

    /// The socket of the connection; `nil` if it has none any more.
    var descriptor: FileDescriptor? {
        let socket = unsafe mosquitto_socket(handle)
        return socket >= 0 ? FileDescriptor(rawValue: socket) : nil
    }

    /// Whether the TLS handshake is in progress.
    var isHandshaking: Bool {
        guard tls != nil, let connection = unsafe connection else { return false }
        return unsafe copenssl_is_handshaking(connection) != 0
    }

    private var connection: OpaquePointer? { unsafe mosquitto_ssl_get(handle).map { OpaquePointer($0) } }

    /// Whether data waits for room in the socket.
    var wantsWrite: Bool {
        // During the handshake, the library continues to return true after it had to wait once. OpenSSL has the actual
        // state.
        if isHandshaking, let connection = unsafe connection { return unsafe copenssl_wants_write(connection) != 0 }
        return unsafe mosquitto_want_write(handle)
    }

    /// Reads data from the broker.
    func read() throws(Failure) { try check(unsafe mosquitto_loop_read(handle, 1)) }

    /// Sends the data that waits.
    func write() throws(Failure) { try check(unsafe mosquitto_loop_write(handle, 1)) }

    /// Sends a ping if the connection was silent for the keep-alive time, or ends it if the last ping was not answered.
    func keepAlive() throws(Failure) { try check(unsafe mosquitto_loop_misc(handle)) }

    /// Sends DISCONNECT, so that the broker does not publish the last will.
    func disconnect() {
        unsafe _ = mosquitto_disconnect(handle)
        sendGathered()
    }

    // MARK: Fewer segments

    /// Lets TCP collect the data up to the next ``sendGathered()``, and send only full segments (TCP_CORK, tcp(7)).
    ///
    /// The library writes each message separately. One segment for each message was half of the work of publishing,
    /// both here and at the broker, which is woken for each segment.
    private func gather() {
        guard !isGathering, let descriptor else { return }
        isGathering = true
        Self.set(TCP_CORK, 1, descriptor)
    }

    /// Sends the collected data.
    ///
    /// - Returns: whether data was collected.
    @discardableResult func sendGathered() -> Bool {
        guard isGathering else { return false }
        isGathering = false
        if let descriptor { Self.set(TCP_CORK, 0, descriptor) }
        return true
    }

    /// Lets TCP acknowledge the received data immediately (TCP_QUICKACK, tcp(7)). The kernel resets this option after a
    /// while.
    ///
    /// A broker with Nagle's algorithm sends one PUBACK and holds back the others until TCP has acknowledged it. If
    /// nothing is sent meanwhile, this takes 40 ms.
    func acknowledgeAtOnce() {
        if let descriptor { Self.set(TCP_QUICKACK, 1, descriptor) }
    }

    // If an option cannot be set, publishing is slower but still correct.
    private static func set(_ option: Int32, _ value: Int32, _ descriptor: FileDescriptor) {
        var value = value
        unsafe _ = setsockopt(
            descriptor.rawValue, Int32(IPPROTO_TCP), option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    // MARK: Messages

    /// Whether there are acknowledgements that were not taken yet.
    var hasAcknowledgements: Bool { !acknowledged.isEmpty }

    /// Calls `body` with each acknowledgement since the last call, in order: the library's message number, and the
    /// reason code (MQTT 5 §3.4.2.1).
    func takeAcknowledgements(_ body: (Int32, UInt8) -> Void) {
        swap(&taken, &acknowledged)
        for (message, reason) in taken { body(message, reason) }
        taken.removeAll(keepingCapacity: true)
    }

    /// Passes a message to the library, which sends it immediately if the socket has room.
    ///
    /// - Parameters:
    ///   - topic: the topic in UTF-8, followed by a zero byte.
    ///   - payload: the payload.
    ///   - quality: the QoS.
    ///   - isRetained: whether the broker retains the message.
    ///   - sequence: the sequence number of a line, which is sent as a user property in MQTT 5 (§3.3.2.3.7).
    /// - Returns: the library's message number, which the acknowledgement has too.
    /// - Throws: ``Failure``.
    func publish(
        _ topic: [UInt8], _ payload: ArraySlice<UInt8>, _ quality: Publication.QualityOfService, isRetained: Bool,
        sequence: Int? = nil
    ) throws(Failure) -> Int32 {
        gather()
        var message: Int32 = 0
        var properties: OpaquePointer?
        defer { unsafe mosquitto_property_free_all(&properties) }
        if version == .five {
            if let sequence { unsafe add(sequence, &properties) }
            // A retained message is valid until it is replaced, so it must not expire.
            if let messageExpiry, !isRetained {
                unsafe _ = mosquitto_property_add_int32(
                    &properties, Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), messageExpiry)
            }
        }
        let result = unsafe topic.withUnsafeBytes { topic in
            unsafe payload.withUnsafeBytes { payload in
                unsafe mosquitto_publish_v5(
                    handle, &message, topic.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(payload.count),
                    payload.baseAddress, quality.rawValue, isRetained, properties)
            }
        }
        switch result {
        case Int32(MOSQ_ERR_OVERSIZE_PACKET.rawValue):
            throw .unacceptable(
                "its payload has \(payload.count) bytes, and the broker accepts "
                    + (answer?.maximumPacketSize.map { "packets of at most \($0)" } ?? "fewer"))
        // No broker accepts a packet or a topic that MQTT 5 does not allow (§1.5.5, §1.5.4).
        case Int32(MOSQ_ERR_PAYLOAD_SIZE.rawValue): throw .impossible("it is larger than MQTT allows")
        case Int32(MOSQ_ERR_MALFORMED_UTF8.rawValue): throw .impossible("its topic is invalid in MQTT")
        case Int32(MOSQ_ERR_INVAL.rawValue): throw .unacceptable("the topic is invalid in MQTT")
        case Int32(MOSQ_ERR_RETAIN_NOT_SUPPORTED.rawValue):
            throw .unacceptable("the broker does not support retained messages")
        case Int32(MOSQ_ERR_QOS_NOT_SUPPORTED.rawValue): throw .unacceptable("the broker does not support QoS 1")
        default: try check(result)
        }
        published += 1
        return message
    }

    private func add(_ sequence: Int, _ properties: inout OpaquePointer?) {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 21) { text in
            var index = 20
            unsafe text[index] = 0
            var rest = UInt(max(sequence, 0))
            repeat {
                index -= 1
                unsafe text[index] = CChar(0x30 + rest % 10)
                rest /= 10
            } while rest > 0
            guard let start = text.baseAddress else { return }
            unsafe _ = mosquitto_property_add_string_pair(
                &properties, Int32(MQTT_PROP_USER_PROPERTY.rawValue), "sequence", start + index)
        }
    }

    private func check(_ result: Int32) throws(Failure) {
        guard result != 0 else { return }
        throw .ended(result, Errno(rawValue: errno))
    }

    // MARK: Callbacks

    private func listen() {
        unsafe mosquitto_connect_v5_callback_set(handle) { _, user, reason, _, properties in
            guard let user = unsafe user else { return }
            var keepAlive: UInt16 = 0
            var receiveMaximum: UInt16 = 0
            unsafe mosquitto_property_read_int16(
                properties, Int32(MQTT_PROP_SERVER_KEEP_ALIVE.rawValue), &keepAlive, false)
            unsafe mosquitto_property_read_int16(
                properties, Int32(MQTT_PROP_RECEIVE_MAXIMUM.rawValue), &receiveMaximum, false)
            var packetSize: UInt32 = 0
            var keepsRetained: UInt8 = 1
            unsafe mosquitto_property_read_int32(
                properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), &packetSize, false)
            unsafe mosquitto_property_read_byte(
                properties, Int32(MQTT_PROP_RETAIN_AVAILABLE.rawValue), &keepsRetained, false)
            unsafe Unmanaged<MosquittoClient>.fromOpaque(user).takeUnretainedValue().answer = Answer(
                reason: UInt8(truncatingIfNeeded: reason),
                keepAlive: keepAlive > 0 ? Int(keepAlive) : nil,
                receiveMaximum: receiveMaximum > 0 ? Int(receiveMaximum) : nil,
                maximumPacketSize: packetSize > 0 ? Int(packetSize) : nil,
                keepsRetained: keepsRetained != 0)
        }
        unsafe mosquitto_publish_v5_callback_set(handle) { _, user, message, reason, _ in
            guard let user = unsafe user else { return }
            unsafe Unmanaged<MosquittoClient>.fromOpaque(user).takeUnretainedValue().acknowledged.append(
                (message, UInt8(truncatingIfNeeded: reason)))
        }
        unsafe mosquitto_disconnect_v5_callback_set(handle) { _, user, reason, _ in
            // The library also passes its own codes. The broker's codes start at 0x80, except "normal" and the one for
            // the will.
            guard let user = unsafe user, (0x80...0xFF).contains(reason) else { return }
            unsafe Unmanaged<MosquittoClient>.fromOpaque(user).takeUnretainedValue().endReason = UInt8(reason)
        }
        // If TLS fails, sometimes only the log has the reason. The library formats a line of text for each message and
        // each acknowledgement, which is then discarded, so this callback is set only with TLS.
        guard tls != nil else { return }
        unsafe mosquitto_log_callback_set(handle) { _, user, level, text in
            guard level == MOSQ_LOG_ERR, let user = unsafe user, let text = unsafe text else { return }
            unsafe Unmanaged<MosquittoClient>.fromOpaque(user).takeUnretainedValue().lastError = String(cString: text)
        }
    }

    // MARK: Limits

    // The bytes that a broker may send in any case: a TLS handshake with long chains of certificates, and the start of
    // a connection.
    private static let bytesMax = 1 << 20
    // The bytes that a broker may send for each message. A PUBACK has four bytes, and a broker can add a reason as
    // text.
    private static let bytesForEach = 256

    /// Whether more data arrived on this connection than a broker needs to send to a client without subscriptions.
    ///
    /// The library would allocate memory for a packet of 256 MiB if its header has this size, and it stores messages of
    /// QoS 2 until they are released.
    var hasReceivedTooMuch: Bool {
        guard let descriptor, let count = Self.received(descriptor) else { return false }
        return count > Self.bytesMax + Self.bytesForEach * published
    }

    /// Returns the number of bytes that arrived on a TCP connection (TCP_INFO, tcp(7): `tcpi_bytes_received`, Linux
    /// 4.1); `nil` if the kernel does not report it.
    private static func received(_ descriptor: FileDescriptor) -> Int? {
        // linux/tcp.h cannot be included together with netinet/tcp.h, whose struct is shorter. The offset of the field
        // is part of the kernel's stable interface.
        let place = 128
        return unsafe withUnsafeTemporaryAllocation(byteCount: place + 8, alignment: 8) { buffer in
            var size = socklen_t(buffer.count)
            let result = unsafe getsockopt(
                descriptor.rawValue, Int32(IPPROTO_TCP), TCP_INFO, buffer.baseAddress, &size)
            guard result == 0, size >= place + 8 else { return nil }
            return unsafe Int(truncatingIfNeeded: buffer.load(fromByteOffset: place, as: UInt64.self))
        }
    }

    // MARK: Descriptions

    /// Returns the name of a reason code, without a full stop at its end.
    static func name(_ reason: UInt8, _ version: ConnectionPlan.Version) -> String {
        // MQTT 3.1.1 has five codes of its own (§3.2.2.3). No code of MQTT 5 that can occur here has the same number.
        let text =
            unsafe reason < 0x80 && version == .three
            ? mosquitto_connack_string(Int32(reason)) : mosquitto_reason_string(Int32(reason))
        guard let text = unsafe text else { return "no reason was given" }
        let words = unsafe String(cString: text)
        return words.hasSuffix(".") ? String(words.dropLast()) : words
    }

    /// Returns whether TCP had established a connection that ended before any data arrived. A host that is unreachable
    /// or refuses the connection does not cause a reset (connect(2)). A peer that accepts and then ends the connection
    /// does, for example a server that requires TLS and receives something else.
    static func wasEstablished(_ code: Int32, _ error: Errno) -> Bool {
        code == Int32(MOSQ_ERR_CONN_LOST.rawValue) || error == .connectionReset || error == .brokenPipe
    }

    /// Returns the reason why a connection ended or, if `isEstablished` is false, why it could not be established.
    func brokerError(_ code: Int32, _ error: Errno, isEstablished: Bool) -> BrokerError {
        if let failure = tls?.failure { return .tls(failure) }
        if let answer, answer.reason != 0 {
            // The codes for an unsupported version of the protocol: 0x01 in MQTT 3.1.1, 0x84 in MQTT 5.
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
            let text = code == Int32(MOSQ_ERR_TLS.rawValue) ? lastError ?? "no reason was given" : "unexpected eof"
            return .tls(TLSError.sorted(text, wasAnswered: tls.wasAnswered))
        }
        switch code {
        case Int32(MOSQ_ERR_TLS.rawValue): return .tls(.failed(lastError ?? "no reason was given"))
        case Int32(MOSQ_ERR_ERRNO.rawValue): return .lost("\(error)")
        case Int32(MOSQ_ERR_KEEPALIVE.rawValue): return .silent("no data arrived within mqtt.keep_alive")
        case Int32(MOSQ_ERR_SUCCESS.rawValue), Int32(MOSQ_ERR_CONN_LOST.rawValue), Int32(MOSQ_ERR_NO_CONN.rawValue):
            return .lost("it was closed")
        case Int32(MOSQ_ERR_PROTOCOL.rawValue), Int32(MOSQ_ERR_MALFORMED_PACKET.rawValue):
            return .lost("it sent data that is invalid in MQTT")
        default: return .lost(unsafe String(cString: mosquitto_strerror(code)))
        }
    }

    private static let sessionTakenOver: UInt8 = 0x8E
    static let retainNotSupported: UInt8 = 0x9A
}
