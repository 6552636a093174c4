import BaseTypes

/// The calls that wait for their answers, by the serials that these will carry.
///
/// A value: what is to be done about a call that ran out of time is its owner's.
struct BusCallTable<Request> {
    /// How long an answer may take: bluetoothd itself gives up on a controller that hangs after 4 s.
    static var timeout: Duration { .seconds(10) }
    /// The most calls under way; each adapter has one, joining the bus a few.
    static var capacity: Int { 128 }

    private var waiting: [UInt32: (request: Request, deadline: Instant)] = [:]
    /// How many answers came that nobody waited for.
    private(set) var strays = 0
    /// How many calls found no place.
    private(set) var refused = 0

    /// Whether another call may be made; counts where it may not.
    mutating func hasRoom() -> Bool {
        if waiting.count < Self.capacity { return true }
        refused &+= 1
        return false
    }

    /// Waits for the answer to the call with this serial.
    mutating func await(_ request: Request, serial: UInt32, at now: Instant) {
        waiting[serial] = (request, now + Self.timeout)
    }

    /// What the answer with this serial is an answer to.
    mutating func answered(_ serial: UInt32) -> Request? {
        guard let entry = waiting.removeValue(forKey: serial) else {
            strays &+= 1
            return nil
        }
        return entry.request
    }

    /// When the first of them has waited too long.
    var nextDeadline: Instant? {
        // Asked after each message: no key path, which is made anew each time.
        var next: Instant?
        for (_, call) in waiting { next = min(next ?? call.deadline, call.deadline) }
        return next
    }

    /// The next that has waited too long; call until `nil`.
    mutating func expired(at now: Instant) -> Request? {
        guard let nextDeadline, nextDeadline <= now else { return nil }
        let due = waiting.filter { $0.value.deadline <= now }
        guard let first = due.min(by: { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }) else { return nil }
        waiting[first.key] = nil
        return first.value.request
    }

    /// Forgets all: the connection is gone.
    mutating func removeAll() { waiting.removeAll() }
}
