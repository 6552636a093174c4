internal import BeaconMonitoring

/// Reads a document as a configuration, by the schema, and notes every mistake on the way.
struct Reader {
    let document: Document
    let deafAfterUnlessSet: Duration?
    var mistakes: Findings
    var warnings = Findings()
    /// Where the status socket is named: whether it can be there only the machine knows.
    var statusSocket: Int?
    /// Where it is asked that the broker is told names.
    var publishedNames: Int?
    /// The offsets of `beacons` and of each beacon in its list, if the file has one.
    var names: Int?
    var namedBeacons: [Int] = []
    /// Each identifier and where it stands first (rule C6).
    var identifiers: [Identifier: UInt32] = [:]

    init(_ document: Document, mistakes: Findings, deafAfterUnlessSet: Duration?) {
        self.document = document
        self.mistakes = mistakes
        self.deafAfterUnlessSet = deafAfterUnlessSet
    }

    var source: SourceText { document.source }

    /// Whether settings may be held against each other: not where the rest of the file could not be read.
    var isWhole: Bool { !document.isTruncated }

    /// What a section says of one setting.
    enum Setting<Value> {
        /// The section does not name the setting.
        case absent
        /// Something that is a mistake and has been reported.
        case mistaken
        /// This, at that place.
        case value(Value, offset: Int)

        var value: Value? {
            guard case .value(let value, _) = self else { return nil }
            return value
        }

        var offset: Int? {
            guard case .value(_, let offset) = self else { return nil }
            return offset
        }

        var isMistaken: Bool {
            guard case .mistaken = self else { return false }
            return true
        }

        var isAbsent: Bool {
            guard case .absent = self else { return false }
            return true
        }
    }

    /// The setting `key` of `section`, made of its scalar by `parse`. A secret's text is not repeated in a mistake.
    mutating func setting<Key, Value>(
        _ key: Key, of section: Section<Key>, isSecret: Bool = false,
        _ parse: (ArraySlice<UInt8>) throws(ScalarProblem) -> Value
    ) -> Setting<Value> {
        guard let node = section[key] else { return .absent }
        return value(at: node, called: section.path(of: key), isSecret: isSecret, parse)
    }

    /// The scalar at `node`, made a value by `parse`; a mistake calls it `name`.
    mutating func value<Value>(
        at node: Int, called name: @autoclosure () -> String, isSecret: Bool = false,
        _ parse: (ArraySlice<UInt8>) throws(ScalarProblem) -> Value
    ) -> Setting<Value> {
        guard isScalar(node, called: name()) else { return .mistaken }
        let text = document.text(of: node)
        do {
            return .value(try parse(text), offset: document.offset(of: node))
        } catch {
            mistakes.report(
                at: document.offset(of: node), "\(name()) is \(isSecret ? "not what it should be" : Self.shown(text))",
                hint: error.expected)
            return .mistaken
        }
    }

    /// Whether a node is a scalar with a value; reported where it is not.
    mutating func isScalar(_ node: Int, called name: @autoclosure () -> String) -> Bool {
        switch document.kind(of: node) {
        case .reported: return false
        case .mapping, .sequence:
            mistakes.report(
                at: document.offset(of: node),
                "\(name()) is a \(document.kind(of: node) == .mapping ? "map" : "list")",
                hint: "expected a single value")
            return false
        case .plain, .quoted:
            guard document.isNull(node) else { return true }
            reportNull(node, called: name())
            return false
        }
    }

    mutating func reportNull(_ node: Int, called name: String) {
        let isEmpty = document.text(of: node).isEmpty
        mistakes.report(
            at: document.offset(of: node), "\(name) has no value",
            hint: isEmpty ? "give it one, or take the line out" : "give it one, or quote it if the word itself is meant"
        )
    }

    /// A text as a mistake shows it: short, and without what a terminal would obey.
    static func shown(_ text: ArraySlice<UInt8>) -> String {
        let most = 48
        let isBare = !text.isEmpty && text.count <= most && text.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x3B }
        if isBare { return String(decoding: text, as: UTF8.self) }
        var result = "“"
        var count = 0
        for scalar in String(decoding: text.prefix(4 * most), as: UTF8.self).unicodeScalars {
            count += 1
            guard count <= most else { return result + "…”" }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                result += "⟨U+\(hexadecimal(scalar.value))⟩"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "”"
    }
}
