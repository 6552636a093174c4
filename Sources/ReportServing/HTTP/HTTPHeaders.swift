import CMicrohttpd

/// The headers of answers.
enum HTTPHeaders {
    static func add(_ name: String, _ value: String, to response: OpaquePointer) {
        // The library refuses values with line ends, which the server does not send. The answer would be sent without
        // the header.
        _ = unsafe MHD_add_response_header(response, name, value)
    }

    /// Adds the headers of a complete answer.
    static func add(of answer: HTTPResponse, to response: OpaquePointer) {
        unsafe add("Content-Type", answer.contentType, to: response)
        unsafe add("Cache-Control", answer.hasTag ? "private, no-cache" : "no-store", to: response)
        if answer.hasTag { unsafe add("ETag", answer.body.tag, to: response) }
        if let seconds = answer.retryAfter { unsafe add("Retry-After", "\(seconds)", to: response) }
        if answer.status == 405 { unsafe add("Allow", "GET, HEAD", to: response) }
        if answer.status == 401 {
            unsafe add("WWW-Authenticate", "Basic realm=\"beacon-gateway\", charset=\"UTF-8\"", to: response)
        }
        unsafe add(fileName: answer.fileName, to: response)
    }

    /// Adds the headers of a stream.
    static func add(of stream: HTTPStream, to response: OpaquePointer) {
        unsafe add("Content-Type", stream.contentType, to: response)
        unsafe add(fileName: stream.fileName, to: response)
        unsafe add("Cache-Control", "no-store", to: response)
        // Without this header, nginx buffers the answer.
        unsafe add("X-Accel-Buffering", "no", to: response)
    }

    /// Adds the header that makes a browser save the answer as a file, if there is a name.
    static func add(fileName: String?, to response: OpaquePointer) {
        if let fileName {
            unsafe add("Content-Disposition", "attachment; filename=\"\(fileName)\"", to: response)
        }
    }

    /// Adds the headers of every answer. Pages load and run nothing from other servers, cannot be framed (Content
    /// Security Policy, level 3), and do not send their address to other servers (Referrer-Policy). A page with its own
    /// style runs no scripts, and loads only images of this server.
    static func addAlways(to response: OpaquePointer, bringsStyle: Bool) {
        for (name, value) in always { unsafe add(name, value, to: response) }
        let allowed =
            bringsStyle
            ? "style-src 'unsafe-inline'"
            : "style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'"
        unsafe add(
            "Content-Security-Policy",
            "default-src 'none'; \(allowed); img-src 'self'; base-uri 'none'; frame-ancestors 'none'", to: response)
    }

    private static let always = [
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
    ]
}
