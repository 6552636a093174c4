package import BaseTypes

/// The data that one gateway received in a period, as one message of a site's log. A gateway sends a batch even if it
/// received nothing.
///
/// All times except ``Span/wall`` are the gateway's CLOCK_BOOTTIME (time_namespaces(7)). Its engine uses the same
/// clock, which changes of the wall clock do not affect. Times are whole microseconds, rounded down. The contents of a
/// batch are always in order and within their limits, so code that uses a batch need not check it.
package struct Batch: Sendable, Hashable {
    /// The site that receives the batch.
    package let site: LogName
    /// The gateway that sends the batch, the boot of its machine, and the sequence number within that boot. The number
    /// is one more than that of the previous batch. Only the first batch of a process (``Span/isStart``) can skip
    /// numbers.
    package let key: BatchKey
    /// The period of the batch, and when it was cut.
    package let span: Span
    /// Each adapter that scanned at the start of the batch, or about which it has data. An adapter that is not named
    /// does not scan in any part of the period. There are at most ``BatchBounds/adaptersMax``.
    package let adapters: [Adapter]
    /// The changes of adapters in the period, sorted by time. Changes of one time are in the order in which they
    /// arrived.
    package let changes: [Change]
    /// The sightings, sorted by ``Sighting/<(_:_:)``.
    package let sightings: [Sighting]

    /// Creates a batch of its parts.
    ///
    /// - Throws: ``BatchError`` if the parts are not in order, are outside ``span``, or refer to an adapter that is not
    ///   named.
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

    /// Checks that the parts are consistent.
    func check() throws(BatchError) {
        guard adapters.count <= BatchBounds.adaptersMax else { throw .adaptersTooMany(adapters.count) }
        var names: Set<[UInt8]> = []
        for adapter in adapters {
            // Names are compared by bytes. Two spellings of one character are two names, as they are two topics.
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

    /// One input for an engine.
    package enum Input: Sendable, Hashable {
        /// An adapter delivered a report of any kind.
        case received(adapter: Int, at: Instant)
        /// An adapter started or stopped scanning, or was removed.
        case changed(Change)
        /// An adapter received an iBeacon.
        case sighted(Sighting)

        /// The time of the input.
        package var time: Instant {
            switch self {
            case .received(_, let time): time
            case .changed(let change): change.time
            case .sighted(let sighting): sighting.time
            }
        }

        // Reports precede changes, because a report that arrives after a stop also adds a change (`started`).
        private var rank: Int {
            switch self {
            case .received: 0
            case .changed: 1
            case .sighted: 2
            }
        }

        /// Returns whether a site's engine must receive `left` before `right`. Two changes of one time keep the order
        /// of the batch.
        static func precedes(_ left: Input, _ right: Input) -> Bool {
            guard left.time == right.time else { return left.time < right.time }
            guard left.rank == right.rank else { return left.rank < right.rank }
            if case .received(let one, _) = left, case .received(let other, _) = right { return one < other }
            guard case .sighted(let one) = left, case .sighted(let other) = right else { return false }
            return one < other
        }
    }

    /// All inputs in the order in which a site's engine receives them: by time; for equal times reports, then changes,
    /// then sightings. The order in this array is also the order of the `index` of the resulting inputs
    /// (``SiteInput/Place/index``).
    package var inputs: [Input] {
        var inputs: [Input] = []
        inputs.reserveCapacity(adapters.count * 2 + changes.count + sightings.count)
        for (place, adapter) in adapters.enumerated() {
            guard let reports = adapter.reports else { continue }
            inputs.append(.received(adapter: place, at: reports.first))
            if reports.last != reports.first { inputs.append(.received(adapter: place, at: reports.last)) }
        }
        inputs += changes.map { .changed($0) }
        inputs += sightings.map { .sighted($0) }
        // Swift's sort is stable, but its documentation does not guarantee this, so the position decides between
        // equals.
        return inputs.enumerated()
            .sorted {
                if Input.precedes($0.element, $1.element) { return true }
                return !Input.precedes($1.element, $0.element) && $0.offset < $1.offset
            }
            .map(\.element)
    }
}

extension Batch {
    /// The period of a batch.
    package struct Span: Sendable, Hashable {
        /// The start of the period: nothing in the batch was received earlier. It is ``completeTo`` of the previous
        /// batch if that batch has the previous sequence number. Otherwise the data of the time in between are unknown.
        package let from: Instant
        /// The end of the period: no later batch contains anything that was received before it. Data of exactly this
        /// time can be in a later batch.
        package let completeTo: Instant
        /// The time of the cut, by the same clock; never before ``completeTo``.
        package let cut: Instant
        /// The time of the cut by the gateway's wall clock: the time since 1970, as the kernel reports it.
        package let wall: Instant
        /// Whether the batch is the first of a gateway's process. If it is, batches that the previous process did not
        /// send can be lost, and sequence numbers before this one can be unused.
        package let isStart: Bool

        /// Creates a period. Times are rounded down to whole microseconds.
        ///
        /// - Throws: ``BatchError/outOfOrder(_:)`` unless `from` ≤ `completeTo` ≤ `cut`.
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

/// Limits of a batch. The log limits its size in bytes (``LogLimits/batchBytesMax``).
package enum BatchBounds {
    /// The maximum number of adapters, which is the number that an engine can distinguish.
    package static let adaptersMax = 255
    /// The maximum length of an adapter's name, in bytes of UTF-8.
    package static let nameBytesMax = 128
    /// The maximum length of the reason for a change of an adapter, in bytes of UTF-8.
    package static let reasonBytesMax = 256
}

extension Instant {
    /// This time, rounded down to whole microseconds.
    package var wholeMicroseconds: Instant { Instant(nanoseconds: nanoseconds / 1_000 * 1_000) }
}
