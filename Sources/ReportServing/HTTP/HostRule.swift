/// The host names that requests can have. It protects against DNS rebinding: a page of another site whose name an
/// attacker points to this machine would have the same origin as this server.
///
/// An IP address in a request cannot be rebound, so all are allowed. Names are allowed only if they are known.
package struct HostRule: Sendable {
    private let names: Set<String>

    /// Allows `localhost`, IP addresses, and `name` if there is one.
    package init(name: String? = nil) {
        names = Set(["localhost"] + [name?.lowercased()].compactMap(\.self))
    }

    /// Returns whether a `Host` header (RFC 9110 §7.2) names this server.
    package func allows(host: String) -> Bool {
        guard let name = Self.name(host) else { return false }
        return names.contains(name) || InternetAddress(name) != nil
    }

    /// Returns whether an `Origin` header (RFC 6454 §7) is of a page of this server, in a request whose `Host` header
    /// is `host`.
    package func allows(origin: String, host: String) -> Bool {
        for scheme in ["http://", "https://"] where origin.hasPrefix(scheme) {
            return allows(host: host) && origin.dropFirst(scheme.count).lowercased() == host.lowercased()
        }
        return false
    }

    /// Returns the name without the port, and without the brackets of an IPv6 address; `nil` if it is invalid.
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
        // A name can end with the dot of the root.
        if name.last == "." { name.removeLast() }
        return name.isEmpty ? nil : name.lowercased()
    }
}
