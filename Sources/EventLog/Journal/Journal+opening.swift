public import BaseTypes
public import BeaconMonitoring

extension Journal {
    /// Opens the journal of a gateway: finds out what the one before left, cuts off a torn end, goes on with its numbers.
    ///
    /// - Parameters:
    ///   - options: where it keeps what.
    ///   - boot: this start.
    ///   - now: the timeline's present.
    ///   - clockOffset: how far the wall clock is ahead.
    ///   - isClockSynchronized: whether the kernel says that it has been set.
    /// - Throws: ``EventLogError`` where what is there can't be read, or was written by a newer version: going on would
    ///   use numbers again. That nothing can be written is no error (rule N5).
    public convenience init(
        _ options: JournalOptions, boot: BootID, now: Instant, clockOffset: ClockOffset, isClockSynchronized: Bool
    ) throws(EventLogError) {
        try self.init(
            options, boot: boot, now: now, clockOffset: clockOffset, isClockSynchronized: isClockSynchronized,
            files: SystemFiles())
    }
}
