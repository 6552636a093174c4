/// The relation between the clock of one boot of a gateway and the log's clock, from the log alone (rules S1 and S3).
/// Times are nanoseconds.
///
/// A batch is stored some time after it was cut. So the smallest difference between the log's clock and the clock since
/// the machine's start is the most accurate one. This minimum increases slowly, because clocks drift apart. So a
/// gateway that was disconnected is recognized by its earlier minimum, and not by the age of its backlog.
struct ClockEstimate: Sendable, Hashable {
    // A quartz is accurate to 100 parts per million; the double covers a hot one compared with a cold one.
    private static let driftDivisor: Int64 = 5_000

    /// How far the log's clock is ahead of the clock since the machine's start, plus the smallest delay.
    private(set) var least: Int64
    /// The value that is added to the gateway's wall clock; 0 if the clock is not corrected.
    var correction: Int64 = 0
    /// When the minimum last decreased by more than the usual differences in the delay of a network, on the
    /// ``LogClock``.
    private(set) var fellAt: Int64
    // The minimum at that time.
    private var reference: Int64
    private var notedAt: Int64

    /// Creates the estimate of a gateway's first batch.
    init(logAheadOfBoot: Int64, at active: Int64) {
        least = logAheadOfBoot
        reference = logAheadOfBoot
        fellAt = active
        notedAt = active
    }

    /// Records the times of another batch.
    ///
    /// - Parameters:
    ///   - logAheadOfBoot: when the batch was stored, minus the clock since the machine's start when it was cut.
    ///   - active: the current log time.
    ///   - tolerance: how far clocks can differ.
    mutating func note(logAheadOfBoot: Int64, at active: Int64, tolerance: Int64) {
        least = min(least + (active - notedAt) / Self.driftDivisor, logAheadOfBoot)
        notedAt = active
        guard least < reference - tolerance / 2 else { return }
        reference = least
        fellAt = active
    }
}
