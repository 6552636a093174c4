package import BaseTypes
package import SiteMonitoring
internal import TestSupport

/// A log to test, and its time. Each one is new, and its log is empty.
package protocol LogFixture: AnyObject {
    /// The time to pass to the log.
    var now: Instant { get }
    /// Returns a further client, which is connected to the log.
    func client() async throws -> any SightingLog
    /// Lets time pass, or other processes run. If there is nothing else to wait for, the time advances to the client's
    /// next deadline.
    func turn(_ log: any SightingLog) async throws
}

/// A fixture whose time advances when a test requests it.
package protocol TimedLogFixture: LogFixture {
    /// Advances the time by the duration of a lease.
    func outliveLease()
}

/// A log in memory, with a time that advances when a client waits for it.
package final class MemoryFixture: TimedLogFixture {
    /// The log of all clients.
    package let log: MemoryLog
    package private(set) var now = Instant(nanoseconds: 1_700_000_000_000_000_000)

    /// Creates an empty log.
    package init(_ limits: LogLimits = LogLimits()) { log = MemoryLog(limits) }

    package func client() -> any SightingLog { log.client() }
    package func turn(_ log: any SightingLog) { now = max(now, log.nextDeadline ?? now) }
    package func outliveLease() { pass(log.limits.leaseTime) }
    /// Advances the time.
    package func pass(_ time: Duration) { now = now + time }
}

/// A client of a log, with methods that wait for its answers.
package final class LogDriver {
    /// The client.
    package let log: any SightingLog
    private let fixture: any LogFixture
    private var answers: [LogTicket: Result<LogResponse, SiteLogError>] = [:]

    /// Creates a further client of a fixture.
    package init(_ fixture: any LogFixture) async throws {
        self.fixture = fixture
        log = try await fixture.client()
    }

    /// Sends a request, and does not wait.
    package func send(_ request: LogRequest) throws(SiteLogError) -> LogTicket {
        try log.send(request, at: fixture.now)
    }

    /// Returns the answer to a request, once; `nil` if there is none yet.
    package func answer(_ ticket: LogTicket) -> Result<LogResponse, SiteLogError>? {
        for answer in log.answers(at: fixture.now) { answers[answer.ticket] = answer.result }
        return answers.removeValue(forKey: ticket)
    }

    /// Waits for the result of a request.
    package func result(_ ticket: LogTicket) async throws -> Result<LogResponse, SiteLogError> {
        var result = answer(ticket)
        try await until("an answer to request \(ticket.number)", saw: "\(self)") {
            if result == nil {
                try await fixture.turn(log)
                result = answer(ticket)
            }
            return result != nil
        }
        guard let result else { throw ConformanceError(description: "no answer to request \(ticket.number)") }
        return result
    }

    /// Sends a request, and waits for the response of the log.
    package func ask(_ request: LogRequest) async throws -> LogResponse { try await result(send(request)).get() }
}
