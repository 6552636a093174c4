import BaseTypes
import SiteLogSupport
import SiteMonitoring

/// The errors that a damaged log can have.
enum LogDamage: CaseIterable, Sendable {
    case losesBatch, repeatsBatch, saysNewOfRepeat, inverts, changesByte, numbersFromZero, forgetsFirst, wrongLast
    case givesLeaseToAll, keepsLeaseForever, renewsOld, leaseRevisionStands
    case takesAnyValue, valueRevisionStands, wrongValue, losesPiece, showsUnfinished, saysSeconds, noName
}

final class DamagedFixture: TimedLogFixture {
    private let fixture: MemoryFixture
    private let damage: LogDamage?

    init(_ damage: LogDamage?) {
        self.damage = damage
        // With the full limits the tests take long. A tenth of the size checks the same.
        var limits = LogLimits()
        (limits.batchBytesMax, limits.requestsMax) = (50_000, 64)
        fixture = MemoryFixture(limits)
    }

    var now: Instant { fixture.now }
    func client() -> any SightingLog { DamagedLog(fixture.client(), damage, fixture) }
    func turn(_ log: any SightingLog) { fixture.turn(log) }
    func outliveLease() {
        if damage != .keepsLeaseForever { fixture.outliveLease() }
    }
}

/// A log with one error. In all other respects it behaves like the log below it.
private final class DamagedLog: SightingLog {
    private let log: any SightingLog
    private let damage: LogDamage?
    private let fixture: MemoryFixture
    private var requests: [LogTicket: LogRequest] = [:]

    init(_ log: any SightingLog, _ damage: LogDamage?, _ fixture: MemoryFixture) {
        self.log = log
        self.damage = damage
        self.fixture = fixture
    }

    var limits: LogLimits { log.limits }
    var nextDeadline: Instant? { log.nextDeadline }

    func send(_ request: LogRequest, at now: Instant) throws(SiteLogError) -> LogTicket {
        let ticket = try log.send(changed(request), at: now)
        requests[ticket] = request
        return ticket
    }

    func answers(at now: Instant) -> [LogAnswer] {
        log.answers(at: now).map { answer in
            guard case .success(let response) = answer.result, let request = requests[answer.ticket] else {
                return answer
            }
            return LogAnswer(answer.ticket, .success(changed(response, request)))
        }
    }

    private func changed(_ request: LogRequest) -> LogRequest {
        switch (damage, request) {
        case (.repeatsBatch, .append(let key, let bytes)):
            .append(BatchKey(gateway: key.gateway, boot: key.boot, sequence: key.sequence &+ fixture.tick()), bytes)
        case (.saysNewOfRepeat, _): request
        case (.losesBatch, .append(let key, let bytes)) where bytes.count % 7 == 3:
            .append(BatchKey(gateway: key.gateway, boot: 9, sequence: 9), bytes)
        case (.takesAnyValue, .writeValue(let key, let bytes, _)): .writeValue(key, bytes, over: nil)
        case (.showsUnfinished, .writeSnapshot(let piece)):
            .writeSnapshot(SnapshotPiece(piece.name, index: piece.index, isLast: true, bytes: piece.bytes))
        case (.renewsOld, .renewLease(let lease)): .acquireLease(lease.holder)
        default: request
        }
    }

    private func changed(_ response: LogResponse, _ request: LogRequest) -> LogResponse {
        switch (damage, response) {
        case (.saysNewOfRepeat, .appended(let offset, _)): .appended(offset: offset, isRepeat: false)
        case (.inverts, .batches(let page)):
            .batches(LogPage(entries: page.entries.reversed(), first: page.first, last: page.last))
        case (.changesByte, .batches(let page)): .batches(page.changed { $0.map { $0 & 0x7F } })
        case (.numbersFromZero, .batches(let page)): .batches(page.renumbered { $0 - 1 })
        case (.forgetsFirst, .batches(let page)): .batches(LogPage(entries: page.entries, first: 2, last: page.last))
        case (.wrongLast, .batches(let page)):
            .batches(LogPage(entries: page.entries, first: page.first, last: page.last + 1))
        case (.givesLeaseToAll, .lease(.heldBy)):
            switch request {
            case .acquireLease(let name): .lease(.held(Lease(holder: name, revision: 1)))
            default: response
            }
        case (.leaseRevisionStands, .lease(.held(let lease))): .lease(.held(Lease(holder: lease.holder, revision: 1)))
        case (.valueRevisionStands, .written): .written(revision: 1)
        case (.wrongValue, .value(let value?)):
            .value(StoredValue(bytes: value.bytes + [0], revision: value.revision))
        case (.losesPiece, .piece): .piece(nil)
        case (.saysSeconds, .batches(let page)):
            .batches(page.stored { Instant(nanoseconds: $0.nanoseconds / 1_000_000_000) })
        case (.noName, .engine): .engine(LogEngine(name: ""))
        default: response
        }
    }
}

extension MemoryFixture {
    /// Returns a different number on each call.
    fileprivate func tick() -> UInt64 {
        pass(.milliseconds(1))
        return UInt64(now.nanoseconds)
    }
}

extension LogPage {
    fileprivate func mapped(_ change: (LogEntry) -> LogEntry) -> LogPage {
        LogPage(entries: entries.map(change), first: first, last: last)
    }

    fileprivate func changed(_ change: ([UInt8]) -> [UInt8]) -> LogPage {
        mapped { LogEntry(number: $0.number, stored: $0.stored, bytes: change($0.bytes)) }
    }

    fileprivate func renumbered(_ change: (UInt64) -> UInt64) -> LogPage {
        mapped { LogEntry(number: change($0.number), stored: $0.stored, bytes: $0.bytes) }
    }

    fileprivate func stored(_ change: (Instant) -> Instant) -> LogPage {
        mapped { LogEntry(number: $0.number, stored: change($0.stored), bytes: $0.bytes) }
    }
}
