public import BaseTypes
public import BeaconMonitoring
import JSON
import SystemPackage

/// The event files as the journal that they are: what was durably written is what counts (rule N3).
///
/// It belongs to one thread and waits for nothing but the disk. Whoever drives the engine appends its actions, commits
/// at the end of each turn, calls ``advance(to:)`` at ``nextDeadline``, and keeps a snapshot when ``wantsSnapshot`` says
/// so. What can't be written waits in bounded memory and is tried again (rule N5); no call fails for that.
public final class Journal {
    // Lines that wait to be durable are kept in memory too; more of them are put on the disk before their time.
    private static let unsynchronizedMax = 1 << 20
    // Lines that are not numbered prove nothing: the disk may have them later.
    private static let lazyInterval: Duration = .seconds(60)
    private static let housekeepingInterval: Duration = .seconds(3600)

    /// Where it keeps its files, how long, and what may be lost.
    public let options: JournalOptions
    /// What tells this start from the others, as lines have it.
    public let boot: BootID
    /// What was found when it was opened.
    public private(set) var recovery: Recovery

    /// How long what could not be written waits at most for the next try.
    static let retryLast: Duration = .seconds(30)

    private var queue: LineQueue
    private var writer: SegmentWriter
    private var shelf: SegmentShelf
    private var records: RecordTable
    private var snapshots: SnapshotKeeper
    private var tally: WriteTally
    private var remarks = RemarkLog()

    /// The time of the latest call.
    private var now: Instant
    /// When what was written has to be durable.
    private var synchronizeAt: Instant?
    private var retryAt: Instant?
    private var backOff = BackOff(first: .seconds(1), most: retryLast)
    private var housekeepAt: Instant
    /// Why lines can't be kept at present.
    private var lineTrouble: String?

    /// How far the wall clock is ahead; what files are named by.
    public private(set) var clockOffset: ClockOffset
    /// Whether the kernel said that the wall clock is set.
    public private(set) var isClockSynchronized: Bool
    /// The number of the last line that is durable.
    public private(set) var durableSequence: Int
    /// The number up to which a publisher is done; only where ``JournalOptions/waitsForShipping`` is set.
    public var shipped = 0

    /// Opens the journal of a gateway over a file system of the caller's, which a test makes fail.
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
        shelf = SegmentShelf(found.segments, options, files)
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

    /// The number of the last line that was appended.
    public var sequence: Int { queue.sequence }

    /// Sets the name that lines have for an adapter that was known before the first action. Later names come with
    /// `Action.adapterNamed`.
    public func name(_ adapter: AdapterID, _ name: String) { queue.name(adapter, name) }

    /// Appends the lines of what an input led to; they count once they are durable.
    public func append(_ actions: ActionBuffer) {
        for action in actions.actions { queue.append(action) }
    }

    /// Appends the same, and beside each exit what it rests on.
    public func append(_ actions: ActionBuffer, evidence recorder: inout EvidenceRecorder) {
        queue.append(actions, evidence: &recorder)
    }

    /// Appends the line of an action, where it has one.
    public func append(_ action: Action) { queue.append(action) }

    /// Appends the line of what became of the wall clock, whose offset holds from now on.
    public func append(_ change: ClockChange) {
        queue.append(change)
        clockOffset = change.after
        isClockSynchronized = change.isSynchronized
    }

    /// Appends the line of a start or a stop of the gateway.
    public func append(_ change: GatewayChange) { queue.append(change) }

    /// Appends the line of who is in view of a condition. It has no number, and does not ask for the disk.
    public func append(_ ranging: Ranging, monitor: String, identifier: String) {
        queue.append(ranging, monitor: monitor, identifier: identifier)
    }

    /// How many octets of lines wait in memory.
    public var waiting: Int { queue.size }
    /// The lines that wait in memory.
    var waitingOctets: [UInt8] { queue.octets }
    // MARK: Time

    /// Ends a turn: what was appended is written, and put on the disk as ``JournalOptions/durability`` has it.
    public func commit(at time: Instant) {
        now = max(now, time)
        queue.endTurn()
        guard !queue.isEmpty || retryAt != nil else { return }
        if let retryAt, now < retryAt { return dropOldest() }
        do throws(Errno) {
            try write()
            let isTime = synchronizeAt.map { $0 <= now } ?? true
            if isTime || queue.written >= Self.unsynchronizedMax { try synchronize() }
            lineTrouble = nil
            retryAt = nil
            backOff.reset()
        } catch {
            fail(error)
        }
    }

    /// When the journal next wants ``advance(to:)``.
    public var nextDeadline: Instant? {
        var next = min(housekeepAt, snapshots.due)
        if let synchronizeAt { next = min(next, synchronizeAt) }
        if let retryAt { next = min(next, retryAt) }
        if let rotateAt = writer.rotateAt { next = min(next, rotateAt) }
        // While lines can't be kept, nothing else can be done with them.
        return retryAt.map { max(next, min($0, housekeepAt)) } ?? next
    }

    /// Does what is due: puts lines on the disk, tries again what failed, closes what is old, deletes what is too old.
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

    /// Whether lines and records can be kept: where not, events carry `persistenceUnavailable` (rule N5).
    public var isKeeping: Bool { trouble == nil }
    /// Why lines or records can't be kept at present, for operators.
    public var trouble: String? { lineTrouble ?? snapshots.trouble }
    /// Whether it is lines that can't be kept, which wait in memory then; `false` where it is records alone.
    public var linesWait: Bool { lineTrouble != nil }
    /// What it has counted since it was opened.
    public var counters: JournalCounters { tally.counters }

    /// What became of event files since this was asked last, for the log, one sentence each; at most 100, the last.
    public func drainRemarks() -> [String] { remarks.removeAll() }

    /// What was written, and how often synchronised, in the last 24 hours.
    public func day() -> (bytes: Int, synchronizations: Int) { tally.day(at: now) }

    /// A condition with its last durable event (rule N3).
    public func record(for identifier: Identifier) -> BeaconMonitor.Record? {
        records.record(for: identifier) { queue.adapter(named: $0) }
    }

    /// The identifiers for which there is a record.
    public var recordIdentifiers: [Identifier] { records.identifiers }

    /// Takes a beacon out of the records, and appends the line that says so.
    private func forgetRecords(_ request: ErasureRequest, refreshed: Set<Identifier>, at now: Instant) {
        records.forget(request, refreshed: refreshed, at: now)
        queue.appendErased(at: now, clockOffset: clockOffset)
    }

    /// The records as a snapshot has them.
    var storedRecords: [Identifier: RecordBuilder.StoredRecord] { records.forSnapshot }

    // MARK: Snapshots

    /// Whether it is time to ``keep(_:at:)`` a snapshot: now and then; after a rotation and after many lines too, but not
    /// before lines weigh as much as the last snapshot did.
    public var wantsSnapshot: Bool { snapshots.isTime && lineTrouble == nil }

    /// Keeps a snapshot of the engine, with all lines durable that led to it.
    ///
    /// A temporary file, synchronised, renamed, the folder synchronised: there is the old one or the new one, whole.
    /// - Returns: whether it is kept; where not, the one before stands, and it is tried again.
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
        // While no segment is open, no number can have been given that no line tells of.
        let isEnd = isClosing || writer.name == nil
        guard snapshots.keep(state, isEnd: isEnd, at: now, &tally) else { return false }
        records.snapshotIsKept()
        return true
    }

    /// Ends the journal: what waits is put on the disk, the snapshot is kept, the files are closed.
    public func close(_ snapshot: MonitorSnapshot?, at time: Instant) {
        now = max(now, time)
        // One last try, whatever failed before.
        retryAt = nil
        writeAll()
        if let snapshot { _ = keep(snapshot, at: now, isClosing: true) }
        writer.close()
    }

    // MARK: How lines get to the disk

    /// Writes what waits and puts it on the disk, whenever that is due.
    private func writeAll() {
        do throws(Errno) {
            try write()
            try synchronize()
        } catch {
            fail(error)
        }
    }

    /// Writes what waits, whole lines only.
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
            try unsafe queue.write { octets, before throws(Errno) in try unsafe writer.write(octets, behind: before) }
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

    /// Puts what was written on the disk: it counts then.
    private func synchronize() throws(Errno) {
        synchronizeAt = nil
        guard queue.written > 0, writer.name != nil else { return }
        try writer.synchronize(queue.written, at: now, &tally)
        shelf.setSize(writer.durable)
        let durable = queue.removeWritten()
        tally.counters.lines += durable.lines
        if let last = durable.last { durableSequence = last }
        snapshots.note(octets: durable.octets, lines: durable.linesWithNumbers)
        records.apply(durable.updates)
    }

    /// Takes a failure in: lines wait, and are tried again.
    ///
    /// What was written before it may be on the disk or not, and the kernel does not try again what it failed to put
    /// there (fsync(2) tells of an error once), so it is written again from where it was durable last.
    private func fail(_ error: Errno) {
        tally.counters.failures += 1
        if queue.written > 0 {
            // Lines that stand whole in the file are worth a try, before the file is closed. Where it was the
            // synchronising that failed, another success would prove nothing.
            do throws(Errno) {
                guard synchronizeAt != nil else { throw .ioError }
                try synchronize()
            } catch {
                queue.rewind()
            }
        }
        synchronizeAt = nil
        lineTrouble = "events can't be written to \(options.directory.string): \(error); they wait in memory"
        retryAt = now + backOff.next()
        writer.suspend()
        dropOldest()
    }

    /// Drops the oldest lines where more wait than memory has room for: a gap in `sequence`, and counted.
    private func dropOldest() {
        let dropped = queue.dropOldest(octetsMax: options.queueSize)
        tally.counters.dropped += dropped.numbered
        tally.counters.droppedUnnumbered += dropped.unnumbered
        records.drop(dropped.updates)
    }

    // MARK: Segments

    /// Goes on with the last segment, its torn end cut off; where it can't be written to, the next line opens another.
    private func continueSegment(_ found: Recovery.Finding) {
        guard found.goesOn, let begun = shelf.lastDate else { return }
        let age = isClockSynchronized ? WallDate(now, offset: clockOffset).duration(since: begun) ?? .zero : .zero
        let left = options.rotateInterval - max(age, .zero)
        do throws(Errno) {
            try writer.goOn(
                with: found.lastName, size: found.size, end: found.end, rotateAt: now + max(left, .zero), at: now,
                &tally)
            shelf.setSize(found.end)
        } catch {
            recovery.remarks.append(
                "\(found.lastName) can't be written to: \(error); the next line starts another file")
        }
    }

    private func beginSegment() throws(Errno) {
        shelf.add(
            try writer.begin(
                first: queue.firstUnwritten, date: WallDate(now, offset: clockOffset),
                rotateAt: now + options.rotateInterval, at: now, &tally))
    }

    /// Lines that are not durable are written to the next segment; those that were are gone, for whoever deletes a file
    /// wants no other to have them.
    private func leaveSegment() {
        guard let name = writer.name else { return }
        let first = shelf.forget(name) ?? 0
        let lost =
            first > 0 && first <= durableSequence ? "; lines \(first) to \(durableSequence) are lost" : ""
        remarks.say(
            "\(name) was deleted, renamed or truncated while it was in use\(lost); the next line starts another file")
        tally.counters.segmentsTakenAway += 1
        writer.close()
        queue.rewind()
        synchronizeAt = nil
    }

    /// Closes the open segment, all of it durable; the next line opens another.
    private func closeSegment() throws(Errno) {
        guard writer.name != nil else { return }
        try synchronize()
        writer.close()
        snapshots.wish()
        housekeepAt = min(housekeepAt, now)
    }

    /// Closes the open segment, as logrotate asks for with SIGUSR1; one that is empty stays.
    public func rotate() {
        guard writer.name != nil, lineTrouble == nil else { return }
        if writer.durable + queue.written == 0 { return writer.rotate(at: now + options.rotateInterval) }
        do throws(Errno) { try closeSegment() } catch { fail(error) }
    }

    /// Deletes closed segments that are too old, or of which all have too much; tries the link again.
    private func housekeep() {
        writer.refreshLink(&tally)
        let present = SegmentShelf.Present(
            now: now, clockOffset: clockOffset, machine: boot.machine, open: writer.name, written: queue.written,
            durable: durableSequence, shipped: shipped, covered: snapshots.sequence)
        shelf.deleteSome(present, &tally, &remarks)
    }

    /// Tells the visit that the last line ended, where the line that should have told it is missing (rule N3).
    private func endTornVisit(_ found: inout Recovery.Finding) {
        guard let (visit, number) = found.endTornVisit(machine: boot.machine, at: now, offset: clockOffset) else {
            return
        }
        recovery.snapshot = found.builder.snapshot(machine: boot.machine)
        // What was shipped has been told.
        guard found.shipped <= number else { return }
        queue.append(.visit(visit))
        recovery.remarks.append(
            "line \(number) is an exit without its visit; line \(sequence) is the visit")
    }

    // MARK: Opening

    /// Opens the journal of a gateway: finds out what the one before left, cuts off a torn end, goes on with its numbers.
    ///
    /// - Parameters:
    ///   - options: where it keeps what.
    ///   - boot: this start.
    ///   - now: the timeline's present.
    ///   - clockOffset: how far the wall clock is ahead.
    ///   - isClockSynchronized: whether the kernel says that it has been set.
    /// - Throws: ``EventLogError`` where what is there can't be read, or was written by a newer version: going on would
    ///   use numbers again. That nothing can be written is no error (rule N5).
    public convenience init(
        _ options: JournalOptions, boot: BootID, now: Instant, clockOffset: ClockOffset, isClockSynchronized: Bool
    ) throws(EventLogError) {
        try self.init(
            options, boot: boot, now: now, clockOffset: clockOffset, isClockSynchronized: isClockSynchronized,
            files: SystemFiles())
    }

    // MARK: Erasing

    /// Closes what was written until now, says in the first line of the next file that something was forgotten, and keeps a
    /// snapshot that knows nothing of it. After that, the closed files can be replaced while the gateway runs. The line is
    /// written now because a start appends to the last file: otherwise a gateway that restarts during the erasure could
    /// append to a file that is about to be replaced.
    ///
    /// - Parameters:
    ///   - request: the beacon, and how much of it.
    ///   - snapshot: the engine's state, without it.
    ///   - refreshed: the conditions that it was the last to refresh.
    ///   - now: the present.
    /// - Returns: the number of the last line in the closed files; `nil` where lines or records can't be kept now.
    package func forget(
        _ request: ErasureRequest, _ snapshot: MonitorSnapshot, refreshed: Set<Identifier>, at now: Instant
    ) -> Int? {
        commit(at: now)
        guard waiting == 0 || !linesWait else { return nil }
        rotate()
        let last = sequence
        forgetRecords(request, refreshed: refreshed, at: now)
        commit(at: now)
        guard isKeeping, keep(snapshot, at: now) else { return nil }
        return last
    }

    // MARK: Recovery

    /// What a journal found when it was opened.
    public struct Recovery: Sendable {
        /// What the engine begins from (rule N4); absent at a first start.
        public var snapshot: MonitorSnapshot?
        /// The number after which numbers go on: the last line's, or one that is greater than all that were given.
        public var sequence: Int
        /// How far the wall clock was ahead when the last line was written, and whether it was known to be set; absent
        /// where the machine was started since, and its timeline is another.
        public var clock: (offset: ClockOffset, isSynchronized: Bool)?
        /// How many lines were read that the snapshot did not have.
        public var linesRead: Int
        /// How many octets of a torn end were cut off.
        public var tornOctets: Int
        /// Lines that could not be made sense of, and were passed over.
        public var damagedLines: Int
        /// What operators should know, one sentence each.
        public var remarks: [String]

        init(_ found: Finding, machine: String) {
            let builder = found.builder
            let isNew = found.isFirstStart
            snapshot = isNew ? nil : builder.snapshot(machine: machine)
            sequence = found.sequence
            let isSameMachine = !isNew && BootID.machine(of: builder.boot) == machine
            clock = isSameMachine ? (builder.offset, builder.isSynchronized ?? false) : nil
            linesRead = found.linesRead
            tornOctets = found.goesOn ? found.size - found.end : 0
            damagedLines = found.damage.lines
            remarks = found.remarks + found.damage.remarks
            if tornOctets > 0 {
                remarks.append("\(tornOctets) bytes of an incomplete line were removed from \(found.lastName)")
            }
        }
    }
}
