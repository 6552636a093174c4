import BeaconMonitoring

/// The time that one beacon was here, whatever conditions told of it: what overlaps or touches counts once.
///
/// Stays come in the order in which their ends were established. One that began long before takes in those that it spans.
struct PersonTime {
    // Sixteen octets each.
    static let spansMax = 2_000_000

    private struct Span {
        /// Microseconds since 1970.
        var from: Int64
        var to: Int64
    }

    private var spans: [Span] = []
    /// What is not kept apart any more.
    private var folded: (count: Int, duration: Int64) = (0, 0)
    /// The conditions that told of it.
    private(set) var identifiers: Set<Identifier> = []
    /// Whether a stay within the range had not ended.
    private var isOpen = false
    /// Whether one of them is known to continue.
    private var isPresent = false
    private(set) var last: WallDate?

    /// How many visits there were.
    var count: Int { folded.count + spans.count }
    /// Microseconds in which it was here.
    var duration: Int64 { spans.reduce(folded.duration) { $0 + $1.to - $1.from } }
    /// 1 if a visit had not ended, else 0.
    var open: Int { isOpen ? 1 : 0 }
    /// 1 if the beacon is known to be present, else 0.
    var present: Int { isPresent ? 1 : 0 }
    /// How many stretches are kept apart.
    var kept: Int { spans.count }

    /// Takes in a stay of the beacon under any condition.
    mutating func add(_ stay: VisitsBook.Stay) {
        identifiers.insert(stay.subject.identifier)
        if stay.end == .open, !stay.goesOn {
            isOpen = true
            if stay.isPresent { isPresent = true }
        }
        let seen = min(stay.lastKnown, stay.clippedTo ?? stay.lastKnown)
        last = max(last ?? seen, seen)
        guard let arrival = stay.arrival, let duration = stay.duration else {
            // Nobody knows how long it was: it counts, and adds nothing.
            insert(Span(from: seen.microseconds, to: seen.microseconds))
            return
        }
        let from = max(arrival, stay.clippedFrom ?? arrival).microseconds
        insert(Span(from: from, to: from + duration))
    }

    private mutating func insert(_ span: Span) {
        var span = span
        // Behind all that it overlaps or touches; those behind it are few, since ends come in order.
        var place = spans.count
        while place > 0, spans[place - 1].from > span.to { place -= 1 }
        var first = place
        while first > 0, spans[first - 1].to >= span.from {
            first -= 1
            span.from = min(span.from, spans[first].from)
            span.to = max(span.to, spans[first].to)
        }
        spans.replaceSubrange(first..<place, with: CollectionOfOne(span))
    }

    /// Keeps none apart but the latest.
    mutating func fold() {
        guard spans.count > 1 else { return }
        for span in spans.dropLast() { folded = (folded.count + 1, folded.duration + span.to - span.from) }
        spans.removeFirst(spans.count - 1)
    }
}
