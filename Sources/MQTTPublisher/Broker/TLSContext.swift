import COpenSSL
import PublisherProtocol
import SystemPackage

/// The TLS parameters of one connection, and the reason if TLS fails.
///
/// It belongs to the publisher's thread. The verification of libmosquitto can only distinguish a wrong name from other
/// errors. Therefore the context is created here, with a callback that stores the first error. No check is weaker
/// because of this.
@safe final class TLSContext {
    /// The context of OpenSSL.
    let context: OpaquePointer
    /// The reason why the connection failed, as far as it is known.
    private(set) var failure: TLSError?
    /// Whether the broker's ServerHello was received.
    private(set) var wasAnswered = false
    /// Whether the TLS handshake has finished.
    private(set) var isAgreed = false
    /// Whether a client certificate is offered if the broker requests one.
    let hasCertificate: Bool
    private let serverName: String

    /// Creates a context from settings. The files are read now.
    ///
    /// - Throws: ``BrokerError/file(_:_:_:)``, ``BrokerError/keyNeedsPassword(_:)`` or ``BrokerError/tls(_:)``. A
    ///   setting that cannot be applied is never ignored.
    init(_ options: PublisherOptions.TLS, host: String) throws(BrokerError) {
        serverName = options.serverName ?? host
        hasCertificate = options.certificateFile != nil
        ERR_clear_error()
        guard let made = unsafe SSL_CTX_new(TLS_client_method()) else {
            throw .tls(.failed(Self.lastError() ?? "no memory"))
        }
        unsafe context = made
        // Earlier versions of TLS are not secure (RFC 8996).
        unsafe _ = copenssl_set_min_version(context, Int32(TLS1_2_VERSION))
        unsafe copenssl_refuse_passwords(context)
        try loadAuthorities(options)
        try loadCertificate(options)
        try expectName()
        unsafe _ = copenssl_set_user(context, Unmanaged.passUnretained(self).toOpaque())
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER) { isFine, store in
            guard isFine == 0, let store = unsafe store, let connection = unsafe copenssl_connection(store),
                let user = unsafe copenssl_user(connection)
            else { return isFine }
            unsafe Unmanaged<TLSContext>.fromOpaque(user).takeUnretainedValue().note(store)
            return 0
        }
        unsafe SSL_CTX_set_info_callback(context) { connection, place, value in
            guard let connection = unsafe connection, let user = unsafe copenssl_user(connection) else { return }
            unsafe Unmanaged<TLSContext>.fromOpaque(user).takeUnretainedValue().note(connection, place, value)
        }
    }

    deinit { unsafe SSL_CTX_free(context) }

    // MARK: Settings

    private func loadAuthorities(_ options: PublisherOptions.TLS) throws(BrokerError) {
        if options.caFile == nil, options.caDirectory == nil {
            guard unsafe SSL_CTX_set_default_verify_paths(context) == 1 else {
                throw .tls(.failed(Self.lastError() ?? "the system's certificate authorities can't be read"))
            }
        }
        if let file = options.caFile {
            try Self.look(file, "mqtt.tls.ca_file")
            guard unsafe SSL_CTX_load_verify_file(context, file) == 1 else {
                throw .file("mqtt.tls.ca_file", file, Self.lastError() ?? "it has no certificate")
            }
        }
        if let directory = options.caDirectory {
            try Self.look(directory, "mqtt.tls.ca_directory")
            guard unsafe SSL_CTX_load_verify_dir(context, directory) == 1 else {
                throw .file("mqtt.tls.ca_directory", directory, Self.lastError() ?? "it can't be read")
            }
        }
    }

    private func loadCertificate(_ options: PublisherOptions.TLS) throws(BrokerError) {
        guard let certificate = options.certificateFile, let key = options.keyFile else { return }
        try Self.look(certificate, "mqtt.tls.certificate_file")
        guard unsafe SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
            let why = Self.lastError()
            throw .file(
                "mqtt.tls.certificate_file", certificate,
                why == nil || why == "no start line" || why == "PEM lib"
                    ? "it has no certificate (PEM)" : why ?? "")
        }
        try Self.look(key, "mqtt.tls.key_file")
        var isEncrypted: Int32 = 0
        guard unsafe copenssl_use_key(context, key, &isEncrypted) == 1 else {
            let why = Self.lastError()
            if isEncrypted != 0 { throw .keyNeedsPassword(key) }
            // The other reasons of OpenSSL ("PEM lib", "unsupported") name parts of OpenSSL, so they do not help an
            // operator.
            if why == "key values mismatch" {
                throw .file("mqtt.tls.key_file", key, "it is not the key of \(certificate)")
            }
            throw .file("mqtt.tls.key_file", key, "it has no key (PEM)")
        }
        guard unsafe SSL_CTX_check_private_key(context) == 1 else {
            throw .file("mqtt.tls.key_file", key, "it is not the key of \(certificate)")
        }
    }

    /// Checks that a file exists and can be read. OpenSSL would only report an error in "system lib".
    private static func look(_ path: String, _ setting: String) throws(BrokerError) {
        do {
            try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec, .nonBlocking]).close()
        } catch {
            throw .file(setting, path, "\(error)")
        }
    }

    private func expectName() throws(BrokerError) {
        guard let parameters = unsafe SSL_CTX_get0_param(context) else { throw .tls(.failed("no memory")) }
        let result =
            unsafe Resolver.isAddress(serverName)
            ? X509_VERIFY_PARAM_set1_ip_asc(parameters, serverName)
            : X509_VERIFY_PARAM_set1_host(parameters, serverName, serverName.utf8.count)
        // Without a name to compare it with, the certificate of any other host would be accepted.
        guard result == 1, !serverName.isEmpty else {
            throw .tls(.failed("\(serverName) is not a name that a certificate can have"))
        }
        unsafe X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    }

    // MARK: Callbacks

    private func note(_ store: OpaquePointer) {
        guard failure == nil else { return }
        let error = unsafe X509_STORE_CTX_get_error(store)
        var subject = "unknown"
        var names = ""
        if let certificate = unsafe X509_STORE_CTX_get_current_cert(store) {
            subject = unsafe Self.text { unsafe copenssl_subject(certificate, $0, $1) }
            names = unsafe Self.text { unsafe copenssl_names(certificate, $0, $1) }
        }
        switch error {
        case X509_V_ERR_CERT_HAS_EXPIRED: failure = .expired(subject)
        case X509_V_ERR_CERT_NOT_YET_VALID: failure = .notYetValid(subject)
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            failure = .nameMismatch(expected: serverName, found: names)
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
            failure = .authorityUnknown(subject)
        default:
            let why = unsafe X509_verify_cert_error_string(Int(error)).map { unsafe String(cString: $0) }
            failure = .certificate(subject, why ?? "error \(error)")
        }
    }

    private func note(_ connection: OpaquePointer, _ place: Int32, _ value: Int32) {
        if place & SSL_CB_HANDSHAKE_START != 0 {
            // The library sets the address to which it connects as the server name. The name must be sent instead (RFC
            // 6066 §3: never an address).
            unsafe _ = copenssl_set_server_name(connection, Resolver.isAddress(serverName) ? nil : serverName)
        }
        if place & SSL_CB_LOOP != 0, unsafe SSL_get_state(connection) == TLS_ST_CR_SRVR_HELLO { wasAnswered = true }
        if place & SSL_CB_HANDSHAKE_DONE != 0 { isAgreed = true }
        if place & SSL_CB_ALERT != 0, place & SSL_CB_READ != 0, failure == nil {
            let name = unsafe SSL_alert_desc_string_long(value).map { unsafe String(cString: $0) } ?? "unknown"
            // A normal end of the connection.
            guard name != "close notify" else { return }
            let number = UInt8(truncatingIfNeeded: value)
            failure = number == 70 ? .tooOld : .alert(number, name, hasCertificate: hasCertificate)
        }
    }

    private static func text(_ fill: (UnsafeMutablePointer<CChar>, Int) -> Void) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            unsafe start.initialize(repeating: 0, count: buffer.count)
            unsafe fill(start, buffer.count)
            unsafe buffer[buffer.count - 1] = 0
            return unsafe String(cString: start)
        }
    }

    /// Returns the latest error of OpenSSL in this thread, and clears it and all earlier ones; `nil` if there is none.
    static func lastError() -> String? {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0 else { return nil }
        if let reason = unsafe ERR_reason_error_string(code) { return unsafe String(cString: reason) }
        // A system error: the number without the flag bit (openssl/err.h).
        return "error \(code & 0x7FFF_FFFF)"
    }
}
