package import BaseTypes
package import SiteMonitoring

/// A fault of one request.
package enum MemoryLogFault: Sendable, Hashable {
    /// The servers cannot be reached. The answer says so immediately, and nothing is executed.
    case unavailable
    /// The request is executed immediately, and answered after this time.
    case slow(Duration)
    /// The request is executed after this time, even if no client waits for it any more.
    case late(Duration)
    /// The request never reaches the servers.
    case lost
    /// The request is executed, and the answer never arrives.
    case answerLost
    /// A batch is stored twice, as if the log did not recognize a repetition.
    case storedTwice
    /// A batch is stored after the next one of this client, or after a second if there is none.
    case inverted
}

/// The connection of one process to a log in memory, with faults from a script.
package final class MemoryLogClient: SightingLog {
    private struct Sent {
        let ticket: LogTicket
        let request: LogRequest
        let at: Instant
        let fault: MemoryLogFault?
        var performAt: Instant
        // `nil` until the request is executed, and if it never is.
        var result: Result<LogResponse, SiteLogError>?
        var isAnswered = false
    }

    // This is longer than any gateway takes for its next batch.
    private static let inversionMax = Duration.seconds(1)

    package var limits: LogLimits { log.limits }
    /// Whether this client alone cannot reach the log.
    package var isAway = false

    private let log: MemoryLog
    private var sent: [Sent] = []
    private var count: UInt64 = 0
    private var script: [(kind: LogRequestKind, fault: MemoryLogFault)] = []

    init(_ log: MemoryLog) { self.log = log }

    /// Sets a fault for the next request of this kind that has no fault yet.
    package func script(_ fault: MemoryLogFault, for kind: LogRequestKind) { script.append((kind, fault)) }

    package func send(_ request: LogRequest, at now: Instant) throws(SiteLogError) -> LogTicket {
        try limits.check(request)
        let waiting = sent.filter { !$0.isAnswered }
        guard waiting.count < limits.requestsMax else {
            throw .tooMany("requests wait for the site's log", count: waiting.count + 1, most: limits.requestsMax)
        }
        let bytes = waiting.reduce(limits.size(of: request)) { $0 + limits.size(of: $1.request) }
        guard bytes <= limits.requestBytesMax else {
            throw .tooMany("bytes wait for the site's log", count: bytes, most: limits.requestBytesMax)
        }
        let fault = script.firstIndex { $0.kind == LogRequestKind(request) }.map { script.remove(at: $0).fault }
        var new = Sent(ticket: LogTicket(count), request: request, at: now, fault: fault, performAt: now)
        count += 1
        switch fault {
        case .late(let time): new.performAt = now + time
        case .inverted: new.performAt = now + Self.inversionMax
        case .lost: new.performAt = .latest
        default: break
        }
        if fault == .unavailable || isAway || log.isAway {
            new.result = .failure(.unavailable("scripted"))
            new.performAt = now
        }
        sent.append(new)
        perform(at: now)
        if fault != .inverted, new.result == nil, case .append = request { release(before: new.ticket, at: now) }
        return new.ticket
    }

    package func answers(at now: Instant) -> [LogAnswer] {
        perform(at: now)
        var answers: [LogAnswer] = []
        for index in sent.indices where !sent[index].isAnswered {
            guard answers.count < limits.requestsMax, let answer = answer(sent[index], at: now) else { continue }
            sent[index].isAnswered = true
            answers.append(answer)
        }
        sent.removeAll { $0.isAnswered && ($0.result != nil || $0.fault == .lost) }
        return answers
    }

    package var nextDeadline: Instant? {
        // While the log cannot be reached, nothing is executed, and only the times of answers, and their limits, apply.
        let isCut = isAway || log.isAway
        return sent.lazy.filter { !isCut || !$0.isAnswered }.map { [self] in
            $0.isAnswered ? $0.performAt : deadline($0, isCut)
        }.min()
    }

    // MARK: Handling of a request

    private func deadline(_ one: Sent, _ isCut: Bool) -> Instant {
        let end = one.at + limits.answerTime + one.request.patience(limits)
        if one.fault == .answerLost || one.fault == .lost { return end }
        if one.result != nil { return min(end, max(one.at, one.performAt) + delay(one)) }
        if isCut { return end }
        // If there are batches for a waiting reader, it can have them now.
        if isReady(one) { return one.at }
        return min(end, max(one.performAt, one.at + one.request.patience(limits)))
    }

    private func isReady(_ one: Sent) -> Bool {
        guard one.request.patience(limits) > .zero else { return false }
        return log.perform(one.request, at: one.at, mayWait: true) != nil
    }

    private func delay(_ one: Sent) -> Duration { if case .slow(let time) = one.fault { time } else { .zero } }

    private func answer(_ one: Sent, at now: Instant) -> LogAnswer? {
        if let result = one.result, one.fault != .answerLost, one.performAt + delay(one) <= now {
            return LogAnswer(one.ticket, result)
        }
        guard now >= one.at + limits.answerTime + one.request.patience(limits) else { return nil }
        return LogAnswer(one.ticket, .failure(.unanswered(limits.answerTime)))
    }

    private func perform(at now: Instant) {
        for index in sent.indices where sent[index].result == nil && sent[index].performAt <= now {
            perform(index, at: now)
        }
    }

    private func perform(_ index: Int, at now: Instant) {
        let one = sent[index]
        // A read request that has waited for its `patience` must be answered, even without batches.
        let mayWait = now < one.at + one.request.patience(limits)
        sent[index].result = isAway || log.isAway ? nil : log.perform(one.request, at: now, mayWait: mayWait)
        if one.fault == .storedTwice { _ = log.perform(one.request, at: now, knowsRepeats: false) }
    }

    /// Stores the earlier batches that had to be stored after this one.
    private func release(before ticket: LogTicket, at now: Instant) {
        for index in sent.indices where sent[index].fault == .inverted && sent[index].ticket < ticket {
            guard sent[index].result == nil else { continue }
            sent[index].performAt = now
            perform(index, at: now)
        }
    }
}

/// The kind of a request, whatever its content.
package enum LogRequestKind: Sendable, Hashable, CaseIterable {
    case append, read, lease, snapshot, value, describe

    /// Creates the kind of a request.
    package init(_ request: LogRequest) {
        switch request {
        case .append: self = .append
        case .readBatches: self = .read
        case .acquireLease, .renewLease, .releaseLease, .readLease: self = .lease
        case .writeSnapshot, .latestSnapshot, .readSnapshot: self = .snapshot
        case .writeValue, .readValue: self = .value
        case .describe: self = .describe
        }
    }
}
