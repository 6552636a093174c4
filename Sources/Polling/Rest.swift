package import BluetoothLE

/// Decides when a loop that is woken again and again had better wait a little and find more to do at once.
///
/// At 500 reports a second a wake-up for each costs more than everything that is done with them; the kernel keeps them,
/// with their times, as long as a rest lasts. Who asks for it says that nothing that is expected is urgent.
package struct Rest: Sendable, Hashable {
    /// How long a rest is: 20 ms, in which 2,000 reports a second fill a seventh of a socket's smallest buffer.
    package static let length = Duration.milliseconds(20)
    /// A wait that took at least this long is not followed by a rest: what comes that seldom is not worth one.
    package static let shortWait = Duration.milliseconds(10)

    private var isWanted = false
    private var isBusy = false

    /// Nothing is asked for.
    package init() {}

    /// Asks for a rest after the present turn.
    package mutating func ask() { isWanted = true }

    /// Takes note of how long the loop waited, from when to when.
    package mutating func waited(from begin: Instant, to end: Instant) { isBusy = end - begin < Self.shortWait }

    /// Until when to rest before the next wait; `nil` where there is no reason to, or something is due.
    ///
    /// - Parameters:
    ///   - now: the present.
    ///   - next: the next moment that something is to be done at.
    /// - Returns: the end of the rest.
    package mutating func end(now: Instant, next: Instant?) -> Instant? {
        defer { isWanted = false }
        guard isWanted, isBusy else { return nil }
        let end = now + Self.length
        guard let next, next < end else { return end }
        return next > now ? next : nil
    }
}
