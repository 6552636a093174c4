/// The scanning clock of an adapter, which runs only while the adapter scans, and the time of its last report.
///
/// Holds expire on this clock, so an adapter that stops freezes all of its holds in one step (rule L1). Times are
/// nanoseconds.
struct AdapterClock: Sendable {
    private(set) var isListening = false
    /// The time of the last report, or of the start of scanning if that is later (rule L5).
    private(set) var lastReport: Int64 = 0
    /// The time on the timeline minus the reading of this clock, while it runs.
    private var offset: Int64 = 0
    /// The reading at which the clock stopped.
    private var stopped: Int64 = 0

    /// Returns the reading of the clock at a time on the timeline.
    @inline(__always)
    func reading(at time: Int64) -> Int64 { isListening ? time - offset : stopped }

    /// Returns the reading of the clock at a time. The clock must be running.
    @inline(__always)
    func runningReading(at time: Int64) -> Int64 { time &- offset }

    /// Returns the time at which the clock has a reading. If the clock is stopped, returns `present` if it has reached
    /// the reading already, otherwise `nil`.
    func time(of reading: Int64, at present: Int64) -> Int64? {
        if isListening { return reading + offset }
        return reading <= stopped ? present : nil
    }

    /// Continues from the reading at which the clock stopped.
    mutating func start(at time: Int64) {
        isListening = true
        offset = time - stopped
    }

    mutating func stop(at time: Int64) {
        stopped = time - offset
        isListening = false
    }

    /// Records that a report arrived, or may have arrived.
    @inline(__always)
    mutating func noteReport(at time: Int64) { lastReport = time }
}
