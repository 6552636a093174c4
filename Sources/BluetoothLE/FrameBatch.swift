public import BaseTypes

/// A buffer of fixed size with the iBeacons of consecutive HCI events, which is filled and emptied repeatedly.
///
/// Decoding and monitoring are separate loops over a batch. Each is small enough to keep its state in registers.
///
///     var batch = FrameBatch(capacity: 64)
///     var counts = FrameBatch.Counts()
///     var entries = batch.entries.mutableSpan
///     let isTaken = FrameBatch.take(event: event, adapter: 0, time: time, to: &entries, &counts)
///     batch.counts = counts
///     engine.received(batch, of: [adapter], into: &actions)
///     batch.removeAll()
public struct FrameBatch: Sendable {
    /// One iBeacon, or one event without an iBeacon.
    public struct Entry: Sendable {
        /// Whether an entry is an iBeacon, and its position in its event.
        ///
        /// The bits are tested separately for each entry.
        public struct Kind: Sendable {
            @usableFromInline let bits: UInt8
            @inlinable @inline(__always) init(_ bits: UInt8) { self.bits = bits }

            /// An event without reports: it only advances the time.
            @inlinable public static var time: Kind { Kind(0b100) }
            /// An event with reports but without an iBeacon.
            @inlinable public static var withoutBeacon: Kind { Kind(0b110) }
            /// The first iBeacon of an event.
            @inlinable public static var first: Kind { Kind(0b111) }
            /// A further iBeacon of the same event.
            @inlinable public static var further: Kind { Kind(0b001) }

            /// Whether the entry has an iBeacon. If not, it only shows that time passed or that other reports were
            /// received.
            @inlinable public var isBeacon: Bool { bits & 0b001 != 0 }
            /// Whether the entry is the first of an event with reports.
            @inlinable public var hasReports: Bool { bits & 0b010 != 0 }
            /// Whether the entry is the first of its event.
            @inlinable public var isFirst: Bool { bits & 0b100 != 0 }
        }

        /// The iBeacon; meaningless unless ``kind`` is an iBeacon.
        public var frame: BeaconFrame
        /// The time in nanoseconds on the timeline.
        public var nanoseconds: Int64
        /// The source's number of the adapter.
        public var adapter: Int32
        /// Whether the entry is an iBeacon, and its position in its event.
        public var kind: Kind

        /// The time on the timeline.
        @inlinable public var time: Instant { Instant(nanoseconds: nanoseconds) }

        /// Creates an entry.
        @inlinable @inline(__always)
        public init(_ frame: BeaconFrame, _ kind: Kind, adapter: Int, time: Instant) {
            self.frame = frame
            self.kind = kind
            self.adapter = Int32(truncatingIfNeeded: adapter)
            nanoseconds = time.nanoseconds
        }

        /// Creates an entry without an iBeacon.
        package init(_ kind: Kind, adapter: Int, time: Instant) {
            self.init(
                BeaconFrame(high: 0, low: 0, packedAddress: 0, packed: 0), kind, adapter: adapter, time: time)
        }
    }

    /// The numbers of elements in a batch.
    public struct Counts: Sendable {
        /// The number of entries.
        public var entries = 0
        /// The number of entries that are iBeacons.
        public var beacons = 0
        /// The number of reports that were received.
        public var reports = 0
        /// The number of AD structures that ran past the end of their report (rule B3).
        public var structuresTruncated = 0

        /// Creates counters with the value 0.
        @inlinable public init() {}
    }

    // An event has at most 257 bytes, so at most nine iBeacons of 27 bytes. A batch with room for fewer entries than
    // this constant counts as full.
    @inlinable static var entriesOfEventMax: Int { 16 }

    /// The entries. Those from index `counts.entries` on are left from earlier use and have no meaning.
    public var entries: ContiguousArray<Entry>
    /// The numbers of elements that are in use.
    public var counts = Counts()

    /// Creates an empty batch.
    ///
    /// - Parameter capacity: the number of entries that fit before the batch must be emptied.
    public init(capacity: Int = 512) {
        let none = BeaconFrame(high: 0, low: 0, packedAddress: 0, packed: 0)
        entries = ContiguousArray(
            repeating: Entry(none, .time, adapter: 0, time: .earliest), count: capacity + Self.entriesOfEventMax)
    }

    /// Empties the batch.
    public mutating func removeAll() { counts = Counts() }

    /// Adds an entry.
    ///
    /// - Returns: `false` if the batch was full; the entry is not added then.
    public mutating func append(_ entry: Entry) -> Bool {
        guard counts.entries < entries.count else { return false }
        entries[counts.entries] = entry
        counts.entries += 1
        if entry.kind.isBeacon { counts.beacons += 1 }
        return true
    }

    /// Adds the iBeacons of an HCI event packet without its H4 byte to entries and counts.
    ///
    /// The caller must pass both separately from the batch, so that they stay in registers while it adds many events.
    ///
    /// - Returns: `false` if nothing was added because the batch is full or the event needs ``ReportDecoder``.
    @inlinable @inline(__always)
    public static func take(
        event: Span<UInt8>, adapter: Int, time: Instant, to entries: inout MutableSpan<Entry>, _ counts: inout Counts
    ) -> Bool {
        // An event cannot have more entries than this, so the writes below need no bounds check.
        guard entries.count &- counts.entries >= entriesOfEventMax, event.count <= 257 else { return false }
        var frames = BeaconFrames(event: event)
        let start = counts.entries
        var place = start
        while let frame = frames.next(in: event) {
            unsafe entries[unchecked: place] = Entry(
                frame, place == start ? .first : .further, adapter: adapter, time: time)
            place &+= 1
        }
        guard frames.isAtEnd else { return false }
        if place == start {
            unsafe entries[unchecked: place].kind = frames.reportCount > 0 ? .withoutBeacon : .time
            unsafe entries[unchecked: place].adapter = Int32(truncatingIfNeeded: adapter)
            unsafe entries[unchecked: place].nanoseconds = time.nanoseconds
            place &+= 1
        } else {
            counts.beacons &+= place &- start
        }
        counts.entries = place
        counts.reports &+= frames.reportCount
        counts.structuresTruncated &+= frames.truncatedCount
        return true
    }
}
