// Indices of the engine's tables. Each table has its own type, so that an index cannot be used with another table. At
// run time, each is only a number.

/// An index of ``SubjectTable``.
struct SubjectIndex: Hashable, Sendable {
    let number: Int32

    init(_ number: Int32) { self.number = number }
    init(_ offset: Int) { number = Int32(truncatingIfNeeded: offset) }

    /// Means "no subject" in tables that have no room for an optional.
    static let absent = SubjectIndex(-1 as Int32)

    @inline(__always)
    var offset: Int { Int(number) }
}

/// An index of ``ConditionTable``.
struct ConditionIndex: Hashable, Sendable {
    let number: Int32

    init(_ number: Int32) { self.number = number }
    init(_ offset: Int) { number = Int32(truncatingIfNeeded: offset) }

    /// Means "no condition" in tables that have no room for an optional.
    static let absent = ConditionIndex(-1 as Int32)

    @inline(__always)
    var offset: Int { Int(number) }
}

/// An index of ``AdapterTable``: an ``AdapterID``, or all adapters together.
struct AdapterIndex: Hashable, Sendable {
    let number: UInt16

    init(_ number: UInt16) { self.number = number }
    init(_ offset: Int) { number = UInt16(truncatingIfNeeded: offset) }
    init(_ adapter: AdapterID) { number = adapter.index }

    /// All adapters together. They count as scanning while at least one adapter scans.
    static let together = AdapterIndex(0 as UInt16)

    @inline(__always)
    var offset: Int { Int(number) }

    var id: AdapterID { AdapterID(index: offset) }
}

/// An index of ``MonitorTable``.
struct MonitorIndex: Hashable, Sendable {
    let number: UInt16

    init(_ offset: Int) { number = UInt16(truncatingIfNeeded: offset) }

    @inline(__always)
    var offset: Int { Int(number) }
}
