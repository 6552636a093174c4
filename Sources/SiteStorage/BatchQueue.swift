package import BaseTypes
package import EventLog
package import SiteMonitoring
package import SystemPackage

/// A gateway's batches from when they are cut until a quorum of its site's log has them.
///
/// They are sent in their order, and again under the same key until they are acknowledged. What is not after
/// ``Settings/keepAfter`` goes to the disk, all that waits at once, so that a card is not written every second. Where more
/// waits than may, the oldest go and are counted.
///
/// Whoever drives it has one loop: ``add(_:at:)`` when a batch was cut, ``turn(at:)`` when ``nextDeadline`` has come or the
/// log has something to say. One process at a time uses a folder.
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

    // Where the disk has not taken them, it is asked again so much later.
    private static let diskPause = Duration.seconds(10)

    /// What it counted.
    package private(set) var counts = Counts()
    /// What the log said last that was no acknowledgement; absent since one came.
    package private(set) var logTrouble: LogTrouble?
    /// Why the disk does not take batches, or the folder could not be read at the start; absent since it took some.
    package private(set) var diskTrouble: Errno?

    private let log: any SightingLog
    private let settings: Settings
    private var files: QueueFiles
    // By a number of their own, the oldest first; those that are done with are absent.
    private var entries: [Entry?] = []
    private var firstEntry = 0
    private var tickets: [LogTicket: Int] = [:]
    // The first that may have to be sent, and the first that may be in memory.
    private var nextToSend = 0
    private var nextToKeep = 0
    private var memoryOctets = 0
    private var diskOctets = 0
    // Where a log is back, nobody is to wait for its gateways.
    private var backOff = BackOff(first: .milliseconds(250), most: .seconds(2))
    private var retryAt: Instant?
    private var diskRetryAt: Instant?

    /// What waits in a folder, and is sent from now on.
    ///
    /// A folder that can't be read or made is no reason not to send: what is cut waits in memory, and
    /// ``diskTrouble`` says why.
    ///
    /// - Parameters:
    ///   - settings: how batches are sent.
    ///   - directory: where they are kept; made where it is not there.
    ///   - site: batches in the folder that are for another one go.
    ///   - gateway: batches in the folder that are of another one go; a log would never take them.
    ///   - log: what they go into.
    ///   - files: the machine's.
    ///   - now: by the log's clock.
    package init(
        _ settings: Settings, in directory: FilePath, site: LogName, gateway: LogName, log: any SightingLog,
        files: any FileSystemCalls = SystemFiles(), at now: Instant
    ) {
        self.settings = settings
        self.log = log
        self.files = QueueFiles(directory, fileOctetsMax: settings.fileOctetsMax, files: files)
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
                diskOctets += one.place.count
            }
        } catch { diskTrouble = error }
        nextToKeep = entries.count
        bound(at: now)
    }

    /// How many batches wait to be acknowledged.
    package var waiting: Int { entries.reduce(0) { $0 + ($1 == nil ? 0 : 1) } }
    /// How many octets they have, in memory and on the disk.
    package var octets: Int { memoryOctets + diskOctets }

    /// When ``turn(at:)`` is to be called next, at the latest; absent where nothing waits for a time.
    package var nextDeadline: Instant? {
        [log.nextDeadline, keepDeadline, hasToSend ? retryAt ?? .earliest : nil].compactMap { $0 }.min()
    }

    // MARK: What comes

    /// Takes a batch that was cut.
    package mutating func add(_ batch: CutBatch, at now: Instant) {
        entries.append(
            Entry(key: batch.batch.key, count: batch.octets.count, since: now, place: .memory(batch.octets)))
        memoryOctets += batch.octets.count
        bound(at: now)
        send(at: now)
    }

    /// Takes answers, keeps what has waited for long, and sends.
    package mutating func turn(at now: Instant) {
        for answer in log.answers(at: now) { take(answer, at: now) }
        if let keepDeadline, keepDeadline <= now { keep(at: now) }
        bound(at: now)
        send(at: now)
    }

    /// Keeps all that waits, for the process that comes after this one.
    ///
    /// - Returns: whether all of it is on the disk.
    package mutating func close(at now: Instant) -> Bool {
        for answer in log.answers(at: now) { take(answer, at: now) }
        keep(at: now)
        return memoryOctets == 0
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
            guard let octets = octets(of: entry) else {
                counts.damaged += 1
                remove(number)
                continue
            }
            do throws(LogTrouble) {
                let ticket = try log.send(.append(entry.key, octets), at: now)
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

    private func octets(of entry: Entry) -> [UInt8]? {
        switch entry.place {
        case .memory(let octets): octets
        case .disk(let place): files.batch(at: place)
        }
    }

    private mutating func take(_ answer: LogAnswer, at now: Instant) {
        guard let number = tickets.removeValue(forKey: answer.ticket) else { return }
        switch answer.result {
        case .success:
            (logTrouble, retryAt) = (nil, nil)
            backOff.reset()
            // It may have been dropped meanwhile.
            guard entry(number) != nil else { return }
            counts.acknowledged += 1
            remove(number)
        case .failure(let trouble):
            change(number) { $0.ticket = nil }
            nextToSend = min(nextToSend, number)
            if !isRefused(trouble, number) { pause(trouble, at: now) }
        }
    }

    /// Whether the log will never take that batch, which goes then. All else is tried again: what is not permitted today may be
    /// tomorrow, and no batch is at fault.
    private mutating func isRefused(_ trouble: LogTrouble, _ number: Int) -> Bool {
        guard case .tooBig = trouble else { return false }
        logTrouble = trouble
        if entry(number) != nil {
            counts.refused += 1
            remove(number)
        }
        return true
    }

    private mutating func pause(_ trouble: LogTrouble, at now: Instant) {
        logTrouble = trouble
        // Those that were sent together fail together, which is one failure.
        if retryAt.map({ $0 <= now }) ?? true { retryAt = now + backOff.next() }
    }

    // MARK: Keeping

    /// When what waits in memory is to be on the disk; absent where nothing does.
    private var keepDeadline: Instant? {
        guard memoryOctets > 0, let oldest = firstInMemory else { return nil }
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
            guard let entry = entry(number), case .memory(let octets) = entry.place else { continue }
            numbers.append(number)
            batches.append(octets)
        }
        guard !numbers.isEmpty else { return }
        do throws(Errno) {
            let places = try files.append(batches)
            for (number, place) in zip(numbers, places) { change(number) { $0.place = .disk(place) } }
            memoryOctets -= batches.reduce(0) { $0 + $1.count }
            diskOctets += batches.reduce(0) { $0 + $1.count }
            counts.kept += UInt64(numbers.count)
            nextToKeep = firstEntry + entries.count
            (diskTrouble, diskRetryAt) = (nil, nil)
        } catch {
            diskTrouble = error
            diskRetryAt = now + Self.diskPause
        }
    }

    /// Lets the oldest go where more waits than may: a whole file of them, or one that is in memory. What is too much for the
    /// memory alone goes to the disk before its time, where that takes it.
    private mutating func bound(at now: Instant) {
        if memoryOctets > settings.memoryOctetsMax, diskRetryAt.map({ $0 <= now }) ?? true { keep(at: now) }
        while octets > settings.octetsMax || memoryOctets > settings.memoryOctetsMax {
            let isMemoryFull = memoryOctets > settings.memoryOctetsMax
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
        case .memory: memoryOctets -= entry.count
        case .disk(let place):
            diskOctets -= entry.count
            files.release(place)
        }
        // Those in front that are done with go together, so that each is moved once.
        let done = entries.prefix { $0 == nil }.count
        guard done == entries.count || done > 64 else { return }
        entries.removeFirst(done)
        firstEntry += done
        nextToSend = max(nextToSend, firstEntry)
        nextToKeep = max(nextToKeep, firstEntry)
    }

    // MARK: Counts

    /// How a gateway's batches are sent.
    package struct Settings: Sendable, Hashable {
        /// How long a batch may wait for its acknowledgement in memory alone.
        package var keepAfter = Duration.seconds(10)
        /// How many octets may wait, in memory and on the disk: `queue_size`.
        package var octetsMax = 64 << 20
        /// How many of them in memory: what is more goes to the disk at once, and where that takes none, the oldest go.
        package var memoryOctetsMax = 8 << 20
        /// How big a file becomes before there is a next one. One goes when nothing in it is wanted.
        package var fileOctetsMax = 1 << 20
        /// How many batches are sent before the first of them is acknowledged.
        package var sentMax = 32

        /// Those that a gateway has.
        package init() {}
    }

    /// What a queue counts, from its start on.
    package struct Counts: Sendable, Hashable {
        /// Batches that the log has acknowledged.
        package var acknowledged: UInt64 = 0
        /// Batches that were sent again: no answer came, or none that said that they are there.
        package var repeated: UInt64 = 0
        /// Batches that went unsent, the oldest first, since more waited than may: the gap in their numbers shows it.
        package var dropped: UInt64 = 0
        /// Batches that the log will never take: they are too big, or another site's or gateway's.
        package var refused: UInt64 = 0
        /// Batches that were on the disk and could not be read; and files that ended in something that is no batch.
        package var damaged: UInt64 = 0
        /// Batches that were put on the disk.
        package var kept: UInt64 = 0

        /// All at 0.
        package init() {}
    }

    /// The number that a process's first batch gets: the milliseconds since the machine's start.
    ///
    /// No process sends a thousand batches a second for its whole time, so the one after it begins behind its last, and
    /// nothing has to be written down for that.
    package static func firstSequence(at now: Instant) -> UInt64 { UInt64(max(now.nanoseconds, 0)) / 1_000_000 + 1 }
}
