/// `serve`.
extension Reader {
    mutating func serve(_ root: Section<RootKey>) -> ServeConfiguration {
        var serve = ServeConfiguration()
        let section = section(ServeKey.self, at: root[.serve], path: "serve")
        let address = setting(.address, of: section, Self.host)
        if let text = address.value { serve.address = text }
        if let port = setting(.port, of: section, Self.port).value { serve.port = port }
        serve.hostName = setting(.hostName, of: section, Self.host).value
        serve.tls = tls(section)
        serve.usersFile = setting(.usersFile, of: section, Self.path).value
        serve.trustedProxy = setting(.trustedProxy, of: section, Self.host).value
        if let path = setting(.cacheDirectory, of: section, Self.path).value { serve.cacheDirectory = path }
        guard isWhole, let offset = address.offset, let lack = serve.lackOfProtection else { return serve }
        mistakes.report(at: offset, "serve.address is \(serve.address), \(lack.what)", hint: lack.hint)
        return serve
    }

    /// `serve.tls`: both files, or neither.
    private mutating func tls(_ serve: Section<ServeKey>) -> ServeConfiguration.TLS? {
        guard let node = serve[.tls] else { return nil }
        let section = section(ServeTLSKey.self, at: node, path: "serve.tls")
        let certificate = setting(.certificateFile, of: section, Self.path)
        let key = setting(.keyFile, of: section, Self.path)
        guard section.node != nil, !document.nodes[node].isOpen else { return nil }
        if certificate.isAbsent {
            mistakes.report(
                at: document.offset(of: node), "serve.tls has no certificate_file",
                hint: "name the certificate, with those above it, in one PEM file")
        }
        if key.isAbsent {
            mistakes.report(
                at: document.offset(of: node), "serve.tls has no key_file", hint: "name the certificate's key")
        }
        guard let certificate = certificate.value, let key = key.value else { return nil }
        return ServeConfiguration.TLS(certificateFile: certificate, keyFile: key)
    }
}
