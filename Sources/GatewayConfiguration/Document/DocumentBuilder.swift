/// Makes a document of a parser's events and notes what a configuration may not hold.
struct DocumentBuilder {
    private var document: Document
    private var mistakes = Findings()

    private struct Container {
        let node: Int
        let isMapping: Bool
        var expectsKey: Bool
    }
    private var open: [Container] = []
    private var documents = 0

    init(_ source: SourceText) {
        document = Document(source: source)
        // A condition's line makes two nodes and has rarely fewer than sixteen octets. What is not used is address space
        // alone, and an array that need not grow is not copied.
        document.nodes.reserveCapacity(min(source.bytes.count / 6 + 64, Document.nodesMost))
    }

    /// A document begins; `false`: read no further.
    mutating func beginDocument(at offset: Int) -> Bool {
        documents += 1
        guard documents > 1 else { return true }
        mistakes.report(
            at: offset, "a second document starts here", hint: "a configuration has one document; remove the ---")
        return false
    }

    /// An anchor stands before a node.
    mutating func anchor(at offset: Int) {
        mistakes.report(
            at: offset, "an anchor (&) is not supported", hint: "remove it, or quote a value that starts with &")
    }

    /// A tag stands before a node.
    mutating func tag(at offset: Int) {
        mistakes.report(
            at: offset, "a tag (!) is not supported",
            hint: "remove it, because each setting has its own type, or quote a value that starts with !")
    }

    /// An alias stands for a node.
    mutating func alias(at offset: Int) -> Bool {
        mistakes.report(
            at: offset, "an alias (*) is not supported",
            hint: "write the value itself, set a default under monitor, or quote a value that starts with *")
        return add(.reported, offset: offset)
    }

    /// A mapping or sequence begins; `false`: read no further.
    mutating func begin(_ kind: Document.Kind, at offset: Int) -> Bool {
        if let last = open.last, last.isMapping, last.expectsKey {
            mistakes.report(at: offset, "expected a key instead of a list or map", hint: "write key: value")
        }
        guard open.count < Document.depthMost else {
            mistakes.report(
                at: offset, "the nesting is more than \(Document.depthMost) deep",
                hint: "no setting needs so many levels")
            return false
        }
        let node = document.nodes.count
        guard add(kind, offset: offset) else { return false }
        open.append(Container(node: node, isMapping: kind == .mapping, expectsKey: kind == .mapping))
        return true
    }

    /// The innermost mapping or sequence ends.
    mutating func end() {
        guard let last = open.popLast() else { return }
        document.nodes[last.node].extent = UInt32(clamping: document.nodes.count)
    }

    /// A scalar whose text stands so in the source; `false`: read no further.
    mutating func scalar(_ kind: Document.Kind, at offset: Int, text: Int, length: Int) -> Bool {
        add(kind, offset: offset, text: UInt32(clamping: text), extent: UInt32(clamping: length))
    }

    /// A scalar whose text stands otherwise in the source; `false`: read no further.
    mutating func scalar(_ kind: Document.Kind, at offset: Int, unescaped text: some Collection<UInt8>) -> Bool {
        let start = UInt32(clamping: document.unescaped.count) | Document.unescapedBit
        document.unescaped.append(contentsOf: text)
        return add(kind, offset: offset, text: start, extent: UInt32(clamping: text.count))
    }

    private mutating func add(_ kind: Document.Kind, offset: Int, text: UInt32 = 0, extent: UInt32 = 0) -> Bool {
        guard document.nodes.count < Document.nodesMost else {
            mistakes.report(
                at: offset, "the file has more than \(Document.nodesMost) keys and values",
                hint: "use fewer conditions")
            return false
        }
        if let last = open.indices.last, open[last].isMapping { open[last].expectsKey.toggle() }
        document.nodes.append(
            Document.Node(offset: UInt32(clamping: offset), text: text, extent: extent, kind: kind))
        return true
    }

    /// Whether a mapping or sequence has begun and not ended.
    var hasOpen: Bool { !open.isEmpty }

    /// The document and what was noted; the builder is used up.
    consuming func finish() -> (document: Document, mistakes: Findings) { (document, mistakes) }

    /// Notes a syntax error.
    mutating func fail(at offset: Int, _ message: String, hint: String?) {
        mistakes.report(at: offset, message, hint: hint)
    }

    /// Closes what is still open because nothing more was read.
    mutating func truncate() {
        document.isTruncated = true
        while let last = open.last {
            if last.isMapping, !last.expectsKey {
                document.nodes.append(
                    Document.Node(offset: document.nodes[last.node].offset, text: 0, extent: 0, kind: .reported))
            }
            document.nodes[last.node].isOpen = true
            end()
            // The container above has its value now: whether it expects a key was settled when that began.
        }
    }
}
