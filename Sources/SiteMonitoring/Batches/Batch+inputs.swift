package import BaseTypes

extension Batch {
    /// What a batch says to an engine, one thing at a time.
    package enum Input: Sendable, Hashable {
        /// An adapter delivered a report, of whatever kind.
        case heard(adapter: Int, at: Instant)
        /// An adapter began or ceased to listen.
        case changed(Change)
        /// A sighting.
        case sighted(Sighting)

        /// When.
        package var time: Instant {
            switch self {
            case .heard(_, let time): time
            case .changed(let change): change.time
            case .sighted(let sighting): sighting.time
            }
        }

        // Before changes, since a report that came after one is told by a change of its own.
        private var rank: Int {
            switch self {
            case .heard: 0
            case .changed: 1
            case .sighted: 2
            }
        }

        /// Whether a site's engine takes it before the other; of two changes of one time, the one that stands first.
        static func precedes(_ left: Input, _ right: Input) -> Bool {
            guard left.time == right.time else { return left.time < right.time }
            guard left.rank == right.rank else { return left.rank < right.rank }
            if case .heard(let one, _) = left, case .heard(let other, _) = right { return one < other }
            guard case .sighted(let one) = left, case .sighted(let other) = right else { return false }
            return one < other
        }
    }

    /// All that it says, in the order in which a site's engine takes it: by time; of one time reports, then changes, then what
    /// was heard. That of its place here is the `index` by which inputs of one gateway are ordered.
    package var inputs: [Input] {
        var inputs: [Input] = []
        inputs.reserveCapacity(adapters.count * 2 + changes.count + sightings.count)
        for (place, adapter) in adapters.enumerated() {
            guard let reports = adapter.reports else { continue }
            inputs.append(.heard(adapter: place, at: reports.first))
            if reports.last != reports.first { inputs.append(.heard(adapter: place, at: reports.last)) }
        }
        inputs += changes.map { .changed($0) }
        inputs += sightings.map { .sighted($0) }
        // Swift's sort keeps the order of what is equal, and says so of none; the place settles it.
        return inputs.enumerated()
            .sorted {
                if Input.precedes($0.element, $1.element) { return true }
                return !Input.precedes($1.element, $0.element) && $0.offset < $1.offset
            }
            .map(\.element)
    }
}
