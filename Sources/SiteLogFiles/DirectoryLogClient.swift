package import BluetoothLE
package import SiteLog

/// One of a process's clients of a log in a folder.
package final class DirectoryLogClient: SightingLog {
    private struct Sent {
        let ticket: LogTicket
        let request: LogRequest
        // Absent until it was done: a reading waits for something to read.
        var result: Result<LogResponse, LogTrouble>?
        let end: Instant
    }

    package var limits: LogLimits { log.limits }

    private let log: DirectoryLog
    private var sent: [Sent] = []
    private var count: UInt64 = 0

    init(_ log: DirectoryLog) { self.log = log }

    package func send(_ request: LogRequest, at now: Instant) throws(LogTrouble) -> LogTicket {
        try limits.check(request)
        guard sent.count < limits.requestsMax else {
            throw .tooMany("requests wait for the site's log", count: sent.count + 1, most: limits.requestsMax)
        }
        let octets = sent.reduce(limits.octets(of: request)) { $0 + limits.octets(of: $1.request) }
        guard octets <= limits.requestOctetsMax else {
            throw .tooMany("octets wait for the site's log", count: octets, most: limits.requestOctetsMax)
        }
        let end = now + request.patience(limits)
        let ticket = LogTicket(count)
        count += 1
        let result = log.perform(request, at: now, mayWait: end > now)
        sent.append(Sent(ticket: ticket, request: request, result: result, end: end))
        return ticket
    }

    package func answers(at now: Instant) -> [LogAnswer] {
        for index in sent.indices where sent[index].result == nil {
            sent[index].result = log.perform(sent[index].request, at: now, mayWait: sent[index].end > now)
        }
        let isKept = sent.contains { $0.result != nil } ? log.synchronize() : true
        let answers = sent.compactMap { one in
            one.result.map { LogAnswer(one.ticket, isKept ? $0 : Self.doubted($0)) }
        }
        sent.removeAll { $0.result != nil }
        return answers
    }

    package var nextDeadline: Instant? {
        sent.lazy.map { [log] one in
            let isReady = one.result != nil || log.perform(one.request, at: one.end, mayWait: true) != nil
            return isReady ? .earliest : one.end
        }.min()
    }

    /// What is said of a write that may not be on the disk.
    private static func doubted(_ result: Result<LogResponse, LogTrouble>) -> Result<LogResponse, LogTrouble> {
        switch result {
        case .success(.appended), .success(.published): .failure(.unanswered(.zero))
        default: result
        }
    }
}
