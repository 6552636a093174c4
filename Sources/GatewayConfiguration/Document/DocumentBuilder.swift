/// Builds a document from the events of a parser, and reports YAML features that a configuration must not use.
struct DocumentBuilder {
    private var document: Document
    private var errors = Findings()

    private struct Container {
        let node: Int
        let isMapping: Bool
        var expectsKey: Bool
    }
    private var open: [Container] = []
    private var documents = 0

    init(_ source: SourceText) {
        document = Document(source: source)
        // The line of a condition makes two nodes and is rarely shorter than sixteen bytes. Unused capacity is only
        // address space, and an array that need not grow is not copied.
        document.nodes.reserveCapacity(min(source.bytes.count / 6 + 64, Document.nodesMost))
    }

    /// Starts a document. Returns `false` if reading must stop.
    mutating func beginDocument(at offset: Int) -> Bool {
        documents += 1
        guard documents > 1 else { return true }
        errors.report(
            at: offset, "a second document starts here", hint: "a configuration has one document; remove the ---")
        return false
    }

    /// Reports an anchor.
    mutating func anchor(at offset: Int) {
        errors.report(
            at: offset, "an anchor (&) is not supported", hint: "remove it, or quote a value that starts with &")
    }

    /// Reports a tag.
    mutating func tag(at offset: Int) {
        errors.report(
            at: offset, "a tag (!) is not supported",
            hint: "remove it, because each setting has its own type, or quote a value that starts with !")
    }

    /// Reports an alias and adds a node for it. Returns `false` if reading must stop.
    mutating func alias(at offset: Int) -> Bool {
        errors.report(
            at: offset, "an alias (*) is not supported",
            hint: "write the value itself, set a default under monitor, or quote a value that starts with *")
        return add(.reported, offset: offset)
    }

    /// Starts a mapping or sequence. Returns `false` if reading must stop.
    mutating func begin(_ kind: Document.Kind, at offset: Int) -> Bool {
        if let last = open.last, last.isMapping, last.expectsKey {
            errors.report(at: offset, "expected a key instead of a list or map", hint: "write key: value")
        }
        guard open.count < Document.depthMost else {
            errors.report(
                at: offset, "the nesting is more than \(Document.depthMost) deep",
                hint: "no setting needs so many levels")
            return false
        }
        let node = document.nodes.count
        guard add(kind, offset: offset) else { return false }
        open.append(Container(node: node, isMapping: kind == .mapping, expectsKey: kind == .mapping))
        return true
    }

    /// Ends the innermost mapping or sequence.
    mutating func end() {
        guard let last = open.popLast() else { return }
        document.nodes[last.node].extent = UInt32(clamping: document.nodes.count)
    }

    /// Adds a scalar whose text is in the source. Returns `false` if reading must stop.
    mutating func scalar(_ kind: Document.Kind, at offset: Int, text: Int, length: Int) -> Bool {
        add(kind, offset: offset, text: UInt32(clamping: text), extent: UInt32(clamping: length))
    }

    /// Adds a scalar whose text differs from the source. Returns `false` if reading must stop.
    mutating func scalar(_ kind: Document.Kind, at offset: Int, unescaped text: some Collection<UInt8>) -> Bool {
        let start = UInt32(clamping: document.unescaped.count) | Document.unescapedBit
        document.unescaped.append(contentsOf: text)
        return add(kind, offset: offset, text: start, extent: UInt32(clamping: text.count))
    }

    private mutating func add(_ kind: Document.Kind, offset: Int, text: UInt32 = 0, extent: UInt32 = 0) -> Bool {
        guard document.nodes.count < Document.nodesMost else {
            errors.report(
                at: offset, "the file has more than \(Document.nodesMost) keys and values",
                hint: "use fewer conditions")
            return false
        }
        if let last = open.indices.last, open[last].isMapping { open[last].expectsKey.toggle() }
        document.nodes.append(
            Document.Node(offset: UInt32(clamping: offset), text: text, extent: extent, kind: kind))
        return true
    }

    /// Whether a mapping or sequence has not ended.
    var hasOpen: Bool { !open.isEmpty }

    /// Returns the document and its errors.
    consuming func finish() -> (document: Document, errors: Findings) { (document, errors) }

    /// Reports a syntax error.
    mutating func fail(at offset: Int, _ message: String, hint: String?) {
        errors.report(at: offset, message, hint: hint)
    }

    /// Ends all open mappings and sequences after a syntax error or beyond a limit.
    mutating func truncate() {
        document.isTruncated = true
        while let last = open.last {
            if last.isMapping, !last.expectsKey {
                document.nodes.append(
                    Document.Node(offset: document.nodes[last.node].offset, text: 0, extent: 0, kind: .reported))
            }
            document.nodes[last.node].isOpen = true
            end()
            // The outer container already counted this value when it started.
        }
    }
}
