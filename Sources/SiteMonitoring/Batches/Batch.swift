package import BaseTypes

/// What one gateway heard from one moment up to another, as it goes into a site's log: one message, also where it heard
/// nothing.
///
/// All times but ``wall`` are the gateway's CLOCK_BOOTTIME (time_namespaces(7)): the clock that its engine goes by, which no
/// step of the wall clock moves. They are whole microseconds; what is finer was cut off. What stands in one is in order and
/// within bounds: who has a batch need not look.
package struct Batch: Sendable, Hashable {
    /// The site that it is sent to.
    package let site: LogName
    /// Who sends it, in which start of his machine, and which batch of that start it is: one more than the batch before, but for
    /// the first of a process (``Span/isStart``), which may leave numbers out.
    package let key: BatchKey
    /// From when to when it tells, and when it was cut.
    package let span: Span
    /// Each adapter that listened when it begins, and each that it tells something of. One that is not named does not listen
    /// in any of its time. At most ``BatchBounds/adaptersMax``.
    package let adapters: [Adapter]
    /// Who began or ceased to listen meanwhile, in the order of their times; those of one time as they came.
    package let changes: [Change]
    /// What was heard, in their order (``Sighting/<(_:_:)``).
    package let sightings: [Sighting]

    /// A batch of its parts.
    ///
    /// - Throws: ``BatchError`` where they are not in order, not within ``span``, or of an adapter that is not named.
    package init(
        site: LogName, key: BatchKey, span: Span, adapters: [Adapter], changes: [Change] = [],
        sightings: [Sighting] = []
    ) throws(BatchError) {
        self.site = site
        self.key = key
        self.span = span
        self.adapters = adapters
        self.changes = changes
        self.sightings = sightings
        try check()
    }

    // MARK: Checks

    /// Looks at whether the parts fit each other.
    func check() throws(BatchError) {
        guard adapters.count <= BatchBounds.adaptersMax else { throw .adaptersTooMany(adapters.count) }
        var names: Set<[UInt8]> = []
        for adapter in adapters {
            // Octet by octet: two spellings of one character are two names, as they are two topics.
            guard names.insert(Array(adapter.name.utf8)).inserted else { throw .nameTwice(adapter.name) }
            guard let reports = adapter.reports else { continue }
            try check("an adapter's report", reports.first)
            try check("an adapter's report", reports.last)
        }
        var last = Instant.earliest
        for change in changes {
            try check("a change", change.time, adapter: change.adapter)
            guard last <= change.time else { throw .outOfOrder("changes") }
            last = change.time
        }
        var before: Sighting?
        for sighting in sightings {
            try check("a sighting", sighting.time, adapter: sighting.adapter)
            if let before, sighting < before { throw .outOfOrder("sightings") }
            before = sighting
        }
    }

    private func check(_ what: String, _ time: Instant) throws(BatchError) {
        guard span.from <= time, time <= span.completeTo else { throw .outOfSpan(what) }
    }

    private func check(_ what: String, _ time: Instant, adapter: Int) throws(BatchError) {
        try check(what, time)
        guard adapters.indices.contains(adapter) else { throw .noAdapter(adapter, of: adapters.count) }
    }

    // MARK: Inputs

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

extension Batch {
    /// The time that a batch tells of.
    package struct Span: Sendable, Hashable {
        /// Nothing in it is earlier. The ``completeTo`` of the batch before, where that is the one before in the sequence; else
        /// nobody says what was heard in between.
        package let from: Instant
        /// Nothing that was heard before this moment will come in a later batch; what was heard at it may.
        package let completeTo: Instant
        /// When it was cut, by the same clock; never before ``completeTo``.
        package let cut: Instant
        /// When it was cut by the gateway's wall clock: since 1970, as the kernel tells it.
        package let wall: Instant
        /// Whether it is the first of a gateway's process. What the process before had not sent may be lost then, and numbers
        /// before this one may never have been used.
        package let isStart: Bool

        /// A stretch of time; what is finer than a microsecond is cut off.
        ///
        /// - Throws: ``BatchError/outOfOrder(_:)``.
        package init(
            from: Instant, completeTo: Instant, cut: Instant, wall: Instant, isStart: Bool
        ) throws(BatchError) {
            self.from = from.wholeMicroseconds
            self.completeTo = completeTo.wholeMicroseconds
            self.cut = cut.wholeMicroseconds
            self.wall = wall.wholeMicroseconds
            self.isStart = isStart
            guard self.from <= self.completeTo, self.completeTo <= self.cut else {
                throw .outOfOrder("the times of the batch itself")
            }
        }
    }
}

/// How much a batch may hold. What it may have in octets is the log's to say (``LogLimits/batchOctetsMax``).
package enum BatchBounds {
    /// Adapters, as an engine tells them apart.
    package static let adaptersMax = 255
    /// Octets of an adapter's name, as UTF-8.
    package static let nameOctetsMax = 128
    /// Octets of the words that say why an adapter began or ceased to listen.
    package static let reasonOctetsMax = 256
}

extension Instant {
    /// This moment without what is finer than a microsecond.
    package var wholeMicroseconds: Instant { Instant(nanoseconds: nanoseconds / 1_000 * 1_000) }
}
