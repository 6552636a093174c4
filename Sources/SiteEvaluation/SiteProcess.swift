package import BluetoothLE
package import SiteLog

/// A process of a site: reads its log, computes every event, holds what was published against that octet by octet, and
/// publishes what follows while it has the lease.
///
/// A value that drives a log in turns, time passed in. All processes of a site are alike and have no role; one that has read
/// all there is may become the one that publishes. Whatever becomes of its requests, event n is published on the
/// expectation that n − 1 is the last, so that there is one of each.
package struct SiteProcess<Reader: SiteSetupReader>: Sendable {
    /// What it is called while it has the lease: no other start of any process is called so.
    package let name: LogName
    /// How much it keeps.
    package let limits: SiteProcessLimits
    /// What the log comes to.
    package internal(set) var engine: SiteEngine<Reader>
    /// What it did.
    package internal(set) var counters = SiteProcessCounters()
    /// Why it stopped for good; absent while it goes on.
    package private(set) var failure: SiteProcessFailure?
    /// The offset of the batch that it reads next.
    package private(set) var nextBatch: UInt64 = 1
    /// The trouble that the log had last; absent since something was answered.
    package private(set) var trouble: LogTrouble?

    // Lines that are not known to stand in the event log yet, from the one behind `audited` on.
    private var lines: [SiteLine] = []
    // Events that were read, and have no line yet.
    private var unheld: [LogEntry] = []
    /// How many events were held against lines.
    package private(set) var audited: UInt64 = 0
    // The number of the last event, as far as it is known; absent where it has to be looked up.
    private var lastEvent: UInt64?
    private var hasReadAll = false
    private var lease: (held: Lease, until: Instant)?
    private var asked: [LogTicket: Asked] = [:]
    private var nextTry = Instant.earliest
    private var nextLease = Instant.earliest

    /// What was asked for.
    private enum Asked: Sendable, Hashable {
        case batches
        case events
        case lease(at: Instant)
        case release
        case publishing(count: Int)
    }

    /// A process that has read nothing.
    package init(_ name: LogName, _ engine: SiteEngine<Reader>, _ limits: SiteProcessLimits = SiteProcessLimits()) {
        self.name = name
        self.engine = engine
        self.limits = limits
    }

    /// Whether it may publish, as far as it knows.
    package func hasLease(at now: Instant) -> Bool { lease.map { now < $0.until } ?? false }

    /// How many lines it has that are not known to be published.
    package var linesWaiting: Int { lines.count }

    /// When the next turn is due at the latest, beside what the log says; absent where only the log has a say.
    package private(set) var nextDeadline: Instant?

    /// Takes the answers that have come, and asks for what is to be asked for next.
    package mutating func turn(_ log: any SightingLog, at now: Instant) {
        for answer in log.answers(at: now) { take(answer, log, at: now) }
        nextDeadline = nil
        if failure != nil {
            leave(log, at: now)
        } else if now < nextTry {
            nextDeadline = nextTry
        } else {
            ask(log, at: now)
        }
    }

    // MARK: Asking

    private mutating func ask(_ log: any SightingLog, at now: Instant) {
        if !isAsked(.batches), lines.count < limits.linesMax {
            send(.readBatches(LogRange(from: nextBatch, patience: limits.patience)), as: .batches, log, at: now)
        }
        if !isAsked(.events), unheld.count < limits.eventsMax {
            let from = audited + UInt64(unheld.count) + 1
            send(.readEvents(LogRange(from: from, patience: limits.patience)), as: .events, log, at: now)
        }
        askForLease(log, at: now)
        publish(log, at: now)
        if lease != nil || hasReadAll { nextDeadline = nextLease }
        if nextTry > now { nextDeadline = nextTry }
    }

    private func isAsked(_ what: Asked) -> Bool { asked.values.contains(what) }

    private mutating func send(_ request: LogRequest, as what: Asked, _ log: any SightingLog, at now: Instant) {
        do throws(LogTrouble) {
            asked[try log.send(request, at: now)] = what
        } catch {
            note(error)
            nextTry = now + limits.retryAfter
        }
    }

    /// Wants the lease, or keeps it. Who has not read all there is would hold everybody up.
    private mutating func askForLease(_ log: any SightingLog, at now: Instant) {
        let isAsking = asked.values.contains { if case .lease = $0 { true } else { false } }
        guard !isAsking, now >= nextLease else { return }
        if let lease, now < lease.until {
            send(.renewLease(lease.held), as: .lease(at: now), log, at: now)
        } else if hasReadAll {
            lease = nil
            send(.acquireLease(name), as: .lease(at: now), log, at: now)
        } else {
            return
        }
        nextLease = now + limits.leaseEvery
    }

    /// Publishes what follows the last event, once all events were held against lines: what follows a wrong one is no better.
    private mutating func publish(_ log: any SightingLog, at now: Instant) {
        let isPublishing = asked.values.contains { if case .publishing = $0 { true } else { false } }
        guard hasLease(at: now), !isPublishing, lastEvent == audited, !lines.isEmpty else { return }
        var octets = 0
        let next = lines.prefix(log.limits.eventsMax).prefix { line in
            octets += line.octets.count
            return octets <= log.limits.requestOctetsMax / 2
        }
        send(.publish(next.map(\.octets), after: audited), as: .publishing(count: next.count), log, at: now)
    }

    /// Leaves the lease to others at once.
    private mutating func leave(_ log: any SightingLog, at now: Instant) {
        guard let held = lease?.held else { return }
        lease = nil
        send(.releaseLease(held), as: .release, log, at: now)
    }

    // MARK: Answers

    private mutating func take(_ answer: LogAnswer, _ log: any SightingLog, at now: Instant) {
        guard let what = asked.removeValue(forKey: answer.ticket), failure == nil else { return }
        switch (what, answer.result) {
        case (_, .failure(let trouble)):
            // Whether events were published is to be looked up.
            if case .publishing = what { lastEvent = nil }
            note(trouble)
            nextTry = now + limits.retryAfter
            return
        case (.batches, .success(.batches(let page))): take(batches: page)
        case (.events, .success(.events(let page))): take(events: page)
        case (.lease(let at), .success(.lease(let state))): take(state, askedAt: at, log)
        case (.publishing(let count), .success(.published(let last))):
            lastEvent = last
            counters.published += UInt64(count)
        case (.publishing, .success(.fenced)):
            // Somebody else publishes, or did: what there is now is to be looked up.
            counters.fenced += 1
            lastEvent = nil
            lease = nil
        default: break
        }
        trouble = nil
        audit()
    }

    private mutating func note(_ trouble: LogTrouble) {
        counters.troubles += 1
        self.trouble = trouble
        if !trouble.mayPass { failure = .log(trouble) }
    }

    private mutating func take(_ state: LeaseState, askedAt: Instant, _ log: any SightingLog) {
        guard case .held(let held) = state else {
            lease = nil
            return
        }
        if lease == nil { counters.leases += 1 }
        // It runs from when the servers had it, which is not before it was asked for.
        lease = (held, askedAt + log.limits.leaseTime)
    }

    private mutating func take(batches page: LogPage) {
        if page.first > nextBatch, page.last >= nextBatch {
            failure = .batchesGone(wanted: nextBatch, first: page.first)
            return
        }
        for entry in page.entries where entry.number >= nextBatch {
            nextBatch = entry.number + 1
            engine.take(entry, into: &lines)
        }
        hasReadAll = nextBatch > page.last
    }

    private mutating func take(events page: LogPage) {
        let wanted = audited + UInt64(unheld.count) + 1
        if page.first > wanted, page.last >= wanted {
            failure = .eventsGone(wanted: wanted, first: page.first)
            return
        }
        for entry in page.entries where entry.number == audited + UInt64(unheld.count) + 1 { unheld.append(entry) }
        lastEvent = max(lastEvent ?? 0, page.last)
    }

    // MARK: The audit

    /// Holds events against the lines of their numbers.
    private mutating func audit() {
        let count = min(lines.count, unheld.count)
        guard failure == nil, count > 0 else { return }
        for index in 0..<count where lines[index].octets != unheld[index].octets {
            failure = .differs(
                event: lines[index].number, published: unheld[index].octets, own: lines[index].octets)
            return
        }
        lines.removeFirst(count)
        unheld.removeFirst(count)
        audited += UInt64(count)
        counters.audited += UInt64(count)
    }
}
