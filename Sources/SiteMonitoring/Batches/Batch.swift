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
