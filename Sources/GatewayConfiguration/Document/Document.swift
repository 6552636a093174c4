/// A YAML document as an array of nodes. Each node is followed by its descendants; in a mapping, keys and values
/// alternate.
///
/// A node has sixteen bytes, and text stays in the source. A hundred thousand conditions make a million nodes, and
/// neither dictionaries nor strings are created for nodes that are not read.
struct Document {
    /// The kinds of nodes.
    enum Kind: UInt8 {
        case mapping
        case sequence
        /// A scalar without quotes.
        case plain
        /// A scalar in quotes, or a block scalar. It never means "no value".
        case quoted
        /// A node whose error was already reported: an alias, or the missing value of a key at which reading stopped.
        case reported
    }

    /// One node.
    struct Node {
        /// The offset of its start in the source.
        var offset: UInt32
        /// The offset of a scalar's text in the source; with the top bit set, in ``Document/unescaped``.
        var text: UInt32
        /// The length of a scalar's text in bytes; for a mapping or sequence, the index after its last node.
        var extent: UInt32
        /// The kind of the node.
        var kind: Kind
        /// Whether reading stopped inside it, at a syntax error or a limit, so that missing keys can follow.
        var isOpen = false
    }

    /// The maximum number of nodes. It is more than 64 MiB of conditions need.
    static let nodesMost = 5_000_000
    /// The maximum depth of mappings and sequences; the schema needs six levels.
    static let depthMost = 16
    /// The top bit of ``Node/text``.
    static let unescapedBit: UInt32 = 1 << 31

    let source: SourceText
    var nodes: [Node] = []
    /// The text of scalars that differ from the source: with escapes, or over several lines.
    var unescaped: [UInt8] = []
    /// Whether reading stopped before the end of the document, at a syntax error or a limit, so that missing keys can
    /// follow.
    var isTruncated = false

    /// Returns the offset of a node in the source.
    func offset(of node: Int) -> Int { Int(nodes[node].offset) }

    /// Returns the line in which a node starts, from 1.
    func line(of node: Int) -> Int { source.line(of: offset(of: node)) }

    /// Returns the kind of a node.
    func kind(of node: Int) -> Kind { nodes[node].kind }

    /// Returns the index after a node and its descendants.
    func end(of node: Int) -> Int {
        switch nodes[node].kind {
        case .mapping, .sequence: Int(nodes[node].extent)
        case .plain, .quoted, .reported: node + 1
        }
    }

    /// Returns the text of a scalar in bytes; empty for other nodes.
    func text(of node: Int) -> ArraySlice<UInt8> {
        let node = nodes[node]
        guard node.kind == .plain || node.kind == .quoted else { return [] }
        let start = Int(node.text & ~Self.unescapedBit)
        let range = start..<(start + Int(node.extent))
        return node.text & Self.unescapedBit == 0 ? source.bytes[range] : unescaped[range]
    }

    /// Returns whether a scalar is null in YAML: empty, or `~` or `null` without quotes.
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

    /// Returns the children of a node, in order.
    func children(of node: Int) -> Children { Children(document: self, index: node + 1, end: end(of: node)) }

    /// Iterates over the children of a node.
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

    /// Reads the document of `source`, up to the first syntax error or a limit, and returns it with its errors.
    static func read(_ source: SourceText) -> (document: Document, errors: Findings) {
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
