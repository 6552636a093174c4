package import BaseTypes

/// The log of a site as one process uses it: the batches of the gateways, the lease of the process that publishes,
/// snapshots, and small values.
///
/// One loop must drive a log: it sends requests, and takes answers when ``answers(at:)`` has some. No call blocks. If a
/// log has answers before ``nextDeadline``, it must wake the loop by its own means, such as a descriptor that the loop
/// watches. Time is passed in, so that a log in memory always behaves in the same way.
///
/// Requests of one client are started in the order in which they were sent, and can be answered in another order. A
/// request with the answer ``SiteLogError/unanswered(_:)`` can have been executed. A client that repeats it must be
/// correct in both cases, by means of the batch's key or a revision.
package protocol SightingLog: AnyObject {
    /// The maximum sizes of requests, and how many can wait for an answer.
    var limits: LogLimits { get }

    /// The latest time for the next call of ``answers(at:)``; `nil` if nothing waits for a time.
    var nextDeadline: Instant? { get }

    /// Sends a request.
    ///
    /// - Returns: the ticket that the answer will have.
    /// - Throws: ``SiteLogError`` if the request cannot be sent: it is too large, or too many requests wait.
    func send(_ request: LogRequest, at now: Instant) throws(SiteLogError) -> LogTicket

    /// Returns the answers that arrived, each once, the oldest first; at most ``LogLimits/requestsMax``.
    func answers(at now: Instant) -> [LogAnswer]
}

/// Identifies the request of an answer. Each request of a client has its own ticket.
package struct LogTicket: Sendable, Hashable, Comparable {
    /// The number of requests that the client sent before this one.
    package let number: UInt64

    /// Creates the ticket of the request that follows this number of requests.
    package init(_ number: UInt64) { self.number = number }

    /// Sorts by the order in which the requests were sent.
    package static func < (left: LogTicket, right: LogTicket) -> Bool { left.number < right.number }
}

/// The result of a request.
package struct LogAnswer: Sendable, Hashable {
    /// The ticket of the request.
    package let ticket: LogTicket
    /// The response of the log, or the reason for the failure.
    package let result: Result<LogResponse, SiteLogError>

    /// Creates the answer to the request with a ticket.
    package init(_ ticket: LogTicket, _ result: Result<LogResponse, SiteLogError>) {
        self.ticket = ticket
        self.result = result
    }
}
