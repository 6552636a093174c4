import BluetoothLE
package import EventLog
package import SiteLog
package import SystemPackage

/// A site's log in a folder of this machine: what a log kept, for `replay`, or that of a site which is one machine.
///
/// One process writes in a folder, and all its clients are that process's; others may read meanwhile, and see what was there
/// when they opened it. What is acknowledged is on the disk. The lease is the process's own and ends with it.
package final class DirectoryLog {
    /// What its clients may ask for.
    package let limits: LogLimits
    /// What lies between 1970 and the beginning of the time that clients pass in.
    package let epoch: Duration
    let directory: FilePath

    // Absent where it is only read.
    private let lock: FolderLock?
    private var batches: RecordList
    private var events: RecordList
    private var known: KnownBatches
    private var lease: LeaseKeeper
    private var snapshots: SnapshotFiles
    private var values: ValueFiles
    /// What could not be put on the disk: whether what was written before is there, nobody can say, and no more is written.
    private(set) var failure: String?

    /// The log in a folder, which is made where it is written in and not there.
    ///
    /// A file of batches or events becomes `segmentOctetsMax` big before there is a next one.
    ///
    /// - Throws: ``LogTrouble``: the folder can't be used, another process writes in it, or it can't be continued as it is.
    package init(
        _ directory: FilePath, isWriting: Bool, limits: LogLimits = LogLimits(), epoch: Duration = .zero,
        segmentOctetsMax: Int = 64 << 20, files: any FileSystemCalls = SystemFiles()
    ) throws(LogTrouble) {
        self.directory = directory
        self.limits = limits
        self.epoch = epoch
        let names: [String]
        do throws(Errno) {
            if isWriting { try files.makeDirectory(directory) }
        } catch { throw .unavailable("\(directory) can't be made: \(error)") }
        lock = isWriting ? try FolderLock(directory) : nil
        do throws(Errno) { names = try files.names(in: directory) } catch {
            throw .unavailable("\(directory) can't be read: \(error)")
        }
        batches = try RecordList(
            .batches, in: directory, names: names, segmentOctetsMax: segmentOctetsMax, isWriting: isWriting, files)
        events = try RecordList(
            .events, in: directory, names: names, segmentOctetsMax: segmentOctetsMax, isWriting: isWriting, files)
        snapshots = try SnapshotFiles(in: directory, names: names, limits: limits, isWriting: isWriting, files)
        values = try ValueFiles(in: directory, names: names, limits: limits, files)
        lease = LeaseKeeper(lasting: limits.leaseTime)
        var known = KnownBatches(for: limits.repeatWindow)
        if isWriting {
            try batches.recent(limits.repeatWindow) { number, record in
                if let key = record.key { known.note(key, offset: number, at: record.stored - epoch) }
            }
        }
        self.known = known
    }

    /// A further client of this process.
    package func client() -> DirectoryLogClient { DirectoryLogClient(self) }

    /// Does what is asked for; absent where it is a reading that can wait for more.
    func perform(_ request: LogRequest, at now: Instant, mayWait: Bool) -> Result<LogResponse, LogTrouble>? {
        do throws(LogTrouble) { return try answer(request, at: now, mayWait).map { .success($0) } } catch {
            return .failure(error)
        }
    }

    private func answer(_ request: LogRequest, at now: Instant, _ mayWait: Bool) throws(LogTrouble) -> LogResponse? {
        switch request {
        case .append(let key, let octets):
            try checkWritable()
            if let offset = known.offset(of: key, at: now) { return .appended(offset: offset, isRepeat: true) }
            let record = LogRecord(stored: now + epoch, key: key, octets: octets)
            let offset = try writing { () throws(Errno) in try batches.append(record) }
            known.note(key, offset: offset, at: now)
            return .appended(offset: offset, isRepeat: false)
        case .readBatches(let range):
            let page = try batches.page(range)
            return page.entries.isEmpty && mayWait ? nil : .batches(page)
        case .acquireLease, .renewLease, .releaseLease:
            try checkWritable()
            return .lease(lease.answer(request, at: now))
        case .readLease: return .lease(lease.answer(request, at: now))
        case .publish(let new, let last):
            try checkWritable()
            guard last == events.last else { return .fenced(last: events.last) }
            for octets in new {
                let record = LogRecord(stored: now + epoch, key: nil, octets: octets)
                _ = try writing { () throws(Errno) in try events.append(record) }
            }
            return .published(last: events.last)
        case .readEvents(let range):
            let page = try events.page(range)
            return page.entries.isEmpty && mayWait ? nil : .events(page)
        case .writeSnapshot(let piece):
            try checkWritable()
            try snapshots.write(piece)
            return .stored
        case .latestSnapshot: return .snapshot(snapshots.latest)
        case .readSnapshot(let name, let index): return .piece(try snapshots.piece(name, index))
        case .writeValue(let key, let octets, let over):
            try checkWritable()
            return try values.write(key, octets, over: over)
        case .readValue(let key): return .value(try values.read(key))
        case .describe:
            var engine = LogEngine(name: "folder \(directory)")
            (engine.replicas, engine.synchronization) = (1, .always)
            return .engine(engine)
        }
    }

    /// Puts on the disk what was written, before anybody is told that it was.
    ///
    /// - Returns: whether it is there.
    func synchronize() -> Bool {
        guard failure == nil else { return false }
        do throws(Errno) {
            try batches.synchronize()
            try events.synchronize()
        } catch { failure = "\(directory) could not be put on the disk: \(error)" }
        return failure == nil
    }

    private func checkWritable() throws(LogTrouble) {
        guard lock != nil else { throw .refused("\(directory) was opened to be read") }
        if let failure { throw .unavailable(failure) }
    }

    // What could not be written was not, and is cut off again.
    private func writing<Value>(_ body: () throws(Errno) -> Value) throws(LogTrouble) -> Value {
        do throws(Errno) { return try body() } catch {
            if error == .noSpace { throw .full("\(directory): \(error)") }
            throw .unavailable("\(directory) can't be written in: \(error)")
        }
    }
}
