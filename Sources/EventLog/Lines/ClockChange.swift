public import BaseTypes
public import BeaconMonitoring

/// A step of the wall clock, or the time when it became synchronized: the content of a `clock` line.
public struct ClockChange: Sendable, Hashable {
    /// How far the wall clock is ahead of the timeline before.
    public var before: ClockOffset
    /// How far the wall clock is ahead of the timeline from now on.
    public var after: ClockOffset
    /// Whether the kernel reports that the clock is synchronized.
    public var isSynchronized: Bool
    /// The time of detection, on the timeline.
    public var time: Instant
}

/// Watches the wall clock: takes readings of the clock and returns the changes to write.
///
///     var watch = WallClockWatch(offset: offset, isSynchronized: false)
///     if let change = watch.observe(reading, isSynchronized: true, at: now) {
///         journal.append(change)
///     }
///
/// The timeline runs at the same rate as the wall clock, because adjtimex(2) slews both. So only steps change the
/// offset between them. One offset applies to all lines between two steps, and readers can correct dates with it.
public struct WallClockWatch: Sendable {
    // Two clocks cannot be read at the same time. On a busy machine, this much delay between the readings is not a
    // step.
    static let threshold: Int64 = 20_000_000

    /// The offset for the dates of lines: how far the wall clock is ahead of the timeline after its last step.
    public private(set) var offset: ClockOffset
    /// Whether the kernel reported a synchronized clock when it was last asked.
    public private(set) var isSynchronized: Bool

    /// Creates a watch with the present state of the clock. After a restart of the process without a restart of the
    /// machine, pass the last known state: then the first reading reports any change since.
    public init(offset: ClockOffset, isSynchronized: Bool) {
        self.offset = offset
        self.isSynchronized = isSynchronized
    }

    /// Compares a reading of the clock with ``offset``. A difference of more than 20 ms is a step.
    ///
    /// - Returns: the change to write, whose offset must be used from now on; `nil` if nothing has changed. If a clock
    ///   is no longer synchronized, events get the flag `clockUnsynchronized`, but no line is written.
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
