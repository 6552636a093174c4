import CMosquitto
import COpenSSL
import EventLog
import Glibc
import PublisherProtocol
import SystemPackage

/// One connection to a broker, over libmosquitto's loop for others' loops.
///
/// It belongs to one thread and one connection: what the library would send again by itself after a reconnection would
/// come in another order, so each connection has a client of its own that knows of no message before it. Its callbacks
/// only note what was heard; whoever drives it looks afterwards.
@safe final class MosquittoClient {
    /// What the broker said to the request for a connection.
    struct Answer {
        /// MQTT 5 §3.2.2.2, or 3.1.1 §3.2.2.3.
        var reason: UInt8
        /// How long the connection may be silent, in seconds, where the broker has it otherwise.
        var keepAlive: Int?
        /// How many messages it takes at a time, where it says so (MQTT 5 §3.2.2.3.3).
        var receiveMaximum: Int?
        /// How many octets a packet may have, where it says so (MQTT 5 §3.2.2.3.6).
        var maximumPacketSize: Int?
        /// Whether it keeps retained messages (MQTT 5 §3.2.2.3.5).
        var keepsRetained = true
    }

    /// What becomes of a call.
    enum Failure: Error {
        /// The connection is over: the library's code, and the system's where that is MOSQ_ERR_ERRNO.
        case ended(Int32, Errno)
        /// The message can't be sent over this connection, for what it is.
        case unacceptable(String)
        /// The message can't be sent over any connection: MQTT has no such thing.
        case impossible(String)
    }

    /// What the broker said to the request for a connection; absent until it did.
    private(set) var answer: Answer?
    // What was acknowledged since it was asked for: the library's number, and the reason code (MQTT 5 §3.4.2.1).
    private var acknowledged: [(message: Int32, reason: UInt8)] = []
    /// With which reason the broker ended the connection, where it said one (MQTT 5 §3.14.2.1).
    private(set) var endReason: UInt8?
    /// What the library last said of an error.
    private(set) var lastError: String?
    /// What the connection's TLS is like.
    let tls: TLSContext?
    /// What is spoken.
    let version: ConnectionPlan.Version

    /// As whom it connects.
    let clientID: String

    /// How many messages were handed to the library.
    private(set) var published = 0

    private let handle: OpaquePointer
    private let messageExpiry: UInt32?
    // What was acknowledged and has been taken: room for what comes next.
    private var taken: [(message: Int32, reason: UInt8)] = []
    private var isGathering = false

    // Once in a process, before anything else of the library's.
    private static let library: Int32 = mosquitto_lib_init()

    /// A client that is not connected.
    ///
    /// - Throws: ``BrokerTrouble/lost(_:)`` where no memory is left.
    init(
        _ options: PublisherOptions, _ version: ConnectionPlan.Version, _ tls: TLSContext?, password: [UInt8]?,
        will: String?
    ) throws(BrokerTrouble) {
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
        // Where the broker names no limit the library would keep to 20.
        unsafe mosquitto_int_option(handle, MOSQ_OPT_SEND_MAXIMUM, Int32(clamping: min(options.window, 65_535)))
        unsafe mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1)
        if let tls {
            unsafe _ = mosquitto_void_option(handle, MOSQ_OPT_SSL_CTX, UnsafeMutableRawPointer(tls.context))
            // Else the library would have it verified by its own callback.
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

    /// Begins to connect; the rest happens as the socket becomes ready.
    ///
    /// - Throws: ``Failure/ended(_:_:)``.
    func connect(_ address: String, _ port: UInt16, keepAlive: Int) throws(Failure) {
        try check(unsafe mosquitto_connect_async(handle, address, Int32(port), Int32(keepAlive)))
    }

    /// The connection's socket; absent where there is none any more.
    var descriptor: FileDescriptor? {
        let socket = unsafe mosquitto_socket(handle)
        return socket >= 0 ? FileDescriptor(rawValue: socket) : nil
    }

    /// Whether TLS is being agreed upon.
    var isHandshaking: Bool {
        guard tls != nil, let connection = unsafe connection else { return false }
        return unsafe copenssl_is_handshaking(connection) != 0
    }

    private var connection: OpaquePointer? { unsafe mosquitto_ssl_get(handle).map { OpaquePointer($0) } }

    /// Whether something waits for room in the socket.
    var wantsWrite: Bool {
        // While TLS is agreed upon the library says yes once it had to wait, and never again no.
        if isHandshaking, let connection = unsafe connection { return unsafe copenssl_wants_write(connection) != 0 }
        return unsafe mosquitto_want_write(handle)
    }

    /// Takes what the broker sent.
    func read() throws(Failure) { try check(unsafe mosquitto_loop_read(handle, 1)) }

    /// Sends what waits.
    func write() throws(Failure) { try check(unsafe mosquitto_loop_write(handle, 1)) }

    /// Asks the broker whether it is there, where the connection was silent for as long as it may be.
    func keepAlive() throws(Failure) { try check(unsafe mosquitto_loop_misc(handle)) }

    /// Says goodbye: the broker keeps the last will to itself.
    func disconnect() {
        unsafe _ = mosquitto_disconnect(handle)
        sendGathered()
    }

    // MARK: Fewer segments

    /// Has TCP gather what is sent up to ``sendGathered()``, as far as a segment has room (TCP_CORK, tcp(7)).
    ///
    /// The library writes each message by itself. A segment for each of them was half of the work of shipping, here and, as
    /// a segment that it is woken for, at the broker.
    private func gather() {
        guard !isGathering, let descriptor else { return }
        isGathering = true
        Self.set(TCP_CORK, 1, descriptor)
    }

    /// Sends what was gathered.
    ///
    /// - Returns: whether there was something.
    @discardableResult func sendGathered() -> Bool {
        guard isGathering else { return false }
        isGathering = false
        if let descriptor { Self.set(TCP_CORK, 0, descriptor) }
        return true
    }

    /// Has TCP acknowledge what came without waiting for more (TCP_QUICKACK, tcp(7)), which it forgets after a while.
    ///
    /// A broker with Nagle's algorithm sends one PUBACK and holds back the others until TCP has acknowledged that one; where
    /// nothing is sent meanwhile, that takes 40 ms.
    func acknowledgeAtOnce() {
        if let descriptor { Self.set(TCP_QUICKACK, 1, descriptor) }
    }

    // Where one is not to be had it is slower, and no worse.
    private static func set(_ option: Int32, _ value: Int32, _ descriptor: FileDescriptor) {
        var value = value
        unsafe _ = setsockopt(
            descriptor.rawValue, Int32(IPPROTO_TCP), option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    // MARK: Messages

    /// Whether something was acknowledged that has not been taken.
    var hasAcknowledgements: Bool { !acknowledged.isEmpty }

    /// Calls `body` with what was acknowledged since the last time, in order: the library's number, and the reason code
    /// (MQTT 5 §3.4.2.1).
    func takeAcknowledgements(_ body: (Int32, UInt8) -> Void) {
        swap(&taken, &acknowledged)
        for (message, reason) in taken { body(message, reason) }
        taken.removeAll(keepingCapacity: true)
    }

    /// Hands a message to the library, which sends it at once as far as the socket takes it.
    ///
    /// - Parameters:
    ///   - topic: UTF-8 with a zero octet behind.
    ///   - payload: the body.
    ///   - quality: QoS.
    ///   - isRetained: whether the broker keeps it.
    ///   - sequence: a line's number, told as a user property in MQTT 5 (§3.3.2.3.7).
    /// - Returns: the library's number, by which it is acknowledged.
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
            // What is retained holds until it is replaced.
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
        // MQTT 5 §1.5.5, §1.5.4: no broker takes it.
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

    // MARK: What is heard

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
            // The library gives its own codes here too; the broker's begin at 0x80, but for "normal" and for the will.
            guard let user = unsafe user, (0x80...0xFF).contains(reason) else { return }
            unsafe Unmanaged<MosquittoClient>.fromOpaque(user).takeUnretainedValue().endReason = UInt8(reason)
        }
        // It tells why TLS failed, where nothing else does; and costs a line of text, made and thrown away, for each message
        // and each acknowledgement.
        guard tls != nil else { return }
        unsafe mosquitto_log_callback_set(handle) { _, user, level, text in
            guard level == MOSQ_LOG_ERR, let user = unsafe user, let text = unsafe text else { return }
            unsafe Unmanaged<MosquittoClient>.fromOpaque(user).takeUnretainedValue().lastError = String(cString: text)
        }
    }

    // MARK: Bounds

    // A handshake with long chains of certificates, and what comes with a connection.
    private static let octetsMax = 1 << 20
    // A PUBACK has four octets, and where a broker is talkative a reason in words.
    private static let octetsForEach = 256

    /// Whether more came through this connection than a broker has to say to who subscribes to nothing.
    ///
    /// The library makes room for a packet of 256 MiB where one is announced, and keeps messages of QoS 2 until they are
    /// released.
    var hasHeardTooMuch: Bool {
        guard let descriptor, let count = Self.received(descriptor) else { return false }
        return count > Self.octetsMax + Self.octetsForEach * published
    }

    /// How many octets came through a TCP connection (TCP_INFO, tcp(7): `tcpi_bytes_received`, Linux 4.1).
    private static func received(_ descriptor: FileDescriptor) -> Int? {
        // linux/tcp.h can't be had beside netinet/tcp.h, whose struct is shorter: the field's place is the kernel's promise.
        let place = 128
        return unsafe withUnsafeTemporaryAllocation(byteCount: place + 8, alignment: 8) { buffer in
            var size = socklen_t(buffer.count)
            let result = unsafe getsockopt(
                descriptor.rawValue, Int32(IPPROTO_TCP), TCP_INFO, buffer.baseAddress, &size)
            guard result == 0, size >= place + 8 else { return nil }
            return unsafe Int(truncatingIfNeeded: buffer.load(fromByteOffset: place, as: UInt64.self))
        }
    }

    // MARK: Words

    /// The name of a reason code.
    static func name(_ reason: UInt8, _ version: ConnectionPlan.Version) -> String {
        // 3.1.1 has five codes of its own (§3.2.2.3), numbered as MQTT 5 numbers none that could be meant.
        let text =
            unsafe reason < 0x80 && version == .three
            ? mosquitto_connack_string(Int32(reason)) : mosquitto_reason_string(Int32(reason))
        guard let text = unsafe text else { return "no reason was given" }
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
            let text = code == Int32(MOSQ_ERR_TLS.rawValue) ? lastError ?? "no reason was given" : "unexpected eof"
            return .tls(TLSTrouble.sorted(text, wasAnswered: tls.wasAnswered))
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
