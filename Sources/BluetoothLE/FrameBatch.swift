public import BaseTypes

/// What was heard in one HCI event, and one after another, as a monitor takes it: a fixed piece of memory that is filled
/// and emptied again and again.
///
/// Finding the iBeacons and monitoring them are two loops that way, each small enough for a processor's registers.
public struct FrameBatch: Sendable {
    /// One iBeacon, or an event without one.
    public struct Entry: Sendable {
        /// Whether an entry is an iBeacon, and which part of an event.
        ///
        /// Its bits are asked for one by one, for each entry.
        public struct Kind: Sendable {
            @usableFromInline let bits: UInt8
            @inlinable @inline(__always) init(_ bits: UInt8) { self.bits = bits }

            /// An event in which no report was heard: only the time goes on.
            @inlinable public static var time: Kind { Kind(0b100) }
            /// An event with reports and no iBeacon.
            @inlinable public static var heard: Kind { Kind(0b110) }
            /// An event's first iBeacon.
            @inlinable public static var first: Kind { Kind(0b111) }
            /// A further iBeacon of the event before.
            @inlinable public static var further: Kind { Kind(0b001) }

            /// Whether the entry has an iBeacon; it tells of nothing but time, or of other reports, where not.
            @inlinable public var isBeacon: Bool { bits & 0b001 != 0 }
            /// Whether reports were heard in an event that no entry before is of.
            @inlinable public var isHeard: Bool { bits & 0b010 != 0 }
            /// Whether no entry before is of its event.
            @inlinable public var isFirst: Bool { bits & 0b100 != 0 }
        }

        /// What was heard, where it is an iBeacon.
        public var frame: BeaconFrame
        /// When, in nanoseconds on the timeline.
        public var nanoseconds: Int64
        /// By whom, as the source tells its adapters apart.
        public var adapter: Int32
        /// Whether it is an iBeacon, and which part of an event.
        public var kind: Kind

        /// When, on the timeline.
        @inlinable public var time: Instant { Instant(nanoseconds: nanoseconds) }

        /// Makes an entry.
        @inlinable @inline(__always)
        public init(_ frame: BeaconFrame, _ kind: Kind, adapter: Int, time: Instant) {
            self.frame = frame
            self.kind = kind
            self.adapter = Int32(truncatingIfNeeded: adapter)
            nanoseconds = time.nanoseconds
        }

        /// Makes an entry that is no iBeacon.
        package init(_ kind: Kind, adapter: Int, time: Instant) {
            self.init(
                BeaconFrame(high: 0, low: 0, packedAddress: 0, packed: 0), kind, adapter: adapter, time: time)
        }
    }

    /// How much a batch holds.
    public struct Counts: Sendable {
        /// How many entries there are.
        public var entries = 0
        /// How many of them are iBeacons.
        public var beacons = 0
        /// How many reports were heard.
        public var reports = 0
        /// How many AD structures ran past their report's end (rule B3).
        public var structuresTruncated = 0

        /// All counters at 0.
        @inlinable public init() {}
    }

    // An event's octets are at most 257: nine iBeacons, of 27 octets each. A batch with less room than this is full.
    @inlinable static var entriesOfEventMax: Int { 16 }

    /// The entries; those from the count on are left over.
    public var entries: ContiguousArray<Entry>
    /// How much it holds.
    public var counts = Counts()

    /// An empty batch.
    ///
    /// - Parameter capacity: how many entries it takes before it has to be emptied.
    public init(capacity: Int = 512) {
        let none = BeaconFrame(high: 0, low: 0, packedAddress: 0, packed: 0)
        entries = ContiguousArray(
            repeating: Entry(none, .time, adapter: 0, time: .earliest), count: capacity + Self.entriesOfEventMax)
    }

    /// Empties the batch.
    public mutating func removeAll() { counts = Counts() }

    /// Adds an entry.
    ///
    /// - Returns: whether there was room for it.
    public mutating func append(_ entry: Entry) -> Bool {
        guard counts.entries < entries.count else { return false }
        entries[counts.entries] = entry
        counts.entries += 1
        if entry.kind.isBeacon { counts.beacons += 1 }
        return true
    }

    /// Takes an HCI event packet without its H4 octet to a batch's entries and counts, which whoever fills it holds apart
    /// meanwhile, so that they stay in registers.
    ///
    /// - Returns: whether it did; where the batch is full, or the event is one for the long way (``ReportDecoder``), nothing
    ///   is taken.
    @inlinable @inline(__always)
    public static func take(
        event: Span<UInt8>, adapter: Int, time: Instant, to entries: inout MutableSpan<Entry>, _ counts: inout Counts
    ) -> Bool {
        // More than this an event can't hold, so the entries need no check of their own.
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
            unsafe entries[unchecked: place].kind = frames.reportCount > 0 ? .heard : .time
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
