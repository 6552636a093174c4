package import BaseTypes
package import SiteMonitoring
internal import TestSupport

/// A log that claims are held against, whatever keeps it, and the time that it lives in. Each is new, and empty.
package protocol LogWorld: AnyObject {
    /// The time to pass in.
    var now: Instant { get }
    /// A further client of the log, which has reached it.
    func client() async throws -> any SightingLog
    /// Lets time go on, or others: to the client's next deadline where that is all there is to wait for.
    func turn(_ log: any SightingLog) async throws
}

/// A world whose time goes on when a test says so.
package protocol TimedLogWorld: LogWorld {
    /// Lets the time of a lease pass.
    func outliveLease()
}

/// A log in memory, and time that goes on where somebody waits for it.
package final class MemoryWorld: TimedLogWorld {
    /// What all clients talk to.
    package let log: MemoryLog
    package private(set) var now = Instant(nanoseconds: 1_700_000_000_000_000_000)

    /// An empty log.
    package init(_ limits: LogLimits = LogLimits()) { log = MemoryLog(limits) }

    package func client() -> any SightingLog { log.client() }
    package func turn(_ log: any SightingLog) { now = max(now, log.nextDeadline ?? now) }
    package func outliveLease() { pass(log.limits.leaseTime) }
    /// Lets so much time pass.
    package func pass(_ time: Duration) { now = now + time }
}

/// A client of a log, and who waits for its answers.
package final class LogDriver {
    /// The client.
    package let log: any SightingLog
    private let world: any LogWorld
    private var answers: [LogTicket: Result<LogResponse, LogTrouble>] = [:]

    /// A further client in a world.
    package init(_ world: any LogWorld) async throws {
        self.world = world
        log = try await world.client()
    }

    /// Asks, and does not wait.
    package func send(_ request: LogRequest) throws(LogTrouble) -> LogTicket { try log.send(request, at: world.now) }

    /// What has been answered to a request, taken once; absent before.
    package func answer(_ ticket: LogTicket) -> Result<LogResponse, LogTrouble>? {
        for answer in log.answers(at: world.now) { answers[answer.ticket] = answer.result }
        return answers.removeValue(forKey: ticket)
    }

    /// Waits for what becomes of a request.
    package func result(_ ticket: LogTicket) async throws -> Result<LogResponse, LogTrouble> {
        var result = answer(ticket)
        try await until("an answer to request \(ticket.number)", saw: "\(self)") {
            if result == nil {
                try await world.turn(log)
                result = answer(ticket)
            }
            return result != nil
        }
        guard let result else { throw LogClaimBroken(description: "no answer to request \(ticket.number)") }
        return result
    }

    /// Asks, and waits for what the log says.
    package func ask(_ request: LogRequest) async throws -> LogResponse { try await result(send(request)).get() }
}
