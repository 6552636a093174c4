public import BaseTypes
public import BeaconMonitoring
import JSON
import SystemPackage

/// The event files as a journal: a line counts when it is durable (rule N3).
///
/// A journal belongs to one thread. Its calls block only for the disk. The program that runs the engine must append its
/// actions, call ``commit(at:)`` at the end of each turn, call ``advance(to:)`` at ``nextDeadline``, and store a
/// snapshot with ``keep(_:at:)`` when ``wantsSnapshot`` is true. Lines that cannot be written wait in bounded memory
/// and are tried again (rule N5); no call fails because of that.
///
///     let options = JournalOptions(directory: events, stateDirectory: state, gateway: try Identifier("lobby"))
///     let journal = try Journal(
///         options, boot: try BootID.current(), now: now, clockOffset: offset, isClockSynchronized: true)
///     journal.append(actions)
///     journal.commit(at: now)
///     if journal.wantsSnapshot { journal.keep(engine.snapshot, at: now) }
///     journal.close(engine.snapshot, at: now)
public final class Journal {
    // Lines that are not durable yet are also in memory. If there are more bytes than this, they are synchronized
    // early.
    private static let unsynchronizedMax = 1 << 20
    // Lines without a number need not be durable soon.
    private static let lazyInterval: Duration = .seconds(60)
    private static let housekeepingInterval: Duration = .seconds(3600)

    /// The folders, the limits and the durability.
    public let options: JournalOptions
    /// The ID of this start, as in lines.
    public let boot: BootID
    /// The result of opening the journal.
    public private(set) var recovery: Recovery

    /// The longest time before a failed write is tried again.
    static let retryLast: Duration = .seconds(30)

    private var queue: LineQueue
    private var writer: SegmentWriter
    private var store: SegmentStore
    private var records: RecordTable
    private var snapshots: SnapshotKeeper
    private var tally: WriteTally
    private var remarks = RemarkLog()

    /// The time of the latest call.
    private var now: Instant
    /// The time by which written lines must be durable.
    private var synchronizeAt: Instant?
    private var retryAt: Instant?
    private var backOff = BackOff(first: .seconds(1), most: retryLast)
    private var housekeepAt: Instant
    /// The reason if lines cannot be written at present.
    private var lineFailure: String?

    /// How far the wall clock is ahead of the timeline, which the names of files use.
    public private(set) var clockOffset: ClockOffset
    /// Whether the kernel reports that the wall clock is synchronized.
    public private(set) var isClockSynchronized: Bool
    /// The number of the last durable line.
    public private(set) var durableSequence: Int
    /// The number up to which the publisher has finished; only if ``JournalOptions/waitsForPublishing`` is set.
    public var publishedSequence = 0

    /// Opens a journal with another file system, for tests.
    package init(
        _ options: JournalOptions, boot: BootID, now: Instant, clockOffset: ClockOffset, isClockSynchronized: Bool,
        files: any FileSystemCalls
    ) throws(EventLogError) {
        self.options = options
        self.boot = boot
        self.now = now
        self.clockOffset = clockOffset
        self.isClockSynchronized = isClockSynchronized
        var found = try Recovery.Finding(options, files)
        recovery = Recovery(found, machine: boot.machine)
        queue = LineQueue(options, boot: boot, after: recovery.sequence)
        writer = SegmentWriter(options.directory, files)
        store = SegmentStore(found.segments, options, files)
        records = RecordTable(found.builder.records)
        snapshots = SnapshotKeeper(found, options, files, at: now)
        tally = WriteTally(start: now)
        durableSequence = recovery.sequence
        housekeepAt = now + Self.housekeepingInterval
        continueSegment(found)
        housekeep()
        endTornVisit(&found)
    }

    // MARK: Lines

    /// The number of the last appended line.
    public var sequence: Int { queue.sequence }

    /// Sets the name in lines for an adapter that was known before the first action. Later names come with
    /// `Action.adapterNamed`.
    public func name(_ adapter: AdapterID, _ name: String) { queue.name(adapter, name) }

    /// Appends the lines of the actions of an input. They count when they are durable.
    public func append(_ actions: ActionBuffer) {
        for action in actions.actions { queue.append(action) }
    }

    /// Appends the lines of actions, and the evidence of each exit.
    public func append(_ actions: ActionBuffer, evidence recorder: inout EvidenceRecorder) {
        queue.append(actions, evidence: &recorder)
    }

    /// Appends the line of an action, if it has one.
    public func append(_ action: Action) { queue.append(action) }

    /// Appends the line of a change of the wall clock. Its offset is used from now on.
    public func append(_ change: ClockChange) {
        queue.append(change)
        clockOffset = change.after
        isClockSynchronized = change.isSynchronized
    }

    /// Appends the line of a start or stop of the gateway.
    public func append(_ change: GatewayChange) { queue.append(change) }

    /// Appends the line with the beacons in range of a condition. It has no number, and need not be durable soon.
    public func append(_ ranging: Ranging, monitor: String, identifier: String) {
        queue.append(ranging, monitor: monitor, identifier: identifier)
    }

    /// The number of bytes of lines that wait in memory.
    public var waiting: Int { queue.size }
    /// The lines that wait in memory.
    var waitingBytes: [UInt8] { queue.bytes }
    // MARK: Time

    /// Ends a turn: writes the appended lines, and synchronizes them as ``JournalOptions/durability`` requires.
    public func commit(at time: Instant) {
        now = max(now, time)
        queue.endTurn()
        guard !queue.isEmpty || retryAt != nil else { return }
        if let retryAt, now < retryAt { return dropOldest() }
        do throws(Errno) {
            try write()
            let isTime = synchronizeAt.map { $0 <= now } ?? true
            if isTime || queue.written >= Self.unsynchronizedMax { try synchronize() }
            lineFailure = nil
            retryAt = nil
            backOff.reset()
        } catch {
            fail(error)
        }
    }

    /// The next time at which ``advance(to:)`` must be called.
    public var nextDeadline: Instant? {
        var next = min(housekeepAt, snapshots.due)
        if let synchronizeAt { next = min(next, synchronizeAt) }
        if let retryAt { next = min(next, retryAt) }
        if let rotateAt = writer.rotateAt { next = min(next, rotateAt) }
        // While lines cannot be written, rotation and snapshots wait for the next attempt. Deletion of old files does
        // not.
        return retryAt.map { max(next, min($0, housekeepAt)) } ?? next
    }

    /// Does everything that is due: synchronizes lines, tries failed writes again, closes the open file if it is old
    /// enough, and deletes files by retention.
    public func advance(to time: Instant) {
        now = max(now, time)
        commit(at: now)
        if let rotateAt = writer.rotateAt, now >= rotateAt { rotate() }
        snapshots.advance(to: now)
        if now >= housekeepAt {
            housekeepAt = now + Self.housekeepingInterval
            housekeep()
        }
    }

    // MARK: State

    /// Whether lines and records can be stored. If not, events must have `persistenceUnavailable` (rule N5).
    public var isStoring: Bool { failure == nil }
    /// The reason if lines or records cannot be stored at present, for operators.
    public var failure: String? { lineFailure ?? snapshots.failure }
    /// Whether lines cannot be stored and wait in memory; `false` if only records are affected.
    public var linesWait: Bool { lineFailure != nil }
    /// The counters since the journal was opened.
    public var counters: JournalCounters { tally.counters }

    /// Returns and removes the remarks about event files since the last call, for the log: at most 100, the latest.
    public func drainRemarks() -> [String] { remarks.removeAll() }

    /// Returns the numbers of written bytes and of synchronizations in the last 24 hours.
    public func day() -> (bytes: Int, synchronizations: Int) { tally.day(at: now) }

    /// Returns a condition with its last durable event (rule N3).
    public func record(for identifier: Identifier) -> BeaconMonitor.Record? {
        records.record(for: identifier) { queue.adapter(named: $0) }
    }

    /// The identifiers of the conditions with a record.
    public var recordIdentifiers: [Identifier] { records.identifiers }

    /// Removes a beacon from the records, and appends a line about the erasure.
    private func forgetRecords(_ request: ErasureRequest, refreshed: Set<Identifier>, at now: Instant) {
        records.forget(request, refreshed: refreshed, at: now)
        queue.appendErased(at: now, clockOffset: clockOffset)
    }

    /// The records in the form of a snapshot.
    var storedRecords: [Identifier: RecordBuilder.StoredRecord] { records.forSnapshot }

    // MARK: Snapshots

    /// Whether a snapshot should be stored with ``keep(_:at:)``: at regular intervals, after a segment was closed, and
    /// after many lines. In the last two cases, not before the lines are as large as the last snapshot.
    public var wantsSnapshot: Bool { snapshots.isTime && lineFailure == nil }

    /// Stores a snapshot of the engine. All lines before it are durable.
    ///
    /// It writes a temporary file, synchronizes and renames it, and synchronizes the folder. The file is the old one or
    /// the new one, complete.
    /// - Returns: whether it is stored. If not, the previous one remains, and it is tried again.
    @discardableResult public func keep(_ snapshot: MonitorSnapshot, at time: Instant) -> Bool {
        keep(snapshot, at: time, isClosing: false)
    }

    private func keep(_ snapshot: MonitorSnapshot, at time: Instant, isClosing: Bool) -> Bool {
        now = max(now, time)
        snapshots.begin()
        if retryAt == nil, !queue.isEmpty { writeAll() }
        guard queue.isEmpty else { return false }
        var state = StateFile()
        state.sequence = queue.sequence
        state.boot = boot.text
        state.offset = clockOffset
        state.isSynchronized = isClockSynchronized
        state.snapshot = snapshot
        state.records = records.forSnapshot
        // Without an open segment, no number can have been used that is not in a line.
        let isEnd = isClosing || writer.name == nil
        guard snapshots.keep(state, isEnd: isEnd, at: now, &tally) else { return false }
        records.noteSnapshotStored()
        return true
    }

    /// Ends the journal: synchronizes waiting lines, stores the snapshot, and closes the files.
    public func close(_ snapshot: MonitorSnapshot?, at time: Instant) {
        now = max(now, time)
        // One last attempt, even if an earlier one failed.
        retryAt = nil
        writeAll()
        if let snapshot { _ = keep(snapshot, at: now, isClosing: true) }
        writer.close()
    }

    // MARK: Writing

    /// Writes and synchronizes all waiting lines, even if they are not due.
    private func writeAll() {
        do throws(Errno) {
            try write()
            try synchronize()
        } catch {
            fail(error)
        }
    }

    /// Writes waiting lines, only whole ones.
    private func write() throws(Errno) {
        if try !writer.resume() { leaveSegment() }
        guard queue.hasUnwritten else { return }
        if try writer.isTakenAway() { leaveSegment() }
        let isFull = writer.durable + queue.size > options.rotateSize
        if writer.name != nil, writer.durable + queue.written > 0, isFull { try closeSegment() }
        if writer.name == nil { try beginSegment() }
        snapshots.reserve(for: queue.sequence, at: now, &tally)
        let (start, size) = (queue.written, queue.size)
        let hasNumbers = queue.unwrittenHasNumbers
        do throws(Errno) {
            try unsafe queue.write { bytes, before throws(Errno) in try unsafe writer.write(bytes, behind: before) }
        } catch {
            writer.cut(behind: start)
            throw error
        }
        tally.note(bytes: size - start, at: now)
        let wait: Duration =
            switch options.durability {
            case _ where !hasNumbers: Self.lazyInterval
            case .event: .zero
            case .every(let interval): interval
            }
        synchronizeAt = min(synchronizeAt ?? .latest, now + wait)
    }

    /// Synchronizes the written lines, which count from then on.
    private func synchronize() throws(Errno) {
        synchronizeAt = nil
        guard queue.written > 0, writer.name != nil else { return }
        try writer.synchronize(queue.written, at: now, &tally)
        store.setSize(writer.durable)
        let durable = queue.removeWritten()
        tally.counters.lines += durable.lines
        if let last = durable.last { durableSequence = last }
        snapshots.note(bytes: durable.bytes, lines: durable.linesWithNumbers)
        records.apply(durable.updates)
    }

    /// Handles an error: lines wait and are tried again.
    ///
    /// Lines that were written before may or may not be on the disk. The kernel does not retry a failed
    /// synchronization, and fsync(2) reports an error only once. So all lines after the last durable one are written
    /// again.
    private func fail(_ error: Errno) {
        tally.counters.failures += 1
        if queue.written > 0 {
            // Complete lines in the file are synchronized before it is closed. If synchronizing itself failed, a later
            // success would prove nothing.
            do throws(Errno) {
                guard synchronizeAt != nil else { throw .ioError }
                try synchronize()
            } catch {
                queue.rewind()
            }
        }
        synchronizeAt = nil
        lineFailure = "events can't be written to \(options.directory.string): \(error); they wait in memory"
        retryAt = now + backOff.next()
        writer.suspend()
        dropOldest()
    }

    /// Drops the oldest lines if more wait than the limit. This is a gap in `sequence`, and counted.
    private func dropOldest() {
        let dropped = queue.dropOldest(bytesMax: options.queueSize)
        tally.counters.dropped += dropped.numbered
        tally.counters.droppedUnnumbered += dropped.unnumbered
        records.drop(dropped.updates)
    }

    // MARK: Segments

    /// Continues the last segment after removing its incomplete end. If it cannot be written, the next line starts a
    /// new one.
    private func continueSegment(_ found: Recovery.Finding) {
        guard found.continuesLastSegment, let begun = store.lastDate else { return }
        let age = isClockSynchronized ? WallDate(now, offset: clockOffset).duration(since: begun) ?? .zero : .zero
        let left = options.rotateInterval - max(age, .zero)
        do throws(Errno) {
            try writer.resume(
                with: found.lastName, size: found.size, end: found.end, rotateAt: now + max(left, .zero), at: now,
                &tally)
            store.setSize(found.end)
        } catch {
            recovery.remarks.append(
                "\(found.lastName) can't be written to: \(error); the next line starts another file")
        }
    }

    private func beginSegment() throws(Errno) {
        store.add(
            try writer.begin(
                first: queue.firstUnwritten, date: WallDate(now, offset: clockOffset),
                rotateAt: now + options.rotateInterval, at: now, &tally))
    }

    /// Writes lines that are not durable to a new segment. Durable lines of the deleted file are lost, because a
    /// program that deletes a file may want that.
    private func leaveSegment() {
        guard let name = writer.name else { return }
        let first = store.forget(name) ?? 0
        let lost =
            first > 0 && first <= durableSequence ? "; lines \(first) to \(durableSequence) are lost" : ""
        remarks.say(
            "\(name) was deleted, renamed or truncated while it was in use\(lost); the next line starts another file")
        tally.counters.segmentsTakenAway += 1
        writer.close()
        queue.rewind()
        synchronizeAt = nil
    }

    /// Closes the open segment after synchronizing it. The next line starts a new one.
    private func closeSegment() throws(Errno) {
        guard writer.name != nil else { return }
        try synchronize()
        writer.close()
        snapshots.requestSnapshot()
        housekeepAt = min(housekeepAt, now)
    }

    /// Closes the open segment, as logrotate requests with SIGUSR1. An empty one stays open.
    public func rotate() {
        guard writer.name != nil, lineFailure == nil else { return }
        if writer.durable + queue.written == 0 { return writer.rotate(at: now + options.rotateInterval) }
        do throws(Errno) { try closeSegment() } catch { fail(error) }
    }

    /// Deletes closed segments that are too old, or because the total size is too large. Retries the symbolic link.
    private func housekeep() {
        writer.refreshLink(&tally)
        let present = SegmentStore.Present(
            now: now, clockOffset: clockOffset, machine: boot.machine, open: writer.name, written: queue.written,
            durable: durableSequence, publishedSequence: publishedSequence, covered: snapshots.sequence)
        store.deleteSome(present, &tally, &remarks)
    }

    /// Appends the line of the visit that the last line ended, if that line is missing (rule N3).
    private func endTornVisit(_ found: inout Recovery.Finding) {
        guard let (visit, number) = found.endTornVisit(machine: boot.machine, at: now, offset: clockOffset) else {
            return
        }
        recovery.snapshot = found.builder.snapshot(machine: boot.machine)
        // Published lines already include the visit.
        guard found.publishedSequence <= number else { return }
        queue.append(.visit(visit))
        recovery.remarks.append(
            "line \(number) is an exit without its visit; line \(sequence) is the visit")
    }

    // MARK: Opening

    /// Opens the journal of a gateway: reads the state of the last run, removes an incomplete line at the end, and
    /// continues its numbers.
    ///
    /// - Parameters:
    ///   - options: the folders, the limits and the durability.
    ///   - boot: the ID of this start.
    ///   - now: the current time on the timeline.
    ///   - clockOffset: how far the wall clock is ahead of the timeline.
    ///   - isClockSynchronized: whether the kernel reports that the wall clock is synchronized.
    /// - Throws: ``EventLogError`` if the existing files cannot be read, or were written by a later version, because
    ///   numbers could be used twice. A disk that cannot be written is not an error (rule N5).
    public convenience init(
        _ options: JournalOptions, boot: BootID, now: Instant, clockOffset: ClockOffset, isClockSynchronized: Bool
    ) throws(EventLogError) {
        try self.init(
            options, boot: boot, now: now, clockOffset: clockOffset, isClockSynchronized: isClockSynchronized,
            files: SystemFiles())
    }

    // MARK: Erasing

    /// Prepares the erasure of a beacon: closes the open file, appends a line about the erasure to the next file, and
    /// stores a snapshot without the beacon. After that, the closed files can be replaced while the gateway runs. The
    /// line is necessary because a start appends to the last file: otherwise a gateway that restarts during the erasure
    /// could append to a file that is about to be replaced.
    ///
    /// - Parameters:
    ///   - request: the beacon and the date limit.
    ///   - snapshot: the state of the engine, without the beacon.
    ///   - refreshed: the conditions whose last refresh was of the beacon.
    ///   - now: the current time.
    /// - Returns: the number of the last line in the closed files; `nil` if lines or records cannot be stored now.
    package func forget(
        _ request: ErasureRequest, _ snapshot: MonitorSnapshot, refreshed: Set<Identifier>, at now: Instant
    ) -> Int? {
        commit(at: now)
        guard waiting == 0 || !linesWait else { return nil }
        rotate()
        let last = sequence
        forgetRecords(request, refreshed: refreshed, at: now)
        commit(at: now)
        guard isStoring, keep(snapshot, at: now) else { return nil }
        return last
    }

    // MARK: Recovery

    /// The result of opening a journal.
    public struct Recovery: Sendable {
        /// The state with which the engine starts (rule N4); `nil` at a first start.
        public var snapshot: MonitorSnapshot?
        /// The number after which numbers continue: that of the last line, or one that is greater than all that were
        /// used.
        public var sequence: Int
        /// How far the wall clock is ahead of the timeline in the last line, and whether it was known to be
        /// synchronized. `nil` if the machine has restarted since then, because its timeline is another one.
        public var clock: (offset: ClockOffset, isSynchronized: Bool)?
        /// The number of lines after the snapshot that were read.
        public var linesRead: Int
        /// The number of bytes of an incomplete line that were removed.
        public var tornBytes: Int
        /// The number of invalid lines, which were skipped.
        public var damagedLines: Int
        /// Remarks for operators.
        public var remarks: [String]

        init(_ found: Finding, machine: String) {
            let builder = found.builder
            let isNew = found.isFirstStart
            snapshot = isNew ? nil : builder.snapshot(machine: machine)
            sequence = found.sequence
            let isSameMachine = !isNew && BootID.machine(of: builder.boot) == machine
            clock = isSameMachine ? (builder.offset, builder.isSynchronized ?? false) : nil
            linesRead = found.linesRead
            tornBytes = found.continuesLastSegment ? found.size - found.end : 0
            damagedLines = found.damage.lines
            remarks = found.remarks + found.damage.remarks
            if tornBytes > 0 {
                remarks.append("\(tornBytes) bytes of an incomplete line were removed from \(found.lastName)")
            }
        }
    }
}
