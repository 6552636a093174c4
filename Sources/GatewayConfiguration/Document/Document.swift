/// A YAML document as an arena of nodes, each followed by those below it; a mapping's are keys and values by turns.
///
/// Sixteen octets a node, and text stays where it stands in the source: a hundred thousand conditions make a million
/// nodes, and no dictionary or string is made for any that is not read.
struct Document {
    /// What a node is.
    enum Kind: UInt8 {
        case mapping
        case sequence
        /// A scalar without quotes.
        case plain
        /// A scalar in quotes, or a block scalar: never "no value".
        case quoted
        /// What has been reported as a mistake already: an alias, or what a syntax error took away.
        case reported
    }

    /// One node.
    struct Node {
        /// Where it begins in the source.
        var offset: UInt32
        /// A scalar's text: where it begins in the source, or in ``Document/unescaped`` with the top bit set.
        var text: UInt32
        /// A scalar's octets of text; for a mapping or sequence the index after its last node.
        var extent: UInt32
        /// Whether it is a scalar, and how it was quoted, a mapping, a sequence or an error.
        var kind: Kind
        /// Whether a syntax error ended the document within it, so that what it lacks may stand after the error.
        var isOpen = false
    }

    /// How many nodes a document may have; more than 64 MiB of conditions need.
    static let nodesMost = 5_000_000
    /// How deep mappings and sequences may nest; the schema's own go six deep.
    static let depthMost = 16
    /// The top bit of ``Node/text``.
    static let unescapedBit: UInt32 = 1 << 31

    let source: SourceText
    var nodes: [Node] = []
    /// The text of scalars that stand otherwise in the source: with escapes, or over several lines.
    var unescaped: [UInt8] = []
    /// Whether it ends where a mistake was, so that what is missing may follow.
    var isTruncated = false

    /// Where a node begins in the source.
    func offset(of node: Int) -> Int { Int(nodes[node].offset) }

    /// The line that a node begins in, from 1.
    func line(of node: Int) -> Int { source.line(of: offset(of: node)) }

    /// What a node is.
    func kind(of node: Int) -> Kind { nodes[node].kind }

    /// The index after a node and all below it.
    func end(of node: Int) -> Int {
        switch nodes[node].kind {
        case .mapping, .sequence: Int(nodes[node].extent)
        case .plain, .quoted, .reported: node + 1
        }
    }

    /// A scalar's octets; none for anything else.
    func text(of node: Int) -> ArraySlice<UInt8> {
        let node = nodes[node]
        guard node.kind == .plain || node.kind == .quoted else { return [] }
        let start = Int(node.text & ~Self.unescapedBit)
        let range = start..<(start + Int(node.extent))
        return node.text & Self.unescapedBit == 0 ? source.bytes[range] : unescaped[range]
    }

    /// Whether a scalar is what YAML calls null: nothing at all, or `~` or `null` without quotes.
    func isNull(_ node: Int) -> Bool {
        guard nodes[node].kind == .plain else { return false }
        let text = text(of: node)
        switch text.count {
        case 0: return true
        case 1: return text.first == UInt8(ascii: "~")
        case 4: return ["null", "Null", "NULL"].contains { text.elementsEqual($0.utf8) }
        default: return false
        }
    }

    /// The nodes directly below one, in order.
    func children(of node: Int) -> Children { Children(document: self, index: node + 1, end: end(of: node)) }

    /// Walks the nodes directly below one.
    struct Children: Sequence, IteratorProtocol {
        let document: Document
        var index: Int
        let end: Int

        mutating func next() -> Int? {
            guard index < end else { return nil }
            defer { index = document.end(of: index) }
            return index
        }
    }

    /// The document of `source`, as far as it can be read, and what is wrong with it as YAML.
    static func read(_ source: SourceText) -> (document: Document, mistakes: Findings) {
        var builder = DocumentBuilder(source)
        let problem = readYAML(source, into: &builder)
        if let problem {
            let (offset, message, hint) = problem.wording(in: source)
            builder.fail(at: offset, message, hint: hint)
        }
        if problem != nil || builder.hasOpen { builder.truncate() }
        return builder.finish()
    }
}
