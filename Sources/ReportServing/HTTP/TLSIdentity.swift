import CMicrohttpd

/// The certificate of a server with its intermediate certificates, and its key; both PEM.
package struct TLSIdentity: Sendable, Hashable {
    /// The reason why a certificate and a key cannot be used.
    package enum Problem: Error, Hashable {
        /// An error in the file of the certificate, as a clause.
        case certificate(String)
        /// An error in the file of the key, as a clause.
        case key(String)
    }

    let certificate: String
    let key: String
    /// The time at which the certificate expires, in seconds since 1970.
    package let ends: Int64

    /// Reads the content of two files, and checks it with GnuTLS.
    ///
    /// - Throws: ``Problem`` if there is no certificate or no key, if the key needs a password, or if it is not the key
    ///   of the certificate.
    package init(certificate: [UInt8], key: [UInt8]) throws(Problem) {
        guard let certificate = Self.text(certificate), certificate.contains("-----BEGIN CERTIFICATE-----") else {
            throw .certificate("it has no certificate (PEM: -----BEGIN CERTIFICATE-----)")
        }
        guard let key = Self.text(key), key.contains("PRIVATE KEY-----") else {
            throw .key("it has no key (PEM: -----BEGIN PRIVATE KEY-----)")
        }
        guard !key.contains("ENCRYPTED") else {
            throw .key("the key is encrypted, and the server has no password for it")
        }
        (self.certificate, self.key) = (certificate, key)
        var ends: Int64 = 0
        let result = unsafe cmicrohttpd_check_identity(certificate, key, &ends)
        self.ends = ends
        guard result != 0 else { return }
        let words = unsafe gnutls_strerror(result).map { unsafe String(cString: $0) } ?? "error \(result)"
        guard result != GNUTLS_E_CERTIFICATE_KEY_MISMATCH else {
            throw .key("it is not the key of the certificate")
        }
        throw .certificate("the certificate can't be used with its key: \(words)")
    }

    /// Starts a daemon with this certificate, or without TLS if `identity` is `nil`. It has read both texts when this
    /// returns.
    static func start(_ options: inout cmicrohttpd_settings, as identity: TLSIdentity?) -> OpaquePointer? {
        guard let identity else { return unsafe cmicrohttpd_start(&options) }
        return unsafe identity.certificate.withCString { certificate in
            unsafe identity.key.withCString { key in
                unsafe options.certificate = certificate
                unsafe options.key = key
                return unsafe cmicrohttpd_start(&options)
            }
        }
    }

    private static func text(_ bytes: [UInt8]) -> String? {
        bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
    }
}
