import BluetoothLE
import CNATS
import Glibc
import SiteLog
import SystemPackage

/// One connection to a site's servers, over libnats' own threads, which only hand over what they heard (``NATSInbox``).
///
/// No call waits: what is sent while no server is reached is kept by the library up to a bound, and the answers say what
/// became of it. It belongs to one thread.
@safe final class NATSConnection {
    /// What it hears.
    let inbox: NATSInbox
    /// Where answers are to go: each to a word behind this and a point.
    let address: String

    private let handle: OpaquePointer
    private let subscription: OpaquePointer
    private let servers: String

    /// Begins to connect.
    ///
    /// - Throws: ``LogTrouble/unavailable(_:)`` for what the library refuses, such as a file of credentials that is not there.
    init(_ options: NATSOptions) throws(LogTrouble) {
        servers = options.servers.joined(separator: ", ")
        let servers = servers
        do throws(Errno) { inbox = try NATSInbox() } catch {
            throw .unavailable("no descriptor is left for the connection to \(servers): \(error)")
        }
        // The library's threads may call for a while after the connection was destroyed: what says that it is closed comes last
        // of what the connection has said, and of the subscription that it is complete. Each has a reference of its own.
        let context = unsafe Unmanaged.passRetained(inbox)
        do throws(LogTrouble) {
            (unsafe handle, unsafe subscription, address) = unsafe try Self.connect(options, context, servers)
        } catch {
            unsafe context.release()
            throw error
        }
    }

    deinit {
        unsafe natsSubscription_Destroy(subscription)
        unsafe natsConnection_Destroy(handle)
    }

    /// Sends a message.
    ///
    /// The answer's subject ends with `word`.
    ///
    /// - Throws: ``LogTrouble/unavailable(_:)``: it was not sent, as where too much waits for a server.
    func send(
        _ octets: [UInt8], to subject: String, answer word: String, header: (name: String, value: String)? = nil
    ) throws(LogTrouble) {
        var message: OpaquePointer?
        var status = unsafe octets.span.bytes.withUnsafeBytes { bytes in
            unsafe natsMsg_Create(
                &message, subject, "\(address).\(word)", bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
                Int32(bytes.count))
        }
        defer { unsafe natsMsg_Destroy(message) }
        if status == NATS_OK, let header { status = unsafe natsMsgHeader_Set(message, header.name, header.value) }
        if status == NATS_OK { status = unsafe natsConnection_PublishMsg(handle, message) }
        guard status == NATS_OK else { throw .unavailable("\(servers): \(Self.words(status))") }
    }

    // MARK: Connecting

    private static func connect(
        _ options: NATSOptions, _ context: Unmanaged<NATSInbox>, _ servers: String
    ) throws(LogTrouble) -> (OpaquePointer, OpaquePointer, String) {
        func check(_ status: natsStatus) throws(LogTrouble) {
            guard status == NATS_OK || status == NATS_NOT_YET_CONNECTED else {
                throw .unavailable("\(servers): \(words(status))")
            }
        }
        var made: OpaquePointer?
        try check(unsafe natsOptions_Create(&made))
        defer { unsafe natsOptions_Destroy(made) }
        let list = unsafe options.servers.map { unsafe strdup($0) }
        defer { unsafe list.forEach { unsafe free($0) } }
        var pointers: [UnsafePointer<CChar>?] = unsafe list.map { unsafe UnsafePointer($0) }
        try check(unsafe natsOptions_SetServers(made, &pointers, Int32(pointers.count)))
        try check(unsafe natsOptions_SetName(made, options.name.description))
        switch options.identity {
        case .nobody: break
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
        let closure = unsafe context.toOpaque()
        try check(unsafe natsOptions_SetMaxReconnect(made, -1))
        try check(unsafe natsOptions_SetReconnectBufSize(made, Int32(options.bufferOctetsMax)))
        try check(unsafe natsOptions_SetRetryOnFailedConnect(made, true, heardConnected, closure))
        try check(unsafe natsOptions_SetReconnectedCB(made, heardConnected, closure))
        try check(unsafe natsOptions_SetDisconnectedCB(made, heardDisconnected, closure))
        try check(unsafe natsOptions_SetClosedCB(made, heardClosed, closure))
        try check(unsafe natsOptions_SetErrorHandler(made, heardError, closure))
        try check(unsafe natsOptions_SetCustomReconnectDelay(made, delay, nil))
        var connection: OpaquePointer?
        let status = unsafe natsConnection_Connect(&connection, made)
        try check(status)
        var inbox: UnsafeMutablePointer<CChar>?
        var subscription: OpaquePointer?
        var word = ""
        do throws(LogTrouble) {
            try check(unsafe natsInbox_Create(&inbox))
            word = unsafe inbox.map { unsafe String(cString: $0) } ?? ""
            unsafe natsInbox_Destroy(inbox)
            try check(unsafe natsConnection_Subscribe(&subscription, connection, "\(word).>", heardMessage, closure))
            let status = unsafe natsSubscription_SetOnCompleteCB(subscription, heardLast, context.retain().toOpaque())
            if status != NATS_OK { unsafe context.release() }
            try check(status)
            try check(unsafe natsSubscription_SetPendingLimits(subscription, 65_536, 64 << 20))
        } catch {
            unsafe natsConnection_Destroy(connection)
            throw error
        }
        // With a server that was there at once nobody else says so.
        if status == NATS_OK { unsafe context.takeUnretainedValue().note(.connected) }
        guard let connection = unsafe connection, let subscription = unsafe subscription else {
            throw .unavailable("\(servers): the library made no connection")
        }
        return unsafe (connection, subscription, word)
    }

    private static func words(_ status: natsStatus) -> String {
        unsafe natsStatus_GetText(status).map { unsafe String(cString: $0) } ?? "status \(status.rawValue)"
    }

    // MARK: What the library's threads call

    private static func inbox(_ closure: UnsafeMutableRawPointer?) -> NATSInbox? {
        unsafe closure.map { unsafe Unmanaged<NATSInbox>.fromOpaque($0).takeUnretainedValue() }
    }

    private static let heardConnected: natsConnectionHandler = { _, closure in
        unsafe inbox(closure)?.note(.connected)
    }
    private static let heardDisconnected: natsConnectionHandler = { _, closure in
        unsafe inbox(closure)?.note(.connecting)
    }
    private static let heardClosed: natsConnectionHandler = { _, closure in
        unsafe inbox(closure)?.note(.closed)
        unsafe closure.map { unsafe Unmanaged<NATSInbox>.fromOpaque($0).release() }
    }

    private static let heardLast: natsOnCompleteCB = { closure in
        unsafe closure.map { unsafe Unmanaged<NATSInbox>.fromOpaque($0).release() }
    }

    private static let heardError: natsErrHandler = { _, _, status, closure in
        let detail = unsafe nats_GetLastError(nil).map { unsafe String(cString: $0) } ?? ""
        unsafe inbox(closure)?.note(error: detail.isEmpty ? words(status) : "\(words(status)): \(detail)")
    }

    private static let heardMessage: natsMsgHandler = { _, _, message, closure in
        defer { unsafe natsMsg_Destroy(message) }
        var status: UnsafePointer<CChar>?
        if unsafe natsMsgHeader_Get(message, "Status", &status) != NATS_OK { unsafe status = nil }
        let count = Int(max(unsafe natsMsg_GetDataLength(message), 0))
        let data = unsafe UnsafeRawBufferPointer(start: natsMsg_GetData(message), count: count)
        unsafe inbox(closure)?.note(
            NATSInbox.Message(
                subject: unsafe natsMsg_GetSubject(message).map { unsafe String(cString: $0) } ?? "",
                reply: unsafe natsMsg_GetReply(message).map { unsafe String(cString: $0) },
                status: unsafe status.map { unsafe String(cString: $0) }, octets: unsafe Array(data)))
    }

    /// As everywhere here: doubled from a quarter of a second to half a minute.
    private static let delay: natsCustomReconnectDelayHandler = { _, attempts, _ in
        BackOff(first: .milliseconds(250), most: .seconds(30), failures: Int(attempts) - 1).pause.nanoseconds
            / 1_000_000
    }
}
