internal import BaseTypes
package import SiteMonitoring

/// A site's log in memory, in place of the servers, for as many clients as a test creates. It does nothing without a
/// call and has no clock, so the same calls give the same answers.
package final class MemoryLog {
    /// The limits of its clients' requests.
    package let limits: LogLimits
    /// Whether no client can reach the log, as if all servers were killed. It keeps its data.
    package var isAway = false
    /// How far its clock is ahead of the time that its clients pass in.
    package var clockAhead = Duration.zero
    /// The maximum size of all batches, in bytes. If it would be exceeded, the log is full.
    package var batchBytesMax = Int.max

    private var batches = EntryList()
    private var known: KnownBatches
    private var lease: LeaseKeeper
    private var revision: UInt64 = 0
    private var snapshots = SnapshotStore()
    private var values: [LogName: StoredValue] = [:]

    /// Creates an empty log.
    package init(_ limits: LogLimits = LogLimits()) {
        self.limits = limits
        known = KnownBatches(for: limits.repeatWindow)
        lease = LeaseKeeper(lasting: limits.leaseTime)
    }

    /// Returns a further client. A client that is released corresponds to a process that was killed.
    package func client() -> MemoryLogClient { MemoryLogClient(self) }

    /// Deletes batches, as if they became too old.
    package func drop(before offset: UInt64) { batches.drop(before: offset) }

    /// All batches that are stored.
    package var allBatches: [LogEntry] { batches.entries }

    /// Executes a request; returns `nil` if it is a read request that can wait for more batches.
    func perform(_ request: LogRequest, at now: Instant, knowsRepeats: Bool = true, mayWait: Bool = false)
        -> Result<LogResponse, SiteLogError>?
    {
        switch request {
        case .append(let key, let bytes):
            if knowsRepeats, let offset = known.offset(of: key, at: now) {
                return .success(.appended(offset: offset, isRepeat: true))
            }
            guard bytes.count <= batchBytesMax - batches.bytes else { return .failure(.full("batches")) }
            let offset = batches.append(bytes, at: now + clockAhead)
            known.note(key, offset: offset, at: now)
            return .success(.appended(offset: offset, isRepeat: false))
        case .readBatches(let range): return batches.page(range, mayWait).map { .success(.batches($0)) }
        case .acquireLease, .renewLease, .releaseLease, .readLease:
            return .success(.lease(lease.answer(request, at: now)))
        case .writeSnapshot(let piece): return snapshots.write(piece)
        case .latestSnapshot: return .success(.snapshot(snapshots.latest))
        case .readSnapshot(let name, let index): return .success(.piece(snapshots.piece(name, index)))
        case .writeValue(let key, let bytes, let over):
            let present = values[key]?.revision ?? 0
            guard over == nil || over == present else { return .success(.differs(revision: present)) }
            revision += 1
            values[key] = StoredValue(bytes: bytes, revision: revision)
            return .success(.written(revision: revision))
        case .readValue(let key): return .success(.value(values[key]))
        case .describe:
            var engine = LogEngine(name: "memory")
            engine.bytes = UInt64(batches.bytes)
            return .success(.engine(engine))
        }
    }
}

/// Numbered entries, of which the oldest can be deleted.
private struct EntryList {
    private(set) var entries: [LogEntry] = []
    private(set) var bytes = 0
    private var first: UInt64 = 1

    var last: UInt64 { first + UInt64(entries.count) - 1 }

    mutating func append(_ bytes: [UInt8], at stored: Instant) -> UInt64 {
        entries.append(LogEntry(number: last + 1, stored: stored, bytes: bytes))
        self.bytes += bytes.count
        return last
    }

    mutating func drop(before number: UInt64) {
        let count = Int(min(max(number, first), last + 1) - first)
        bytes -= entries.prefix(count).reduce(0) { $0 + $1.bytes.count }
        entries.removeFirst(count)
        first += UInt64(count)
    }

    func page(_ range: LogRange, _ mayWait: Bool) -> LogPage? {
        var found: [LogEntry] = []
        var room = range.bytesMax
        for entry in entries.dropFirst(Int(clamping: max(range.from, first) - first)).prefix(range.countMax) {
            guard found.isEmpty || entry.bytes.count <= room else { break }
            room -= entry.bytes.count
            found.append(entry)
        }
        return found.isEmpty && mayWait ? nil : LogPage(entries: found, first: first, last: last)
    }
}
