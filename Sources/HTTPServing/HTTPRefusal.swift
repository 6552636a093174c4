import CMicrohttpd

/// The head of a request, as far as it decides whether the request is refused.
struct HTTPHead {
    let method: String
    /// Whether it is as RFC 9112 has it: a proxy sees the same headers, and the same end.
    let isStrict: Bool
    /// Whether its query has more members than are read.
    let isQueryLong: Bool
    let headers: HTTPFields

    init(
        _ connection: OpaquePointer, _ method: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>,
        _ version: UnsafePointer<CChar>, isQueryLong: Bool
    ) {
        self.method = unsafe String(cString: method)
        isStrict = unsafe cmicrohttpd_is_strict(connection, method, target, version)
        self.isQueryLong = isQueryLong
        headers = unsafe HTTPFields(connection, .HEADER_KIND)
    }
}

// What is refused before anybody's handler.
extension HTTPServerSettings {
    /// Returns the answer to a head that is refused; `nil` if it is not.
    func refusal(of head: HTTPHead) -> HTTPResponse? {
        let (method, headers) = (head.method, head.headers)
        guard head.isStrict else {
            return .words(
                400, "The head of a request has lines that end with CR LF and no white space before a colon (RFC 9112)."
            )
        }
        guard !head.isQueryLong else {
            return .words(
                414,
                "A query has at most \(cmicrohttpd_query_max) members, and \(cmicrohttpd_query_bytes_max) octets with 64 "
                    + "for each of them.")
        }
        guard !headers.isTooMany else { return .words(431, "A request has at most 100 headers.") }
        let named = headers["host"]
        guard named.count == 1 else { return .words(400, "A request names the host that it asks, once.") }
        guard hosts.allows(host: named[0]) else {
            return .words(
                421, "Nobody is called so here. Ask by an address or by localhost, or set serve.host_name to the name.")
        }
        for origin in headers["origin"] where !hosts.allows(origin: origin, host: named[0]) {
            return .words(403, "Pages of others may not ask here.")
        }
        guard method == "GET" || method == "HEAD" else {
            return .words(405, "Only GET and HEAD are answered: nothing can be changed here.")
        }
        let length = headers["content-length"]
        guard length.allSatisfy({ $0 == "0" }), headers["transfer-encoding"].isEmpty else {
            return .words(413, "A request has no body here.")
        }
        guard headers["expect"].isEmpty else { return .words(417, "A request has no body here to continue with.") }
        return nil
    }
}
