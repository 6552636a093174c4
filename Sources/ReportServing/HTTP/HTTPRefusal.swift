import CMicrohttpd

/// The head of a request, with the parts that decide whether the request is refused.
struct HTTPHead {
    let method: String
    /// Whether it conforms to RFC 9112, so that a proxy sees the same headers and the same end of the request.
    let isStrict: Bool
    /// Whether its query has too many members or too many bytes to be read.
    let isQueryLong: Bool
    /// Whether its target has a control character, a space or `%00`.
    let hasControl: Bool
    let headers: HTTPFields

    init(
        _ connection: OpaquePointer, _ method: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>,
        _ version: UnsafePointer<CChar>, found: UnsafeMutableRawPointer?
    ) {
        self.method = unsafe String(cString: method)
        isStrict = unsafe cmicrohttpd_is_strict(connection, method, target, version, found)
        isQueryLong = unsafe cmicrohttpd_query_is_long(found)
        hasControl = unsafe cmicrohttpd_has_control(found)
        headers = unsafe HTTPFields(connection, .HEADER_KIND)
    }
}

// Requests that are refused before a handler is called.
extension HTTPServerSettings {
    /// Returns the reason why a head is refused; `nil` if it is accepted.
    func refusal(of head: HTTPHead) -> HTTPProblem? {
        let (method, headers) = (head.method, head.headers)
        guard head.isStrict else {
            return HTTPProblem(
                400, "the header of the request does not conform to RFC 9112",
                hint: "end its lines with CR LF, and do not write white space before a colon")
        }
        guard !head.hasControl else {
            return HTTPProblem(
                400, "the address has a control character, or a NUL character (%00)", hint: "remove this character")
        }
        guard !head.isQueryLong else {
            return HTTPProblem(
                414, "the query is too long",
                hint: "send at most \(cmicrohttpd_query_max) members and \(cmicrohttpd_query_bytes_max) bytes, "
                    + "counting 64 bytes more for each member")
        }
        guard !headers.isTooMany else {
            return HTTPProblem(431, "the request has too many headers", hint: "send at most 100")
        }
        let named = headers["host"]
        guard named.count == 1 else {
            return HTTPProblem(
                400, "the request has \(named.count) Host headers",
                hint: "send one Host header, with the name of this server")
        }
        guard hosts.allows(host: named[0]) else {
            return HTTPProblem(
                421, "unknown host name",
                hint: "use an IP address or localhost, or set serve.host_name to this name")
        }
        for origin in headers["origin"] where !hosts.allows(origin: origin, host: named[0]) {
            return HTTPProblem(
                403, "the request comes from a page of another server", hint: "open a page of this server")
        }
        guard method == "GET" || method == "HEAD" else {
            return HTTPProblem(
                405, "only the methods GET and HEAD are supported", hint: "send GET; this server is read-only")
        }
        let length = headers["content-length"]
        guard length.allSatisfy({ $0 == "0" }), headers["transfer-encoding"].isEmpty else {
            return HTTPProblem(413, "the request has a body", hint: "send it without a body")
        }
        guard headers["expect"].isEmpty else {
            return HTTPProblem(417, "the request has the header Expect", hint: "send it without this header")
        }
        return nil
    }
}
