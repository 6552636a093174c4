import CMicrohttpd

/// The head of a request, as far as it decides whether the request is refused.
struct HTTPHead {
    let method: String
    /// Whether it is as RFC 9112 has it: a proxy sees the same headers, and the same end.
    let isStrict: Bool
    /// Whether its query has more members than are read.
    let isQueryLong: Bool
    /// Whether its target has a control character.
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

// What is refused before anybody's handler.
extension HTTPServerSettings {
    /// Returns why a head is refused; `nil` if it is not.
    func refusal(of head: HTTPHead) -> HTTPProblem? {
        let (method, headers) = (head.method, head.headers)
        guard head.isStrict else {
            return HTTPProblem(
                400, "the head of the request is not as RFC 9112 requires",
                hint: "end its lines with CR LF, and write no white space before a colon")
        }
        guard !head.hasControl else {
            return HTTPProblem(
                400, "the address has a control character, or a NUL character (%00)", hint: "write it without")
        }
        guard !head.isQueryLong else {
            return HTTPProblem(
                414, "the query is too long",
                hint: "a query has at most \(cmicrohttpd_query_max) members, and \(cmicrohttpd_query_bytes_max) bytes "
                    + "with 64 for each of them")
        }
        guard !headers.isTooMany else {
            return HTTPProblem(431, "the request has too many headers", hint: "send at most 100")
        }
        let named = headers["host"]
        guard named.count == 1 else {
            return HTTPProblem(
                400, "the request has \(named.count) Host headers", hint: "send one, with the name of this server")
        }
        guard hosts.allows(host: named[0]) else {
            return HTTPProblem(
                421, "this server does not have the name that the request has",
                hint: "use its address or localhost, or set serve.host_name to the name")
        }
        for origin in headers["origin"] where !hosts.allows(origin: origin, host: named[0]) {
            return HTTPProblem(
                403, "pages of other servers must not send requests to this one", hint: "open a page of this server")
        }
        guard method == "GET" || method == "HEAD" else {
            return HTTPProblem(
                405, "only the methods GET and HEAD are answered", hint: "send GET; nothing can be changed here")
        }
        let length = headers["content-length"]
        guard length.allSatisfy({ $0 == "0" }), headers["transfer-encoding"].isEmpty else {
            return HTTPProblem(413, "the request has a body", hint: "send it without a body")
        }
        guard headers["expect"].isEmpty else {
            return HTTPProblem(417, "the request has the header Expect", hint: "send it without that header")
        }
        return nil
    }
}
