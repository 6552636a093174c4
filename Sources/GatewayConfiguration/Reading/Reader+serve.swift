/// `serve`.
extension Reader {
    mutating func serve(_ root: Section<RootKey>) -> ServeConfiguration {
        var serve = ServeConfiguration()
        let section = section(ServeKey.self, at: root[.serve], path: "serve")
        let address = setting(.address, of: section, Self.host)
        if let text = address.value { serve.address = text }
        if let port = setting(.port, of: section, Self.port).value { serve.port = port }
        serve.hostName = setting(.hostName, of: section, Self.host).value
        let proxy = setting(.trustedProxy, of: section, Self.host)
        serve.trustedProxy = proxy.value
        guard let offset = address.offset, isWhole, proxy.isAbsent, !Self.isLoopback(serve.address) else {
            return serve
        }
        mistakes.report(
            at: offset, "serve.address is \(serve.address), where others could read who is here",
            hint: "write 127.0.0.1, or name the proxy that lets in only who may: trusted_proxy")
        return serve
    }

    private static func isLoopback(_ address: String) -> Bool { address == "::1" || address.hasPrefix("127.") }
}
