/// By which names a server lets itself be asked, against DNS rebinding: a page of somebody else's, whose name he has point
/// at this machine, would be the same origin as ours.
///
/// Whoever writes an address has no name that could be turned; of names only those count that are known.
package struct HostRule: Sendable {
    private let names: Set<String>

    /// Lets in `localhost`, addresses, and `name` where there is one.
    package init(name: String? = nil) {
        names = Set(["localhost"] + [name?.lowercased()].compactMap(\.self))
    }

    /// Whether a `Host` header (RFC 9110 §7.2) names this server.
    package func allows(host: String) -> Bool {
        guard let name = Self.name(host) else { return false }
        return names.contains(name) || InternetAddress(name) != nil
    }

    /// Whether an `Origin` header (RFC 6454 §7) is that of a page of this server's, which was asked as `host`.
    package func allows(origin: String, host: String) -> Bool {
        for scheme in ["http://", "https://"] where origin.hasPrefix(scheme) {
            return allows(host: host) && origin.dropFirst(scheme.count).lowercased() == host.lowercased()
        }
        return false
    }

    /// The name before the port, without the brackets of an address of version 6; `nil` where it is none.
    private static func name(_ host: String) -> String? {
        guard host.utf8.count <= 255, !host.isEmpty else { return nil }
        var (name, port): (Substring, Substring)
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return nil }
            (name, port) = (host[host.index(after: host.startIndex)..<end], host[host.index(after: end)...])
            guard name.contains(":") else { return nil }
        } else {
            let colon = host.firstIndex(of: ":") ?? host.endIndex
            (name, port) = (host[..<colon], host[colon...])
        }
        guard port.isEmpty || port.first == ":" && UInt16(port.dropFirst()) != nil else { return nil }
        // A name may end with the dot of the root.
        if name.last == "." { name.removeLast() }
        return name.isEmpty ? nil : name.lowercased()
    }
}
