/// An adapter's listening clock, which runs only while the adapter listens, and when it was last heard of.
///
/// Holds run out by it: an adapter that stops freezes all of its holds in one step (rule L1). Times are nanoseconds.
struct AdapterClock: Sendable {
    private(set) var isListening = false
    /// The last report, or when it began to listen (rule L5).
    private(set) var lastReport: Int64 = 0
    /// The timeline minus this clock while it runs.
    private var offset: Int64 = 0
    /// What it stopped at.
    private var stopped: Int64 = 0

    /// What it shows at a time.
    @inline(__always)
    func reading(at time: Int64) -> Int64 { isListening ? time - offset : stopped }

    /// What it shows at a time, where it is known to run.
    @inline(__always)
    func runningReading(at time: Int64) -> Int64 { time &- offset }

    /// When it shows what it is to show; where it stands, `present` if it has come so far, and nothing if not.
    func time(of reading: Int64, at present: Int64) -> Int64? {
        if isListening { return reading + offset }
        return reading <= stopped ? present : nil
    }

    /// Lets it run on from where it stopped.
    mutating func start(at time: Int64) {
        isListening = true
        offset = time - stopped
    }

    mutating func stop(at time: Int64) {
        stopped = time - offset
        isListening = false
    }

    /// Notes that a report came, or may have.
    @inline(__always)
    mutating func hear(at time: Int64) { lastReport = time }
}
