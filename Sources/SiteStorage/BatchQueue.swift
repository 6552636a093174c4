package import BaseTypes
package import EventLog
package import SiteMonitoring
package import SystemPackage

/// A gateway's batches, from the time when they are cut until a quorum of the site's log has stored them.
///
/// Batches are sent in their order, and again under the same key until they are acknowledged. If one is not
/// acknowledged within ``Settings/keepAfter``, all waiting batches are written to the disk together, so that an SD card
/// is not written to every second. If more batches wait than allowed, the oldest are dropped and counted.
///
/// One loop must drive a queue: it calls ``add(_:at:)`` when a batch was cut, and ``turn(at:)`` at ``nextDeadline`` and
/// when the log has answers. Two processes must not use one directory at the same time.
package struct BatchQueue {
    private enum Place {
        case memory([UInt8])
        case disk(QueuePlace)
    }

    private struct Entry {
        let key: BatchKey
        let count: Int
        let since: Instant
        var place: Place
        var ticket: LogTicket?
        var wasSent = false
    }

    // The pause before batches are written again if the disk did not accept them.
    private static let diskPause = Duration.seconds(10)

    /// The counts of batches.
    package private(set) var counts = Counts()
    /// The last error of the log; `nil` after an acknowledgement.
    package private(set) var logFailureChange: SiteLogError?
    /// The reason why the disk does not accept batches, or why the directory could not be read at the start; `nil`
    /// after batches were written.
    package private(set) var diskFailure: Errno?

    private let log: any SightingLog
    private let settings: Settings
    private var files: QueueFiles
    // By their own numbers, the oldest first. Entries that are not needed any more are `nil`.
    private var entries: [Entry?] = []
    private var firstEntry = 0
    private var tickets: [LogTicket: Int] = [:]
    // The first entry that may have to be sent, and the first that can be in memory.
    private var nextToSend = 0
    private var nextToKeep = 0
    private var memoryBytes = 0
    private var diskBytes = 0
    // The maximum pause is short, so that a log that is available again need not wait for its gateways.
    private var backOff = BackOff(first: .milliseconds(250), most: .seconds(2))
    private var retryAt: Instant?
    private var diskRetryAt: Instant?

    /// Creates a queue with the batches in a directory, which will be sent again.
    ///
    /// If the directory cannot be read or created, batches are sent all the same. They wait in memory, and
    /// ``diskFailure`` has the reason.
    ///
    /// - Parameters:
    ///   - settings: the limits of the queue.
    ///   - directory: the directory of the batches; created if it does not exist.
    ///   - site: the site. Batches of other sites in the directory are deleted.
    ///   - gateway: the gateway. Batches of other gateways in the directory are deleted, because a log would never
    ///     accept them.
    ///   - log: the log of the site.
    ///   - files: the file system.
    ///   - now: the time by the log's clock.
    package init(
        _ settings: Settings, in directory: FilePath, site: LogName, gateway: LogName, log: any SightingLog,
        files: any FileSystemCalls = SystemFiles(), at now: Instant
    ) {
        self.settings = settings
        self.log = log
        self.files = QueueFiles(directory, fileBytesMax: settings.fileBytesMax, files: files)
        do throws(Errno) {
            let (found, damaged) = try self.files.open()
            counts.damaged += UInt64(damaged)
            for one in found {
                guard one.site == site, one.key.gateway == gateway else {
                    counts.refused += 1
                    self.files.release(one.place)
                    continue
                }
                entries.append(Entry(key: one.key, count: one.place.count, since: now, place: .disk(one.place)))
                diskBytes += one.place.count
            }
        } catch { diskFailure = error }
        nextToKeep = entries.count
        bound(at: now)
    }

    /// The number of batches that wait for an acknowledgement.
    package var waiting: Int { entries.reduce(0) { $0 + ($1 == nil ? 0 : 1) } }
    /// The size of these batches, in memory and on the disk, in bytes.
    package var totalSize: Int { memoryBytes + diskBytes }

    /// The latest time for the next call of ``turn(at:)``; `nil` if nothing waits for a time.
    package var nextDeadline: Instant? {
        [log.nextDeadline, keepDeadline, hasToSend ? retryAt ?? .earliest : nil].compactMap { $0 }.min()
    }

    // MARK: Input

    /// Adds a batch that was cut.
    package mutating func add(_ batch: CutBatch, at now: Instant) {
        entries.append(
            Entry(key: batch.batch.key, count: batch.bytes.count, since: now, place: .memory(batch.bytes)))
        memoryBytes += batch.bytes.count
        bound(at: now)
        send(at: now)
    }

    /// Processes answers, writes batches to the disk if they have waited too long, and sends batches.
    package mutating func turn(at now: Instant) {
        for answer in log.answers(at: now) { take(answer, at: now) }
        if let keepDeadline, keepDeadline <= now { keep(at: now) }
        bound(at: now)
        send(at: now)
    }

    /// Writes all waiting batches to the disk, for the next process.
    ///
    /// - Returns: whether all of them are on the disk.
    package mutating func close(at now: Instant) -> Bool {
        for answer in log.answers(at: now) { take(answer, at: now) }
        keep(at: now)
        return memoryBytes == 0
    }

    // MARK: Sending

    private var hasToSend: Bool { nextToSend < firstEntry + entries.count && tickets.count < settings.sentMax }

    private mutating func send(at now: Instant) {
        if let retryAt, now < retryAt { return }
        retryAt = nil
        while hasToSend {
            let number = nextToSend
            guard let entry = entry(number), entry.ticket == nil else {
                nextToSend += 1
                continue
            }
            guard let bytes = content(of: entry) else {
                counts.damaged += 1
                remove(number)
                continue
            }
            do throws(SiteLogError) {
                let ticket = try log.send(.append(entry.key, bytes), at: now)
                if entry.wasSent { counts.repeated += 1 }
                change(number) { entry in
                    entry.ticket = ticket
                    entry.wasSent = true
                }
                tickets[ticket] = number
                nextToSend += 1
            } catch {
                guard isRefused(error, number) else { return pause(error, at: now) }
            }
        }
    }

    private func content(of entry: Entry) -> [UInt8]? {
        switch entry.place {
        case .memory(let bytes): bytes
        case .disk(let place): files.batch(at: place)
        }
    }

    private mutating func take(_ answer: LogAnswer, at now: Instant) {
        guard let number = tickets.removeValue(forKey: answer.ticket) else { return }
        switch answer.result {
        case .success:
            (logFailureChange, retryAt) = (nil, nil)
            backOff.reset()
            // The batch can have been dropped in the meantime.
            guard entry(number) != nil else { return }
            counts.acknowledged += 1
            remove(number)
        case .failure(let error):
            change(number) { $0.ticket = nil }
            nextToSend = min(nextToSend, number)
            if !isRefused(error, number) { pause(error, at: now) }
        }
    }

    /// Returns whether the log will never accept the batch; then the batch is removed. After all other errors the batch
    /// is sent again. For example, a missing permission can be added later, and is not caused by the batch.
    private mutating func isRefused(_ error: SiteLogError, _ number: Int) -> Bool {
        guard case .tooBig = error else { return false }
        logFailureChange = error
        if entry(number) != nil {
            counts.refused += 1
            remove(number)
        }
        return true
    }

    private mutating func pause(_ error: SiteLogError, at now: Instant) {
        logFailureChange = error
        // Batches that were sent together fail together, which counts as one failure.
        if retryAt.map({ $0 <= now }) ?? true { retryAt = now + backOff.next() }
    }

    // MARK: Writing to the disk

    /// When the batches in memory must be written to the disk; `nil` if there are none.
    private var keepDeadline: Instant? {
        guard memoryBytes > 0, let oldest = firstInMemory else { return nil }
        return max(oldest.since + settings.keepAfter, diskRetryAt ?? .earliest)
    }

    private var firstInMemory: Entry? {
        for number in max(nextToKeep, firstEntry)..<(firstEntry + entries.count) {
            if let entry = entry(number), case .memory = entry.place { return entry }
        }
        return nil
    }

    private mutating func keep(at now: Instant) {
        var numbers: [Int] = []
        var batches: [[UInt8]] = []
        for number in max(nextToKeep, firstEntry)..<(firstEntry + entries.count) {
            guard let entry = entry(number), case .memory(let bytes) = entry.place else { continue }
            numbers.append(number)
            batches.append(bytes)
        }
        guard !numbers.isEmpty else { return }
        do throws(Errno) {
            let places = try files.append(batches)
            for (number, place) in zip(numbers, places) { change(number) { $0.place = .disk(place) } }
            memoryBytes -= batches.reduce(0) { $0 + $1.count }
            diskBytes += batches.reduce(0) { $0 + $1.count }
            counts.kept += UInt64(numbers.count)
            nextToKeep = firstEntry + entries.count
            (diskFailure, diskRetryAt) = (nil, nil)
        } catch {
            diskFailure = error
            diskRetryAt = now + Self.diskPause
        }
    }

    /// Drops the oldest batches if more wait than allowed: a whole file of them, or one in memory. If the memory limit
    /// is exceeded, the batches in memory are first written to the disk early, if the disk accepts them.
    private mutating func bound(at now: Instant) {
        if memoryBytes > settings.memoryBytesMax, diskRetryAt.map({ $0 <= now }) ?? true { keep(at: now) }
        while totalSize > settings.bytesMax || memoryBytes > settings.memoryBytesMax {
            let isMemoryFull = memoryBytes > settings.memoryBytesMax
            if !isMemoryFull, let file = files.oldest {
                for number in numbers(where: { if case .disk(let place) = $0 { place.file == file } else { false } }) {
                    drop(number)
                }
            } else if let number = numbers(where: { if case .memory = $0 { true } else { false } }).first {
                drop(number)
            } else {
                return
            }
        }
    }

    private func numbers(where isMeant: (Place) -> Bool) -> [Int] {
        (firstEntry..<(firstEntry + entries.count)).filter { entry($0).map { isMeant($0.place) } ?? false }
    }

    private mutating func drop(_ number: Int) {
        counts.dropped += 1
        remove(number)
    }

    // MARK: Entries

    private func entry(_ number: Int) -> Entry? {
        let index = number - firstEntry
        return entries.indices.contains(index) ? entries[index] : nil
    }

    private mutating func change(_ number: Int, _ body: (inout Entry) -> Void) {
        let index = number - firstEntry
        guard entries.indices.contains(index), var entry = entries[index] else { return }
        body(&entry)
        entries[index] = entry
    }

    private mutating func remove(_ number: Int) {
        guard let entry = entry(number) else { return }
        entries[number - firstEntry] = nil
        switch entry.place {
        case .memory: memoryBytes -= entry.count
        case .disk(let place):
            diskBytes -= entry.count
            files.release(place)
        }
        // Entries at the front are removed together, so that each remaining one is moved only once.
        let done = entries.prefix { $0 == nil }.count
        guard done == entries.count || done > 64 else { return }
        entries.removeFirst(done)
        firstEntry += done
        nextToSend = max(nextToSend, firstEntry)
        nextToKeep = max(nextToKeep, firstEntry)
    }

    // MARK: Counts

    /// The limits of a queue.
    package struct Settings: Sendable, Hashable {
        /// How long a batch can wait for its acknowledgement in memory only.
        package var keepAfter = Duration.seconds(10)
        /// The maximum size of all waiting batches, in memory and on the disk, in bytes: `queue_size`.
        package var bytesMax = 64 << 20
        /// The maximum size of the batches in memory, in bytes. If it is exceeded, they are written to the disk
        /// immediately. If the disk does not accept them, the oldest are dropped.
        package var memoryBytesMax = 8 << 20
        /// The size of a file in bytes at which a new one is started. A file is deleted when none of its batches is
        /// needed.
        package var fileBytesMax = 1 << 20
        /// The maximum number of batches that are sent and not yet acknowledged.
        package var sentMax = 32

        /// Creates the default settings of a gateway.
        package init() {}
    }

    /// Counts of batches since the queue was created.
    package struct Counts: Sendable, Hashable {
        /// Batches that the log has acknowledged.
        package var acknowledged: UInt64 = 0
        /// Batches that were sent again, because no answer arrived, or an answer was not an acknowledgement.
        package var repeated: UInt64 = 0
        /// Batches that were dropped without being acknowledged, the oldest first, because more waited than allowed.
        /// The gap in their sequence numbers shows this.
        package var dropped: UInt64 = 0
        /// Batches that the log will never accept: they are too large, or belong to another site or gateway.
        package var refused: UInt64 = 0
        /// Batches on the disk that could not be read, and files with data that are not a valid batch.
        package var damaged: UInt64 = 0
        /// Batches that were written to the disk.
        package var kept: UInt64 = 0

        /// Creates counts of 0.
        package init() {}
    }

    /// Returns the sequence number of a process's first batch: the milliseconds since the machine's start, plus 1.
    ///
    /// No process sends a thousand batches per second for its whole runtime. So the first number of the next process is
    /// greater than all earlier ones of this boot (``BatchKey/boot``), and numbers need not be stored on the disk for
    /// that.
    package static func firstSequence(at now: Instant) -> UInt64 { UInt64(max(now.nanoseconds, 0)) / 1_000_000 + 1 }
}
