import BaseTypes
import BeaconMonitoring
import JSON
import SystemPackage

/// Lines on their way to the disk: those that wait to be written, and before them those that stand in the open segment
/// and are not durable yet.
///
/// What belongs together (an event and the visit that it ends, with its evidence) becomes durable, or is dropped, together.
struct LineQueue: ~Copyable {
    private struct Group {
        /// How many octets.
        var size: Int
        var lines = 1
        /// The numbers of its lines: `last` is less than `first` where it has none.
        var first: Int
        var last: Int
        /// What becomes of records once it is durable.
        var updates: [RecordTable.Update] = []
        /// Whether a visit may still be added.
        var isOpen = false

        var hasNumbers: Bool { last >= first }
    }

    /// Lines that have become durable.
    struct Durable {
        var octets = 0
        var lines = 0
        /// Those among them that a start would read: what stands with a number.
        var linesWithNumbers = 0
        /// The number of the last of them; absent where none has one.
        var last: Int?
        var updates: [RecordTable.Update] = []
    }

    /// Lines that were given up because too many waited.
    struct Dropped {
        /// Lines with a number: a gap in `sequence`.
        var numbered = 0
        var unnumbered = 0
        var updates: [RecordTable.Update] = []
    }

    /// What turns actions into lines, and numbers them.
    private var encoder: LineEncoder
    private var buffer = LineBuffer(capacity: 64 << 10)
    private var groups: [Group] = []
    /// How many octets of the buffer stand in the open segment.
    private(set) var written = 0
    private var writtenGroups = 0

    /// A queue whose first line has the number after `sequence`.
    init(_ options: JournalOptions, boot: BootID, after sequence: Int) {
        var encoding = LineEncoder.Options(gateway: options.gateway)
        encoding.prefix = options.prefix
        encoding.boot = boot.text
        encoding.envelope = options.envelope
        encoder = LineEncoder(encoding, after: sequence)
    }

    /// The number of the last line that was appended.
    var sequence: Int { encoder.sequence }
    var isEmpty: Bool { groups.isEmpty }
    /// How many octets are not durable.
    var size: Int { buffer.count }
    /// All that is not durable.
    var octets: [UInt8] { buffer.bytes }

    /// Sets the name that lines have for an adapter of the engine.
    mutating func name(_ adapter: AdapterID, _ name: String) { encoder.name(adapter, name) }

    /// The adapter of the engine that has a name in lines now.
    func adapter(named name: String) -> AdapterID? { encoder.adapter(named: name) }

    // MARK: Appending

    /// Appends the line of an action, where it has one.
    mutating func append(_ action: Action) {
        let (count, sequence) = (buffer.count, encoder.sequence)
        encoder.encode(action, into: &buffer)
        guard buffer.count > count else { return }
        if case .visit(let visit) = action, visit.reason.isLeaving, joinsLast(count, sequence) { return }
        var group = Group(size: buffer.count - count, first: sequence + 1, last: encoder.sequence)
        switch action {
        case .event(let event):
            group.isOpen = event.state == .unsatisfied
            guard event.scope == .condition else { break }
            let adapter = event.sighting.map { encoder.adapterName($0.adapter) } ?? ""
            group.updates.append(.event(event, adapter: adapter))
        case .condition(let change) where change.kind == .removed:
            group.updates.append(.removed(change.identifier))
        case .condition(let change) where change.kind != .changed:
            group.updates.append(.begun(change))
        case .condition, .visit, .adapter, .adapterNamed, .trackingLimitExceeded: break
        }
        groups.append(group)
    }

    /// Appends the lines of actions, and beside each exit what it rests on.
    mutating func append(_ actions: ActionBuffer, evidence recorder: inout EvidenceRecorder) {
        for action in actions.actions {
            if let evidence = recorder.evidence(before: action) { append(evidence) }
            append(action)
            recorder.note(action, number: encoder.sequence)
        }
        if let evidence = recorder.evidence(before: nil) { append(evidence) }
    }

    /// Adds what was just encoded to the last group, which is an event's that ends a visit.
    private mutating func joinsLast(_ count: Int, _ sequence: Int) -> Bool {
        guard let last = groups.indices.last, last >= writtenGroups, groups[last].isOpen else { return false }
        groups[last].size += buffer.count - count
        groups[last].lines += 1
        groups[last].last = encoder.sequence
        if groups[last].first > groups[last].last { groups[last].first = sequence + 1 }
        groups[last].isOpen = false
        return true
    }

    /// Appends what an exit rests on, to its event where that waits too.
    mutating func append(_ evidence: Evidence) {
        let count = buffer.count
        encoder.encode(evidence, into: &buffer)
        if let last = groups.indices.last, last >= writtenGroups, groups[last].last >= evidence.event {
            groups[last].size += buffer.count - count
            groups[last].lines += 1
        } else {
            appendUnnumbered(from: count)
        }
    }

    /// Appends the line of what became of the wall clock.
    mutating func append(_ change: ClockChange) {
        let (count, sequence) = (buffer.count, encoder.sequence)
        encoder.encode(change, into: &buffer)
        groups.append(Group(size: buffer.count - count, first: sequence + 1, last: encoder.sequence))
    }

    /// Appends the line of a start or a stop of the gateway.
    mutating func append(_ change: GatewayChange) {
        let (count, sequence) = (buffer.count, encoder.sequence)
        encoder.encode(change, into: &buffer)
        groups.append(Group(size: buffer.count - count, first: sequence + 1, last: encoder.sequence))
    }

    /// Appends the line that says that something was forgotten.
    mutating func appendErased(at time: Instant, clockOffset: ClockOffset) {
        let (count, sequence) = (buffer.count, encoder.sequence)
        encoder.encodeErased(at: time, clockOffset: clockOffset, into: &buffer)
        groups.append(Group(size: buffer.count - count, first: sequence + 1, last: encoder.sequence))
    }

    /// Appends the line of who is in view of a condition, which has no number.
    mutating func append(_ ranging: Ranging, monitor: String, identifier: String) {
        let count = buffer.count
        encoder.encode(ranging, monitor: monitor, identifier: identifier, into: &buffer)
        appendUnnumbered(from: count)
    }

    private mutating func appendUnnumbered(from count: Int) {
        groups.append(Group(size: buffer.count - count, first: encoder.sequence + 1, last: encoder.sequence))
    }

    /// Nothing more belongs to the lines before: a turn of the loop has ended.
    mutating func endTurn() {
        if let last = groups.indices.last { groups[last].isOpen = false }
    }

    // MARK: Writing

    /// Whether there is something that does not stand in the open segment.
    var hasUnwritten: Bool { written < buffer.count }
    /// Whether any of that has a number.
    var unwrittenHasNumbers: Bool { groups[writtenGroups...].contains { $0.hasNumbers } }
    /// The number of the first such line, or the one that the next will have.
    var firstUnwritten: Int { groups[writtenGroups...].first { $0.hasNumbers }?.first ?? encoder.sequence + 1 }

    /// Hands what is unwritten to `body`, again and again from where it stopped; all of it is written then, or none.
    ///
    /// - Parameter body: is given octets and how many stand before them; gives how many it wrote.
    /// - Throws: what `body` throws.
    mutating func write(
        _ body: (_ octets: UnsafeRawBufferPointer, _ before: Int) throws(Errno) -> Int
    ) throws(Errno) {
        var end = written
        while end < buffer.count {
            let from = end
            let count = try unsafe buffer.withBytes { bytes throws(Errno) in
                try unsafe body(UnsafeRawBufferPointer(rebasing: bytes[from...]), from)
            }
            end += min(count, buffer.count - from)
        }
        written = end
        writtenGroups = groups.count
    }

    /// What was written does not count: it is written again.
    mutating func rewind() { (written, writtenGroups) = (0, 0) }

    /// All that was written is durable, and leaves the queue.
    mutating func removeWritten() -> Durable {
        var durable = Durable(octets: written)
        for group in groups[..<writtenGroups] {
            durable.lines += group.lines
            if group.hasNumbers {
                durable.last = group.last
                durable.linesWithNumbers += group.lines
            }
            durable.updates += group.updates
        }
        groups.removeFirst(writtenGroups)
        buffer.removeFirst(written)
        rewind()
        return durable
    }

    /// Drops the oldest lines until no more than `octetsMax` wait; none while some stand in the open segment.
    mutating func dropOldest(octetsMax: Int) -> Dropped {
        var dropped = Dropped()
        guard written == 0 else { return dropped }
        var (octets, count) = (0, 0)
        while buffer.count - octets > octetsMax, count < groups.count {
            let group = groups[count]
            let numbered = max(0, group.last - group.first + 1)
            dropped.numbered += numbered
            dropped.unnumbered += group.lines - numbered
            dropped.updates += group.updates
            octets += group.size
            count += 1
        }
        groups.removeFirst(count)
        buffer.removeFirst(octets)
        return dropped
    }
}
