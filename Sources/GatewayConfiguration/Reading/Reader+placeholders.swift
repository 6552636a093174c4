/// What was taken over from an example, or from a tool that fills texts in, and stands for something else.
extension Reader {
    // RFC 2606 §2 and §3. `localhost` is reserved too, and means what it says.
    private static let reservedDomains = ["example", "invalid", "test", "example.com", "example.net", "example.org"]

    /// Whether nobody can have registered a host's name.
    static func isReserved(host: String) -> Bool {
        var name = host.lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        return reservedDomains.contains { name == $0 || name.hasSuffix(".\($0)") }
    }

    /// A broker that has the name of one in a manual.
    mutating func warnOfReservedName(_ host: Setting<String>) {
        guard case .value(let name, let offset) = host, Self.isReserved(host: name) else { return }
        warnings.report(
            at: offset, "mqtt.host is \(name), a name that is reserved for examples and tests (RFC 2606)",
            hint: "write your broker's name or address")
    }

    /// `${HOSTNAME}` and the like in a value: a shell, Compose or Ansible puts something in its place, this file does not.
    mutating func warnOfPlaceholders() {
        // A file without `$` anywhere, which most are, is looked through once and quickly.
        guard source.bytes.contains(UInt8(ascii: "$")), Self.placeholder(in: source.bytes[...]) != nil else { return }
        for node in document.nodes.indices {
            let text = document.text(of: node)
            guard let range = Self.placeholder(in: text) else { continue }
            let name = String(decoding: text[range], as: UTF8.self)
            warnings.report(
                at: document.offset(of: node), "\(name) is taken as it stands: nothing is put in its place",
                hint: "write the value itself, or have what fills in such names make this file")
        }
    }

    /// The first `${NAME}` of a text; a name is what a shell takes for one, and what may follow it up to the brace
    /// (`${NAME:-else}`) belongs to it.
    static func placeholder(in text: ArraySlice<UInt8>) -> Range<Int>? {
        var rest = text
        while let dollar = rest.firstIndex(of: UInt8(ascii: "$")) {
            rest = rest[(dollar + 1)...]
            guard rest.first == UInt8(ascii: "{") else { continue }
            // A longer one is no name; so that many `${` without an end cost no more than they are long.
            let inner = rest.dropFirst().prefix(64)
            guard let end = inner.firstIndex(of: UInt8(ascii: "}")), let first = inner.first, end > inner.startIndex,
                first == UInt8(ascii: "_") || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first & ~0x20),
                inner[..<end].allSatisfy({ (0x20..<0x7F).contains($0) })
            else { continue }
            return dollar..<(end + 1)
        }
        return nil
    }
}
