public import BeaconMonitoring
public import BluetoothLE
import SystemPackage

/// The event files as the journal that they are: what was durably written is what counts (rule N3).
///
/// It belongs to one thread and waits for nothing but the disk. Whoever drives the engine appends its actions, commits
/// at the end of each turn, calls ``advance(to:)`` at ``nextDeadline``, and keeps a snapshot when ``wantsSnapshot`` says
/// so. What can't be written waits in bounded memory and is tried again (rule N5); no call fails for that.
public final class Journal {
    /// Lines that are kept or lost together: an event and the visit that it ends, with its evidence.
    struct Group {
        /// How many octets.
        var size: Int
        var lines: Int
        /// The numbers of its lines: `last` is less than `first` where it has none.
        var first: Int
        var last: Int
        /// What becomes of records once it is durable.
        var updates: [RecordUpdate] = []
        /// Whether a visit may still be added.
        var isOpen = false
    }

    enum RecordUpdate {
        case event(BeaconMonitor.Event, adapter: String)
        case begun(ConditionChange)
        case removed(String)
    }

    /// The segment that lines are written to.
    struct Open {
        var name: String
        var file: FileSystemCalls.Handle
        /// How long it is as far as it is durable.
        var durable: Int
        /// When it will be old enough to be closed.
        var rotateAt: Instant
    }

    static let stateName = "state.json"
    // Lines that wait to be durable are kept in memory too; more of them are put on the disk before their time.
    static let unsynchronizedMax = 1 << 20
    // Lines that are not numbered prove nothing: the disk may have them later.
    static let lazyInterval: Duration = .seconds(60)
    static let retryLast: Duration = .seconds(30)
    // A start reads at most so many lines beyond the snapshot, and what was written since.
    static let snapshotLines = 5000
    /// How many numbers are reserved ahead; renewed by each snapshot that finds fewer than half of them left.
    static let reservation = 10_000
    static let remarksMax = 100
    static let housekeepingInterval: Duration = .seconds(3600)

    /// Where it keeps what.
    public let options: JournalOptions
    /// This start.
    public let boot: BootID
    /// What was found when it was opened.
    public internal(set) var recovery: Recovery

    let files: any FileSystemCalls
    var encoder: LineEncoder
    var buffer = LineBuffer(capacity: 64 << 10)
    var groups: [Group] = []
    /// How many octets of the buffer, and how many groups, stand in the open segment and are not durable.
    var written = 0
    var writtenGroups = 0
    var open: Open?
    /// By their numbers; the last is the open one, where one is.
    var segments: [Segment] = []
    var records: [Identifier: RecordBuilder.StoredRecord] = [:]
    /// Events whose lines had to be dropped: the next snapshot keeps what they said.
    var orphans: [RecordUpdate] = []
    var adapterNames: [UInt16: String] = [:]

    /// The time of the latest call.
    var now: Instant
    /// How far the wall clock is ahead; what files are named by.
    public internal(set) var clockOffset: ClockOffset
    /// Whether the kernel said that the wall clock is set.
    public internal(set) var isClockSynchronized: Bool

    /// When what was written has to be durable.
    var synchronizeAt: Instant?
    var retryAt: Instant?
    var backOff = BackOff(first: .seconds(1), most: retryLast)
    var housekeepAt: Instant
    var snapshotAt: Instant
    var snapshotIsDue = false
    /// Whether one is wanted as soon as lines weigh as much as it does: after a rotation, and after many lines.
    var snapshotIsWished = false
    /// How many octets the last one had, and lines since.
    var snapshotSize = 0
    var octetsSinceSnapshot = 0
    /// `state.json` says so: no line after this number stands anywhere.
    var reserved = 0
    var reserveAt: Instant?
    /// What became of files, not yet said.
    var remarks: [String] = []
    var lastEarlyRemark: Instant?
    var linesSinceSnapshot = 0
    var snapshotSequence: Int
    /// What the last snapshot said, in short.
    var snapshotHash: Int?
    /// Why lines, and why records, can't be kept at present.
    var lineTrouble: String?
    var stateTrouble: String?
    var linkIsStale = false
    var budget: WriteBudget

    /// What it has counted.
    public internal(set) var counters = JournalCounters()
    /// The number of the last line that is durable.
    public internal(set) var durableSequence: Int
    /// The number up to which a publisher is done; only where ``JournalOptions/waitsForShipping`` is set.
    public var shipped = 0
    /// Why lines or records can't be kept at present, for operators.
    public var trouble: String? { lineTrouble ?? stateTrouble }
    /// Whether it is lines that can't be kept, which wait in memory then; `false` where it is records alone.
    public var linesWait: Bool { lineTrouble != nil }

    /// Opens the journal of a gateway: finds out what the one before left, cuts off a torn end, goes on with its numbers.
    ///
    /// - Parameters:
    ///   - options: where it keeps what.
    ///   - boot: this start.
    ///   - now: the timeline's present.
    ///   - clockOffset: how far the wall clock is ahead.
    ///   - isClockSynchronized: whether the kernel says that it has been set.
    ///   - files: the file system.
    /// - Throws: ``EventLogError`` where what is there can't be read, or was written by a newer version: going on would
    ///   use numbers again. That nothing can be written is no error (rule N5).
    public init(
        _ options: JournalOptions, boot: BootID, now: Instant, clockOffset: ClockOffset, isClockSynchronized: Bool,
        files: any FileSystemCalls = SystemFiles()
    ) throws(EventLogError) {
        self.options = options
        self.boot = boot
        self.files = files
        self.now = now
        self.clockOffset = clockOffset
        self.isClockSynchronized = isClockSynchronized
        var found = try Recovery.Finding(options, files)
        recovery = Recovery(found, machine: boot.machine)
        segments = found.segments
        records = found.builder.records
        durableSequence = recovery.sequence
        snapshotSequence = found.stateSequence
        var encoding = LineEncoder.Options(gateway: options.gateway)
        encoding.prefix = options.prefix
        encoding.boot = boot.text
        encoding.envelope = options.envelope
        encoder = LineEncoder(encoding, after: recovery.sequence)
        budget = WriteBudget(start: now)
        housekeepAt = now + Self.housekeepingInterval
        snapshotAt = now + options.snapshotInterval
        linesSinceSnapshot = recovery.linesRead
        snapshotSize = found.stateSize
        reserved = found.goesOn || found.reserved ?? 0 > recovery.sequence ? found.reserved ?? 0 : recovery.sequence
        // It says from when on adapters count as stopped, and spares the next start the lines that this one read.
        snapshotIsDue = true
        continueSegment(found)
        housekeep()
        endTornVisit(&found)
    }

    deinit {
        if let open { files.close(open.file) }
    }

    // MARK: Lines

    /// The number of the last line that was appended.
    public var sequence: Int { encoder.sequence }

    /// Says what lines call an adapter of the engine's; to be said of each before its first line.
    public func name(_ adapter: AdapterID, _ name: String) {
        encoder.name(adapter, name)
        adapterNames[adapter.index] = name
    }

    /// Appends the lines of what an input led to; they count once they are durable.
    public func append(_ actions: ActionBuffer) {
        for action in actions.actions { append(action) }
    }

    /// Appends the same, and beside each exit what it rests on.
    public func append(_ actions: ActionBuffer, evidence recorder: inout EvidenceRecorder) {
        for action in actions.actions {
            append(recorder.evidence(before: action))
            append(action)
            recorder.note(action, number: encoder.sequence)
        }
        append(recorder.evidence(before: nil))
    }

    private func append(_ evidence: Evidence?) {
        guard let evidence else { return }
        let count = buffer.count
        encoder.encode(evidence, into: &buffer)
        if let last = groups.indices.last, last >= writtenGroups, groups[last].last >= evidence.event {
            groups[last].size += buffer.count - count
            groups[last].lines += 1
        } else {
            groups.append(
                Group(size: buffer.count - count, lines: 1, first: encoder.sequence + 1, last: encoder.sequence))
        }
    }

    /// Appends the line of an action, where it has one.
    public func append(_ action: Action) {
        let (count, sequence) = (buffer.count, encoder.sequence)
        encoder.encode(action, into: &buffer)
        guard buffer.count > count else { return }
        if case .visit(let visit) = action, visit.reason.isLeaving, joinsLast(count, sequence) { return }
        groups.append(
            Group(size: buffer.count - count, lines: 1, first: sequence + 1, last: encoder.sequence))
        let last = groups.count - 1
        switch action {
        case .event(let event):
            groups[last].isOpen = event.state == .unsatisfied
            guard event.scope == .condition else { break }
            let adapter = event.sighting.map { encoder.adapterName($0.adapter) } ?? ""
            groups[last].updates.append(.event(event, adapter: adapter))
        case .condition(let change) where change.kind == .removed:
            groups[last].updates.append(.removed(change.identifier))
        case .condition(let change) where change.kind != .changed:
            groups[last].updates.append(.begun(change))
        case .condition, .visit, .adapter, .trackingLimitExceeded: break
        }
    }

    /// Appends the line of what became of the wall clock, whose offset holds from now on.
    public func append(_ change: ClockChange) {
        let (count, sequence) = (buffer.count, encoder.sequence)
        encoder.encode(change, into: &buffer)
        groups.append(Group(size: buffer.count - count, lines: 1, first: sequence + 1, last: encoder.sequence))
        clockOffset = change.after
        isClockSynchronized = change.isSynchronized
    }

    /// Appends the line of who is in view of a condition. It has no number, and does not ask for the disk.
    public func append(_ ranging: Ranging, monitor: String, identifier: String) {
        let count = buffer.count
        encoder.encode(ranging, monitor: monitor, identifier: identifier, into: &buffer)
        groups.append(
            Group(size: buffer.count - count, lines: 1, first: encoder.sequence + 1, last: encoder.sequence))
    }

    /// Adds what was just encoded to the last group, which is an event's that ends a visit.
    private func joinsLast(_ count: Int, _ sequence: Int) -> Bool {
        guard let last = groups.indices.last, last >= writtenGroups, groups[last].isOpen else { return false }
        groups[last].size += buffer.count - count
        groups[last].lines += 1
        groups[last].last = encoder.sequence
        if groups[last].first > groups[last].last { groups[last].first = sequence + 1 }
        groups[last].isOpen = false
        return true
    }

    /// Ends a turn: what was appended is written, and put on the disk as ``JournalOptions/durability`` has it.
    public func commit(at time: Instant) {
        now = max(now, time)
        if let last = groups.indices.last { groups[last].isOpen = false }
        guard !groups.isEmpty || retryAt != nil else { return }
        if let retryAt, now < retryAt { return dropOldest() }
        do throws(Errno) {
            try write()
            try synchronizeIfDue()
            lineTrouble = nil
            retryAt = nil
            backOff.reset()
        } catch {
            fail(error)
        }
    }

    /// When the journal next wants ``advance(to:)``.
    public var nextDeadline: Instant? {
        var next = min(housekeepAt, snapshotAt)
        if let synchronizeAt { next = min(next, synchronizeAt) }
        if let retryAt { next = min(next, retryAt) }
        if let open { next = min(next, open.rotateAt) }
        // While lines can't be kept, nothing else can be done with them.
        return retryAt.map { max(next, min($0, housekeepAt)) } ?? next
    }

    /// Does what is due: puts lines on the disk, tries again what failed, closes what is old, deletes what is too old.
    public func advance(to time: Instant) {
        now = max(now, time)
        commit(at: now)
        if let open, now >= open.rotateAt { rotate() }
        if now >= snapshotAt {
            snapshotIsDue = true
            snapshotAt = now + options.snapshotInterval
        }
        if now >= housekeepAt {
            housekeepAt = now + Self.housekeepingInterval
            housekeep()
        }
    }

    /// Whether lines and records can be kept: where not, events carry `persistenceUnavailable` (rule N5).
    public var isKeeping: Bool { trouble == nil }

    /// What became of event files since this was asked last, for the log, one sentence each; at most 100, the last.
    public func takeRemarks() -> [String] {
        defer { remarks = [] }
        return remarks
    }

    func say(_ remark: String) {
        if remarks.count == Self.remarksMax { remarks.removeFirst() }
        remarks.append(remark)
    }

    /// How many octets of lines wait in memory.
    public var waiting: Int { buffer.count }

    /// What was written, and how often synchronised, in the last 24 hours.
    public func day() -> (bytes: Int, synchronizations: Int) { budget.day(at: now) }

    // MARK: Records

    /// A condition with its last durable event (rule N3).
    public func record(for identifier: Identifier) -> BeaconMonitor.Record? {
        guard let stored = records[identifier] else { return nil }
        var event = stored.event
        if event.sighting != nil, let adapter = adapterNames.first(where: { $0.value == stored.adapter })?.key {
            event.sighting?.adapter = AdapterID(index: Int(adapter))
        }
        return BeaconMonitor.Record(condition: event.condition, lastEvent: event)
    }

    /// The identifiers for which there is a record.
    public var recordIdentifiers: [Identifier] { records.keys.sorted() }

    static func apply(_ update: RecordUpdate, to records: inout [Identifier: RecordBuilder.StoredRecord]) {
        switch update {
        case .event(let event, let adapter):
            records[Identifier(lookup: event.identifier)] = RecordBuilder.StoredRecord(
                event: event, adapter: adapter, isPlaceholder: false)
        case .begun(let change):
            records[Identifier(lookup: change.identifier)] = RecordBuilder.StoredRecord(
                event: BeaconMonitor.Record(beginning: change).lastEvent, adapter: "", isPlaceholder: true)
        case .removed(let identifier): records[Identifier(lookup: identifier)] = nil
        }
    }
}
