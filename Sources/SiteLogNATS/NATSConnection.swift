import BaseTypes
import CNATS
import EventLoops
import Glibc
import SiteMonitoring

/// One connection to a site's servers. The threads of libnats only pass received messages on (``NATSInbox``).
///
/// While no server is connected, the library stores sent messages up to a limit, and the answers show their results. If
/// a server fails, the library reconnects. If a server refuses the connection (another password, an expired
/// certificate), the library closes it permanently without a reason. Then ``NATSLink`` creates a new connection, whose
/// error has the reason.
@safe final class NATSConnection: Sendable {
    /// The received messages.
    let inbox: NATSInbox

    // The addresses of the library's objects, which can be used in any thread.
    private let handle: UInt
    private let subscription: UInt
    private let servers: String

    /// Connects, and blocks until that is done: at most two seconds for each server.
    ///
    /// - Parameters:
    ///   - options: the servers, and how to connect to them.
    ///   - address: the prefix of the subjects for answers; a dot and a word follow.
    ///   - wake: wakes the loop.
    /// - Throws: ``SiteLogError`` with the reason why no server accepts the connection.
    init(_ options: NATSOptions, address: String, _ wake: WakeUp) throws(SiteLogError) {
        servers = options.servers.joined(separator: ", ")
        inbox = NATSInbox(wake)
        (handle, subscription) = try Self.connect(options, address, inbox)
    }

    deinit {
        unsafe natsSubscription_Destroy(OpaquePointer(bitPattern: subscription))
        unsafe natsConnection_Destroy(OpaquePointer(bitPattern: handle))
    }

    /// Sends a message whose answer is sent to `answer`.
    ///
    /// - Throws: ``SiteLogError`` if it was not sent, for example because it is larger than the servers accept, or
    ///   because too much data waits for a server.
    func send(
        _ bytes: [UInt8], to subject: String, answer: String, header: (name: String, value: String)? = nil
    ) throws(SiteLogError) {
        let handle = unsafe OpaquePointer(bitPattern: handle)
        var message: OpaquePointer?
        var status = unsafe bytes.span.bytes.withUnsafeBytes { buffer in
            unsafe natsMsg_Create(
                &message, subject, answer, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count))
        }
        defer { unsafe natsMsg_Destroy(message) }
        if status == NATS_OK, let header { status = unsafe natsMsgHeader_Set(message, header.name, header.value) }
        if status == NATS_OK { status = unsafe natsConnection_PublishMsg(handle, message) }
        switch status {
        case NATS_OK: break
        case NATS_MAX_PAYLOAD:
            // This error is permanent: the message would be refused each time.
            let most = Int(unsafe natsConnection_GetMaxPayload(handle))
            throw .tooBig("a message to \(subject), with its header,", bytes: bytes.count, most: most)
        case NATS_INSUFFICIENT_BUFFER:
            throw .unavailable("\(servers): no server is connected, and the buffer of waiting messages is full")
        default: throw .unavailable("\(servers): \(NATSRefusal.words(status))")
        }
    }

    // MARK: Connecting

    private static func connect(
        _ options: NATSOptions, _ address: String, _ inbox: NATSInbox
    ) throws(SiteLogError) -> (UInt, UInt) {
        func check(_ status: natsStatus) throws(SiteLogError) {
            guard status == NATS_OK else { throw NATSRefusal(status, options).failure }
        }
        var made: OpaquePointer?
        try check(unsafe natsOptions_Create(&made))
        defer { unsafe natsOptions_Destroy(made) }
        try unsafe set(options, made, check)
        // The library's threads can call back for a while after the connection was destroyed. The last callback of the
        // connection reports that it is closed. The last callback of the subscription reports that it is complete. So
        // each of the two holds its own reference.
        let context = unsafe Unmanaged.passRetained(inbox)
        let closure = unsafe context.toOpaque()
        var connection: OpaquePointer?
        do throws(SiteLogError) {
            try check(unsafe natsOptions_SetReconnectedCB(made, onConnected, closure))
            try check(unsafe natsOptions_SetDisconnectedCB(made, onDisconnected, closure))
            try check(unsafe natsOptions_SetClosedCB(made, onClosed, closure))
            try check(unsafe natsOptions_SetErrorHandler(made, onError, closure))
            try check(unsafe natsConnection_Connect(&connection, made))
        } catch {
            // There is no connection that could report that it is closed.
            unsafe context.release()
            throw error
        }
        var subscription: OpaquePointer?
        do throws(SiteLogError) {
            try check(unsafe natsConnection_Subscribe(&subscription, connection, "\(address).>", onMessage, closure))
            let status = unsafe natsSubscription_SetOnCompleteCB(subscription, onComplete, context.retain().toOpaque())
            if status != NATS_OK { unsafe context.release() }
            try check(status)
            try check(
                unsafe natsSubscription_SetPendingLimits(
                    subscription, Int32(NATSInbox.messagesMax), Int32(NATSInbox.bytesMax)))
        } catch {
            unsafe natsSubscription_Destroy(subscription)
            unsafe natsConnection_Destroy(connection)
            throw error
        }
        return (UInt(bitPattern: connection), UInt(bitPattern: subscription))
    }

    private static func set(
        _ options: NATSOptions, _ made: OpaquePointer?, _ check: (natsStatus) throws(SiteLogError) -> Void
    ) throws(SiteLogError) {
        let list = unsafe options.servers.map { unsafe strdup($0) }
        defer { unsafe list.forEach { unsafe free($0) } }
        var pointers: [UnsafePointer<CChar>?] = unsafe list.map { unsafe UnsafePointer($0) }
        try check(unsafe natsOptions_SetServers(made, &pointers, Int32(pointers.count)))
        try check(unsafe natsOptions_SetName(made, options.name.description))
        switch options.identity {
        case .anonymous: break
        case .user(let user, let password): try check(unsafe natsOptions_SetUserInfo(made, user, password))
        case .credentials(let path): try check(unsafe natsOptions_SetUserCredentialsFromFiles(made, path, nil))
        }
        if let encryption = options.encryption {
            try check(unsafe natsOptions_SetSecure(made, true))
            if let path = encryption.authorities { try check(unsafe natsOptions_LoadCATrustedCertificates(made, path)) }
            if let (certificate, key) = encryption.identity {
                try check(unsafe natsOptions_LoadCertificatesChain(made, certificate, key))
            }
        }
        try check(unsafe natsOptions_SetMaxReconnect(made, -1))
        // A suspended server keeps its connection open and does not answer. The library disconnects from it when the
        // third ping is due, after six seconds.
        try check(unsafe natsOptions_SetPingInterval(made, 2_000))
        try check(unsafe natsOptions_SetMaxPingsOut(made, 2))
        try check(unsafe natsOptions_SetReconnectBufSize(made, Int32(options.bufferBytesMax)))
        try check(unsafe natsOptions_SetCustomReconnectDelay(made, delay, nil))
    }

    // MARK: Callbacks in the library's threads

    private static func inbox(_ closure: UnsafeMutableRawPointer?) -> NATSInbox? {
        unsafe closure.map { unsafe Unmanaged<NATSInbox>.fromOpaque($0).takeUnretainedValue() }
    }

    private static let onConnected: natsConnectionHandler = { _, closure in
        unsafe inbox(closure)?.note(.connected)
    }
    private static let onDisconnected: natsConnectionHandler = { _, closure in
        unsafe inbox(closure)?.note(.connecting)
    }
    private static let onClosed: natsConnectionHandler = { _, closure in
        unsafe inbox(closure)?.note(.closed)
        unsafe closure.map { unsafe Unmanaged<NATSInbox>.fromOpaque($0).release() }
    }

    private static let onComplete: natsOnCompleteCB = { closure in
        unsafe closure.map { unsafe Unmanaged<NATSInbox>.fromOpaque($0).release() }
    }

    private static let onError: natsErrHandler = { _, _, status, closure in
        let detail = unsafe nats_GetLastError(nil).map { unsafe String(cString: $0) } ?? ""
        if status == NATS_NOT_PERMITTED { unsafe inbox(closure)?.note(denial: detail) }
        let words = NATSRefusal.words(status)
        unsafe inbox(closure)?.note(error: detail.isEmpty ? words : "\(words): \(detail)")
    }

    private static let onMessage: natsMsgHandler = { _, _, message, closure in
        defer { unsafe natsMsg_Destroy(message) }
        var status: UnsafePointer<CChar>?
        if unsafe natsMsgHeader_Get(message, "Status", &status) != NATS_OK { unsafe status = nil }
        let count = Int(max(unsafe natsMsg_GetDataLength(message), 0))
        let data = unsafe UnsafeRawBufferPointer(start: natsMsg_GetData(message), count: count)
        unsafe inbox(closure)?.note(
            NATSInbox.Message(
                subject: unsafe natsMsg_GetSubject(message).map { unsafe String(cString: $0) } ?? "",
                reply: unsafe natsMsg_GetReply(message).map { unsafe String(cString: $0) },
                status: unsafe status.map { unsafe String(cString: $0) }, bytes: unsafe Array(data)))
    }

    /// Returns the back-off in milliseconds. As for attempts of ``NATSLink``, it doubles from 250 ms up to 30 s.
    private static let delay: natsCustomReconnectDelayHandler = { _, attempts, _ in
        BackOff(first: NATSLink.pauseFirst, most: NATSLink.pauseMost, failures: Int(attempts) - 1).pause.nanoseconds
            / 1_000_000
    }
}
