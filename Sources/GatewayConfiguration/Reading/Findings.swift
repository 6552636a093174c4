/// Mistakes or warnings while they are collected: the first two hundred by place, and a count of the rest.
///
/// A file of 64 MiB can hold millions of mistakes; memory and the time that goes into wording them stay bounded.
struct Findings {
    private struct Draft {
        let offset: Int
        let order: Int
        let message: String
        let hint: String?
    }

    private var drafts: [Draft] = []
    private var reported = 0
    // Past this place nothing can be among the first any more.
    private var offsetMost = Int.max

    var isEmpty: Bool { reported == 0 }

    /// Notes what is the matter at `offset`; worded only where it can be among those that are listed.
    mutating func report(
        at offset: Int, _ message: @autoclosure () -> String, hint: @autoclosure () -> String? = nil
    ) {
        reported += 1
        guard offset <= offsetMost else { return }
        drafts.append(Draft(offset: offset, order: reported, message: message(), hint: hint()))
        if drafts.count >= 2 * Mistakes.listedMost { keepFirst() }
    }

    private mutating func keepFirst() {
        drafts.sort { ($0.offset, $0.order) < ($1.offset, $1.order) }
        guard drafts.count > Mistakes.listedMost else { return }
        drafts.removeLast(drafts.count - Mistakes.listedMost)
        offsetMost = drafts.last.map { $0.offset } ?? .max
    }

    /// The first of them in the file's order, with their lines and columns, and how many there are beyond.
    mutating func finish(in source: SourceText, file: String) -> (listed: [Mistake], more: Int) {
        keepFirst()
        let listed = drafts.map {
            Mistake(file: file, position: source.position(of: $0.offset), message: $0.message, hint: $0.hint)
        }
        return (listed, reported - listed.count)
    }
}
