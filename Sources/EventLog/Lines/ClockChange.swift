public import BaseTypes
public import BeaconMonitoring

/// That the wall clock stepped, or became synchronised: what a `clock` line says.
public struct ClockChange: Sendable, Hashable {
    /// How far it was ahead of the timeline before.
    public var before: ClockOffset
    /// How far it is from now on.
    public var after: ClockOffset
    /// Whether the kernel says that it has been set.
    public var isSynchronized: Bool
    /// When that was found, on the timeline.
    public var time: Instant
}

/// Watches the wall clock: what is read of it goes in, what has to be said of it comes out.
///
/// The timeline runs at the wall clock's own rate (adjtimex(2) slews both), so the offset between them stays what it is
/// but for steps: one number serves all lines between two of them, and readers can restamp with it.
public struct WallClockWatch: Sendable {
    // Two clocks can't be read at one moment: what a busy machine puts between the readings is not a step.
    static let threshold: Int64 = 20_000_000

    /// What lines are dated with: how far the wall clock was ahead when it last stepped.
    public private(set) var offset: ClockOffset
    /// Whether the kernel said that it has been set, when it was last asked.
    public private(set) var isSynchronized: Bool

    /// A watch over a clock as it is; or, after a restart of the process alone, as it was: the first reading then tells
    /// what became of it meanwhile.
    public init(offset: ClockOffset, isSynchronized: Bool) {
        self.offset = offset
        self.isSynchronized = isSynchronized
    }

    /// Takes in what the clock shows.
    ///
    /// - Returns: what is to be said and dated with from now on; `nil` where nothing has changed. That a clock is no
    ///   longer synchronised is a flag on events (`clockUnsynchronized`) and no line.
    public mutating func observe(_ reading: ClockOffset, isSynchronized: Bool, at time: Instant) -> ClockChange? {
        let becomesSynchronized = isSynchronized && !self.isSynchronized
        self.isSynchronized = isSynchronized
        let (step, overflow) = reading.nanoseconds.subtractingReportingOverflow(offset.nanoseconds)
        let isStep = overflow || step.magnitude > Self.threshold.magnitude
        guard isStep || becomesSynchronized else { return nil }
        let before = offset
        if isStep { offset = reading }
        return ClockChange(before: before, after: offset, isSynchronized: isSynchronized, time: time)
    }
}
