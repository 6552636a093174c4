/// One map of the file with its keys, which were checked. Its values have not been read yet.
struct Section<Key: SettingKey> {
    /// The node of the map; `nil` if the file does not have it, so that all settings are absent.
    let node: Int?
    /// The path before a key in errors: `mqtt.tls`.
    let path: String
    // An array, because a section has few keys.
    private var values: [(key: Key, node: Int)] = []
    /// The keys for which the file uses a former name, with that name.
    private var formerNames: [Key: String] = [:]

    init(node: Int?, path: String) {
        self.node = node
        self.path = path
        if node != nil { values.reserveCapacity(8) }
    }

    /// Returns the node of the value of `key`; `nil` if the map does not have the key.
    subscript(key: Key) -> Int? { values.first { $0.key == key }?.node }

    mutating func set(_ key: Key, to node: Int) { values.append((key, node)) }

    /// Records that the file uses a former name of a key, so that ``path(of:)`` returns the same name.
    mutating func note(_ name: String, of key: Key) { formerNames[key] = name }

    /// Returns the key as in errors: `mqtt.port`.
    func path(of key: Key) -> String {
        let name = formerNames[key] ?? key.name
        return path.isEmpty ? name : "\(path).\(name)"
    }
}

extension Reader {
    /// Returns the map at `node` as a section. Unknown and duplicate keys are reported, and keys for which `refusal`
    /// returns a reason. If the node is not a map, the error calls it `name`, which an entry of a list needs, or
    /// `path`.
    mutating func section<Key: SettingKey>(
        _ keys: Key.Type, at node: Int?, path: String, called name: String? = nil,
        refusal: (Key) -> String? = { _ in nil }
    ) -> Section<Key> {
        guard let node, isMapping(node, called: name ?? path) else { return Section(node: nil, path: path) }
        var section = Section<Key>(node: node, path: path)
        var children = document.children(of: node)
        while let keyNode = children.next(), let value = children.next() {
            let kind = document.kind(of: keyNode)
            // A list, a map or an alias as a key was already reported.
            guard kind == .plain || kind == .quoted else { continue }
            let text = document.text(of: keyNode)
            let offset = document.offset(of: keyNode)
            let name = String(decoding: text, as: UTF8.self)
            guard let key = Key(rawValue: name) ?? Key.formerNames[name] else {
                reportUnknown(
                    text, at: offset, path: path, known: Key.allCases.filter { refusal($0) == nil }.map(\.name))
                continue
            }
            if let reason = refusal(key) {
                errors.report(at: offset, "\(section.path(of: key)) is not allowed here", hint: reason)
            } else if let first = section[key] {
                let document = document
                errors.report(
                    at: offset, "\(section.path(of: key)) occurs twice",
                    hint: "the first is at line \(document.line(of: first - 1)); remove one")
            } else {
                section.set(key, to: value)
                if key.name != name { section.note(name, of: key) }
            }
        }
        return section
    }

    /// Returns whether a node is a map, and reports an error if not.
    private mutating func isMapping(_ node: Int, called name: String) -> Bool {
        switch document.kind(of: node) {
        case .mapping: return true
        case .reported: return false
        case .sequence:
            errors.report(at: document.offset(of: node), "\(name) is a list", hint: "expected a map, key: value")
        case .plain, .quoted:
            if document.isNull(node) {
                reportNull(node, called: name)
            } else {
                errors.report(
                    at: document.offset(of: node), "\(name) is a single value", hint: "expected a map, key: value")
            }
        }
        return false
    }

    /// Returns the nodes of the list at `node`, and reports an error if it is not a list.
    mutating func list(at node: Int, called name: String, example: String) -> Document.Children? {
        switch document.kind(of: node) {
        case .sequence: return document.children(of: node)
        case .reported: return nil
        case .mapping:
            errors.report(
                at: document.offset(of: node), "\(name) is a map", hint: "expected a list, such as \(example)")
        case .plain, .quoted:
            if document.isNull(node) {
                reportNull(node, called: name)
            } else {
                errors.report(
                    at: document.offset(of: node), "\(name) is a single value",
                    hint: "expected a list, such as \(example)")
            }
        }
        return nil
    }

    /// Returns the nodes of the list at `node`, which must have `count` entries; otherwise an error is reported.
    mutating func list(at node: Int, of count: Int, _ words: String, called name: String, example: String) -> [Int]? {
        guard let list = list(at: node, called: name, example: example) else { return nil }
        // One more than the limit shows that there are too many, even if the list is long.
        let entries = Array(list.prefix(count + 1))
        if entries.count == count { return entries }
        if !document.nodes[node].isOpen {
            errors.report(
                at: document.offset(of: node),
                "\(name) has \(entries.count > count ? "more than \(count)" : "\(entries.count)") entries",
                hint: "expected \(words), such as \(example)")
        }
        return nil
    }

    private mutating func reportUnknown(
        _ text: ArraySlice<UInt8>, at offset: Int, path: String, known: @autoclosure () -> [String]
    ) {
        if text.elementsEqual("<<".utf8) {
            errors.report(at: offset, "a merge key (<<) is not supported", hint: "set defaults under monitor")
            return
        }
        let place = path.isEmpty ? "" : " in \(path)"
        // If `password=…` was written instead of `password: …`, the password is part of the key. Therefore only
        // characters of keys are shown.
        let word = String(decoding: text.prefix(64).prefix(while: Self.isKeyCharacter), as: UTF8.self)
        let shown = word.utf8.count == text.count && !word.isEmpty ? word : "“\(word)…”"
        errors.report(
            at: offset, "the key \(shown)\(place) is unknown",
            hint: Schema.hint(for: word, among: known()))
    }

    private static func isKeyCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: false
        }
    }
}
