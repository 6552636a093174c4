/// The engine's time: what it has come to, and when it next has something to do. Nanoseconds.
struct Timeline: Sendable {
    /// The time of the latest input, or of what was due last.
    private(set) var present: Int64
    /// Nothing is due before it; something may be from then on.
    private(set) var wake = Int64.max
    /// How many inputs were stamped earlier than the present (rule T2).
    private(set) var lateInputs = 0

    init(start: Int64) { present = start }

    /// The time at which an input is handled: one that comes late is one of the present, and is counted (rule T2).
    @inline(__always)
    mutating func admit(_ time: Int64) -> Int64 {
        guard time < present else { return time }
        lateInputs &+= 1
        return present
    }

    /// Goes on to a time that is not earlier than the present.
    @inline(__always)
    mutating func advance(to time: Int64) { present = time }

    /// Goes on to what is due: now, where it was due before it came to exist (rule T2).
    mutating func advanceToWake() { present = max(present, wake) }

    /// Notes that something may be due at a time.
    mutating func expect(_ time: Int64) { wake = min(wake, time) }

    /// Sets when something is due next.
    mutating func setWake(_ time: Int64) { wake = time }
}
