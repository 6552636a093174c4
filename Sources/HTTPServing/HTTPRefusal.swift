// What is refused before anybody's handler.
extension HTTPServerSettings {
    /// What is answered to a head that goes no further; `nil` where it does.
    func refusal(of method: String, _ headers: HTTPFields) -> HTTPResponse? {
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
        return nil
    }
}
