import BaseTypes

/// The calls that wait for their answers, by serial number.
///
/// A value without side effects: its owner handles calls that time out.
struct BusCallTable<Request> {
    /// How long to wait for an answer. bluetoothd itself gives up on a controller that hangs after 4 s.
    static var timeout: Duration { .seconds(10) }
    /// The maximum number of pending calls. Each adapter has one, and joining the bus needs a few.
    static var capacity: Int { 128 }

    private var waiting: [UInt32: (request: Request, deadline: Instant)] = [:]
    /// The number of answers that no call was waiting for.
    private(set) var strays = 0
    /// The number of calls that were refused because the table was full.
    private(set) var refused = 0

    /// Returns whether another call can be made. If not, the refusal is counted.
    mutating func hasRoom() -> Bool {
        if waiting.count < Self.capacity { return true }
        refused &+= 1
        return false
    }

    /// Adds a call that waits for the answer with this serial number.
    mutating func await(_ request: Request, serial: UInt32, at now: Instant) {
        waiting[serial] = (request, now + Self.timeout)
    }

    /// Removes and returns the call that the answer with this serial number belongs to.
    mutating func answered(_ serial: UInt32) -> Request? {
        guard let entry = waiting.removeValue(forKey: serial) else {
            strays &+= 1
            return nil
        }
        return entry.request
    }

    /// The earliest time at which a call times out.
    var nextDeadline: Instant? {
        // Called after each message, so it avoids a key path, which would allocate each time.
        var next: Instant?
        for (_, call) in waiting { next = min(next ?? call.deadline, call.deadline) }
        return next
    }

    /// Removes and returns the next call that has timed out. Call it until it returns `nil`.
    mutating func expired(at now: Instant) -> Request? {
        guard let nextDeadline, nextDeadline <= now else { return nil }
        let due = waiting.filter { $0.value.deadline <= now }
        guard let first = due.min(by: { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }) else { return nil }
        waiting[first.key] = nil
        return first.value.request
    }

    /// Removes all calls, because the connection is closed.
    mutating func removeAll() { waiting.removeAll() }
}
