package import BaseTypes

/// The log of a site as one process uses it: the batches of the gateways, the lease of the process that publishes, snapshots
/// and small values.
///
/// Whoever drives it has one loop: it sends requests, and takes answers when ``answers(at:)`` has some. No call waits. A
/// log that has something to say before ``nextDeadline`` tells by means of its own, such as a descriptor that the loop
/// watches. Time is passed in, so that a log in memory is the same each time.
///
/// Requests of one client are begun in the order in which they were sent, and may be answered in another. A request that
/// was answered with ``LogTrouble/unanswered(_:)`` may have been done all the same: whoever repeats it has to be right
/// either way, by its batch's key or a revision.
package protocol SightingLog: AnyObject {
    /// What may be asked for: sizes, and how much at a time.
    var limits: LogLimits { get }

    /// When ``answers(at:)`` is to be called next, at the latest; absent where nothing waits for a time.
    var nextDeadline: Instant? { get }

    /// Asks for something.
    ///
    /// - Returns: what the answer will carry.
    /// - Throws: ``LogTrouble`` where it can't be asked for at all: it is too big, or too much is asked for already.
    func send(_ request: LogRequest, at now: Instant) throws(LogTrouble) -> LogTicket

    /// Takes the answers that have come, each once, the oldest first; at most as many as ``LogLimits/requestsMax``.
    func answers(at now: Instant) -> [LogAnswer]
}

/// Which request of a client an answer is to. No two requests of one client have the same.
package struct LogTicket: Sendable, Hashable, Comparable {
    /// How many requests the client had sent before.
    package let number: UInt64

    /// That of the request which was sent after so many.
    package init(_ number: UInt64) { self.number = number }

    /// The one that was sent earlier is the less.
    package static func < (left: LogTicket, right: LogTicket) -> Bool { left.number < right.number }
}

/// What became of a request.
package struct LogAnswer: Sendable, Hashable {
    /// Of which request.
    package let ticket: LogTicket
    /// What the log says, or why it did not.
    package let result: Result<LogResponse, LogTrouble>

    /// What became of the request with that ticket.
    package init(_ ticket: LogTicket, _ result: Result<LogResponse, LogTrouble>) {
        self.ticket = ticket
        self.result = result
    }
}
