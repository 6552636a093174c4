import BluetoothLE
import SiteLog

/// A log some of whose answers do not come any more: what somebody knows who was stopped at a bad moment.
final class HidingLog: SightingLog {
    private let log: any SightingLog
    private var hidden: Set<LogTicket> = []
    /// Neither events nor how it stands with the lease is answered, from the next answers on.
    var isHiding = false

    init(_ log: any SightingLog) { self.log = log }

    var limits: LogLimits { log.limits }
    var nextDeadline: Instant? { log.nextDeadline }

    func send(_ request: LogRequest, at now: Instant) throws(LogTrouble) -> LogTicket {
        let ticket = try log.send(request, at: now)
        switch request {
        case .readEvents, .acquireLease, .renewLease: hidden.insert(ticket)
        default: break
        }
        return ticket
    }

    func answers(at now: Instant) -> [LogAnswer] {
        log.answers(at: now).filter { !isHiding || !hidden.contains($0.ticket) }
    }
}
