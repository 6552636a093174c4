/// Collects errors or warnings: the first two hundred by place, and the number of all.
///
/// A file of 64 MiB can have millions of errors. The memory and the time for their texts are limited.
struct Findings {
    private struct Draft {
        let offset: Int
        let order: Int
        let message: String
        let hint: String?
    }

    private var drafts: [Draft] = []
    private var reported = 0
    // Findings after this place cannot be among the first ones.
    private var offsetMost = Int.max

    var isEmpty: Bool { reported == 0 }

    /// Reports a finding at `offset`. Its text is only computed if it can be among the listed ones.
    mutating func report(
        at offset: Int, _ message: @autoclosure () -> String, hint: @autoclosure () -> String? = nil
    ) {
        reported += 1
        guard offset <= offsetMost else { return }
        drafts.append(Draft(offset: offset, order: reported, message: message(), hint: hint()))
        if drafts.count >= 2 * ConfigurationErrors.listedMost { keepFirst() }
    }

    private mutating func keepFirst() {
        drafts.sort { ($0.offset, $0.order) < ($1.offset, $1.order) }
        guard drafts.count > ConfigurationErrors.listedMost else { return }
        drafts.removeLast(drafts.count - ConfigurationErrors.listedMost)
        offsetMost = drafts.last.map { $0.offset } ?? .max
    }

    /// Returns the first findings in the order of the file, with lines and columns, and the number of further ones.
    mutating func finish(in source: SourceText, file: String) -> (listed: [ConfigurationIssue], more: Int) {
        keepFirst()
        let listed = drafts.map {
            ConfigurationIssue(file: file, position: source.position(of: $0.offset), message: $0.message, hint: $0.hint)
        }
        return (listed, reported - listed.count)
    }
}
