/// How what was heard can be malformed; each is counted by kind and none is ever a sighting (rule B3).
public enum Malformation: Int, Sendable, CaseIterable {
    /// An HCI event is shorter than its header says.
    case eventTruncated
    /// An event announces no report, or more than fit.
    case reportCountInvalid
    /// A report runs past its event's end.
    case reportTruncated
    /// An AD structure runs past its payload's end.
    case adStructureTruncated
    /// The controller lost the rest of an extended advertisement.
    case chainTruncated
    /// The rest of an extended advertisement never came.
    case chainAbandoned
    /// An extended advertisement is longer than any may be.
    case chainTooLong
    /// More extended advertisements were under way than are held; the oldest gave way.
    case chainsTooMany
    /// A sniffer's frame has a bad CRC (rule B4).
    case badCRC
    /// A sniffer's frame is shorter than its PDU says.
    case pduTruncated
    /// A record belongs to one adapter more than are told apart.
    case adaptersTooMany
}

/// How often each kind of malformation was met.
public struct MalformationCounts: Sendable {
    @usableFromInline var counts = InlineArray<11, Int>(repeating: 0)

    /// Nothing met yet.
    public init() {}

    /// Counts one more, or several.
    @inlinable public mutating func count(_ kind: Malformation, by number: Int = 1) { counts[kind.rawValue] &+= number }

    /// How often `kind` was met.
    public subscript(kind: Malformation) -> Int { counts[kind.rawValue] }

    /// The kinds that were met, with how often, in the order of the kinds.
    public var met: [(kind: Malformation, count: Int)] {
        Malformation.allCases.compactMap { self[$0] > 0 ? ($0, self[$0]) : nil }
    }

    /// Adds what `other` counted.
    public mutating func add(_ other: MalformationCounts) {
        for kind in Malformation.allCases { counts[kind.rawValue] &+= other[kind] }
    }
}
