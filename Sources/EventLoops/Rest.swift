package import BaseTypes

/// Decides when a loop that is woken frequently should ignore new data for a while, and then handle more of it at once.
///
/// At 500 reports per second, a wake-up for each costs more than all of their processing. During a rest the kernel
/// keeps them, with their times. The caller that asks for a rest declares that no expected event is urgent.
package struct Rest: Sendable, Hashable {
    /// The rest that was requested in this turn.
    private var wanted: Duration?
    private var isRefused = false
    /// How long the loop last waited for the data that it has just handled.
    private var lastWait: Duration = .seconds(1)
    /// The end of the present rest; `nil` if there is none.
    package private(set) var end: Instant?

    /// Creates a value without a requested rest.
    package init() {}

    /// Requests a rest of `length` after the present turn. If there are several requests, the shortest counts.
    package mutating func ask(for length: Duration) { wanted = min(wanted ?? length, length) }

    /// Prevents a rest after the present turn, even if one is requested, because it left data unread.
    package mutating func refuse() { isRefused = true }

    /// Records a wait of the loop outside of a rest.
    package mutating func waited(from begin: Instant, to end: Instant) { lastWait = end - begin }

    /// Starts the requested rest.
    ///
    /// There is no rest if the loop waited at least as long for the data that it handled: such infrequent data need a
    /// wake-up each anyway, and a rest would only add one.
    /// - Parameter now: the current time.
    /// - Returns: whether a rest has started.
    package mutating func begin(now: Instant) -> Bool {
        defer { (wanted, isRefused) = (nil, false) }
        guard end == nil, !isRefused, let wanted, lastWait < wanted else { return false }
        end = now + wanted
        return true
    }

    /// Ends the rest.
    package mutating func finish() { end = nil }

    /// Returns the remaining time of the rest, rounded up to whole milliseconds, so that epoll_wait(2) returns at its
    /// end and not before.
    ///
    /// - Parameter now: the current time.
    /// - Returns: 0 if the rest has ended; `nil` if there is none.
    package func milliseconds(from now: Instant) -> Int32? {
        guard let end else { return nil }
        guard now < end else { return 0 }
        let left = (end - now).components
        return Int32(clamping: left.seconds * 1000 + (left.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
