import BeaconMonitoring

/// The time for which one beacon was present under any conditions. Visits that overlap or touch count once.
///
/// Visits should be added in the order in which their ends were established. A visit that started long before is merged
/// with the earlier visits that it covers.
struct PersonTime {
    // 16 bytes each.
    static let spansMax = 2_000_000

    private struct Span {
        /// Microseconds since 1970.
        var from: Int64
        var to: Int64
    }

    private var spans: [Span] = []
    /// The count and the duration of spans that are not stored separately any more.
    private var compacted: (count: Int, duration: Int64) = (0, 0)
    /// The conditions of its visits.
    private(set) var identifiers: Set<Identifier> = []
    /// Whether a visit within the range had not ended.
    private var isOpen = false
    /// Whether one of these visits is known to continue.
    private var isPresent = false
    private(set) var last: WallDate?

    /// The number of visits, where merged visits count once.
    var count: Int { compacted.count + spans.count }
    /// The time for which it was present, in microseconds.
    var duration: Int64 { spans.reduce(compacted.duration) { $0 + $1.to - $1.from } }
    /// 1 if a visit had not ended, else 0.
    var open: Int { isOpen ? 1 : 0 }
    /// 1 if the beacon is known to be present, else 0.
    var present: Int { isPresent ? 1 : 0 }
    /// The number of spans that are stored separately.
    var kept: Int { spans.count }

    /// Adds a visit of the beacon under any condition.
    mutating func add(_ visit: VisitTracker.SubjectVisit) {
        identifiers.insert(visit.subject.identifier)
        if visit.end == .open, !visit.goesOn {
            isOpen = true
            if visit.isPresent { isPresent = true }
        }
        let seen = min(visit.lastKnown, visit.clippedTo ?? visit.lastKnown)
        last = max(last ?? seen, seen)
        guard let arrival = visit.arrival, let duration = visit.duration else {
            // The duration is not known, so the visit counts but adds no time.
            insert(Span(from: seen.microseconds, to: seen.microseconds))
            return
        }
        let from = max(arrival, visit.clippedFrom ?? arrival).microseconds
        insert(Span(from: from, to: from + duration))
    }

    private mutating func insert(_ span: Span) {
        var span = span
        // The place after all spans that it overlaps or touches. Few spans come after it, because ends are in order.
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

    /// Adds all spans except the latest to the totals, so that they use no memory.
    mutating func compact() {
        guard spans.count > 1 else { return }
        for span in spans.dropLast() { compacted = (compacted.count + 1, compacted.duration + span.to - span.from) }
        spans.removeFirst(spans.count - 1)
    }
}
