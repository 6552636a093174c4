/// The engine's time: its present, and the next time at which something can be due. Nanoseconds.
struct Timeline: Sendable {
    /// The time of the latest input, or of the latest deadline that was handled.
    private(set) var present: Int64
    /// The earliest time at which something can be due.
    private(set) var wake = Int64.max
    /// The number of inputs whose time was before the present (rule T2).
    private(set) var lateInputs = 0

    init(start: Int64) { present = start }

    /// Returns the time at which an input is handled. If its time is before the present, returns the present and counts
    /// it (rule T2).
    @inline(__always)
    mutating func admit(_ time: Int64) -> Int64 {
        guard time < present else { return time }
        lateInputs &+= 1
        return present
    }

    /// Moves the present to a time that is not before it.
    @inline(__always)
    mutating func advance(to time: Int64) { present = time }

    /// Moves the present to ``wake``, unless that is earlier: then it is due now (rule T2).
    mutating func advanceToWake() { present = max(present, wake) }

    /// Records that something can be due at a time.
    mutating func expect(_ time: Int64) { wake = min(wake, time) }

    /// Sets the earliest time at which something can be due.
    mutating func setWake(_ time: Int64) { wake = time }
}
