/// The kinds of malformed input. Each is counted, and none becomes a sighting (rule B3).
public enum Malformation: Int, Sendable, CaseIterable {
    /// An HCI event is shorter than its header declares.
    case eventTruncated
    /// An HCI event declares no report, or more than the specification allows.
    case reportCountInvalid
    /// A report runs past the end of its event.
    case reportTruncated
    /// An AD structure runs past the end of its payload.
    case adStructureTruncated
    /// The controller lost the rest of an extended advertisement.
    case chainTruncated
    /// The remaining fragments of an extended advertisement did not arrive in time.
    case chainAbandoned
    /// An extended advertisement is longer than the specification allows.
    case chainTooLong
    /// Too many extended advertisements were incomplete at the same time. The least recently extended one was ended.
    case chainsTooMany
    /// A frame of a sniffer has a wrong CRC (rule B4).
    case badCRC
    /// A frame of a sniffer is shorter than its PDU declares.
    case pduTruncated
    /// A record of a capture belongs to an adapter beyond the maximum number of adapters.
    case adaptersTooMany
}

/// The number of malformed inputs of each kind.
public struct MalformationCounts: Sendable {
    @usableFromInline var counts = InlineArray<11, Int>(repeating: 0)

    /// Creates counters with the value 0.
    public init() {}

    /// Adds `number` to the counter of `kind`.
    @inlinable public mutating func count(_ kind: Malformation, by number: Int = 1) { counts[kind.rawValue] &+= number }

    /// The counter of `kind`.
    public subscript(kind: Malformation) -> Int { counts[kind.rawValue] }

    /// The counters that are not 0, in the order of the kinds.
    public var occurred: [(kind: Malformation, count: Int)] {
        Malformation.allCases.compactMap { self[$0] > 0 ? ($0, self[$0]) : nil }
    }

    /// Adds the counters of `other`.
    public mutating func add(_ other: MalformationCounts) {
        for kind in Malformation.allCases { counts[kind.rawValue] &+= other[kind] }
    }
}
