package import BaseTypes

/// Decides when a loop that is woken again and again had better leave what comes where it is for a while, and find more
/// of it to do at once.
///
/// At 500 reports a second a wake-up for each costs more than everything that is done with them; the kernel keeps them,
/// with their times, as long as a rest lasts. Who asks for it says that nothing that is expected is urgent.
package struct Rest: Sendable, Hashable {
    /// What was asked for in this turn.
    private var wanted: Duration?
    private var isRefused = false
    /// How long the loop waited the last time for what it has just handled.
    private var lastWait: Duration = .seconds(1)
    /// Until when what may wait does; `nil` where nothing does.
    package private(set) var end: Instant?

    /// Nothing is asked for.
    package init() {}

    /// Asks for a rest of `length` after the present turn; of several the shortest counts.
    package mutating func ask(for length: Duration) { wanted = min(wanted ?? length, length) }

    /// Has no rest follow the present turn, whoever asks for one: something was left unread in it.
    package mutating func refuse() { isRefused = true }

    /// Takes note of how long the loop waited outside of a rest, from when to when.
    package mutating func waited(from begin: Instant, to end: Instant) { lastWait = end - begin }

    /// Begins the rest that was asked for.
    ///
    /// There is none where the loop waited at least as long for what it handled: what comes that seldom needs a wake-up for
    /// each anyway, and a rest would only add one.
    /// - Parameter now: the present.
    /// - Returns: whether a rest has begun.
    package mutating func begin(now: Instant) -> Bool {
        defer { (wanted, isRefused) = (nil, false) }
        guard end == nil, !isRefused, let wanted, lastWait < wanted else { return false }
        end = now + wanted
        return true
    }

    /// Ends the rest.
    package mutating func finish() { end = nil }

    /// How long is still to be rested, in whole milliseconds, so that epoll_wait(2) returns at its end and not before.
    ///
    /// - Parameter now: the present.
    /// - Returns: 0 where the rest is over; `nil` where there is none.
    package func milliseconds(from now: Instant) -> Int32? {
        guard let end else { return nil }
        guard now < end else { return 0 }
        let left = (end - now).components
        return Int32(clamping: left.seconds * 1000 + (left.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
