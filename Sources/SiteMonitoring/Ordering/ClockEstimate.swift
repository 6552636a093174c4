/// How one start of a gateway stands to the log's clock, from what the log holds alone (rule S3). Nanoseconds.
///
/// A batch is stored some time after it was cut: so the least that lies between the clock since the machine's start and the
/// log's comes nearest to the truth. It is let go of slowly, for clocks run apart, so that one that has been cut off is
/// known again by what was known of it, and not by the age of what it brings.
struct ClockEstimate: Sendable, Hashable {
    // Quartz keeps 100 parts in a million; twice that, for a hot one against a cold one.
    private static let driftDivisor: Int64 = 5_000

    /// How far the log's clock is ahead of that since the machine's start, and the least delay.
    private(set) var least: Int64
    /// What is added to the gateway's wall clock; 0 while it is believed.
    var correction: Int64 = 0
    /// When, on the ``LogClock``, the least last fell by more than the delays of one network differ.
    private(set) var fellAt: Int64
    // What it had fallen to then.
    private var reference: Int64
    private var notedAt: Int64

    /// By a gateway's first batch.
    init(logAheadOfBoot: Int64, at active: Int64) {
        least = logAheadOfBoot
        reference = logAheadOfBoot
        fellAt = active
        notedAt = active
    }

    /// Takes a further batch's times in.
    ///
    /// - Parameters:
    ///   - logAheadOfBoot: when it was stored, less what the clock since the machine's start showed when it was cut.
    ///   - active: now, on the log's clock.
    ///   - tolerance: how far clocks may be apart.
    mutating func note(logAheadOfBoot: Int64, at active: Int64, tolerance: Int64) {
        least = min(least + (active - notedAt) / Self.driftDivisor, logAheadOfBoot)
        notedAt = active
        guard least < reference - tolerance / 2 else { return }
        reference = least
        fellAt = active
    }
}
