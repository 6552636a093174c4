import BaseTypes
import BeaconMonitoring
import JSON
import SystemPackage

/// The lines on their way to the disk: those that wait to be written, and before them those that are in the open
/// segment and not durable yet.
///
/// Lines that belong together (an event and the visit that it ends, with its evidence) become durable, or are dropped,
/// together.
struct LineQueue: ~Copyable {
    private struct Group {
        /// The number of bytes.
        var size: Int
        var lines = 1
        /// The numbers of its lines. `last` is less than `first` if they have none.
        var first: Int
        var last: Int
        /// The changes of records after it is durable.
        var updates: [RecordTable.Update] = []
        /// Whether a visit can still be added.
        var isOpen = false

        var hasNumbers: Bool { last >= first }
    }

    /// Lines that have become durable.
    struct Durable {
        var bytes = 0
        var lines = 0
        /// The number of those lines that a start would read: groups with numbers.
        var linesWithNumbers = 0
        /// The number of the last line; `nil` if none has a number.
        var last: Int?
        var updates: [RecordTable.Update] = []
    }

    /// Lines that were dropped because too many waited.
    struct Dropped {
        /// Lines with a number, which leave a gap in `sequence`.
        var numbered = 0
        var unnumbered = 0
        var updates: [RecordTable.Update] = []
    }

    /// Encodes actions as lines, and numbers them.
    private var encoder: LineEncoder
    private var buffer = LineBuffer(capacity: 64 << 10)
    private var groups: [Group] = []
    /// The number of bytes of the buffer that are in the open segment.
    private(set) var written = 0
    private var writtenGroups = 0

    /// Creates a queue. Its first line has the number after `sequence`.
    init(_ options: JournalOptions, boot: BootID, after sequence: Int) {
        var encoding = LineEncoder.Options(gateway: options.gateway)
        encoding.prefix = options.prefix
        encoding.boot = boot.text
        encoding.envelope = options.envelope
        encoder = LineEncoder(encoding, after: sequence)
    }

    /// The number of the last appended line.
    var sequence: Int { encoder.sequence }
    var isEmpty: Bool { groups.isEmpty }
    /// The number of bytes that are not durable.
    var size: Int { buffer.count }
    /// The bytes that are not durable.
    var bytes: [UInt8] { buffer.bytes }

    /// Sets the name in lines for an adapter of the engine.
    mutating func name(_ adapter: AdapterID, _ name: String) { encoder.name(adapter, name) }

    /// Returns the adapter of the engine that currently has a name in lines.
    func adapter(named name: String) -> AdapterID? { encoder.adapter(named: name) }

    // MARK: Appending

    /// Appends the line of an action, if it has one.
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

    /// Appends the lines of actions, and the evidence of each exit.
    mutating func append(_ actions: ActionBuffer, evidence recorder: inout EvidenceRecorder) {
        for action in actions.actions {
            if let evidence = recorder.evidence(before: action) { append(evidence) }
            append(action)
            recorder.note(action, number: encoder.sequence)
        }
        if let evidence = recorder.evidence(before: nil) { append(evidence) }
    }

    /// Adds the last encoded line to the last group, if that is an event that ends a visit.
    private mutating func joinsLast(_ count: Int, _ sequence: Int) -> Bool {
        guard let last = groups.indices.last, last >= writtenGroups, groups[last].isOpen else { return false }
        groups[last].size += buffer.count - count
        groups[last].lines += 1
        groups[last].last = encoder.sequence
        if groups[last].first > groups[last].last { groups[last].first = sequence + 1 }
        groups[last].isOpen = false
        return true
    }

    /// Appends the evidence of an exit, to the group of its event if that still waits.
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

    /// Appends the line of a change of the wall clock.
    mutating func append(_ change: ClockChange) {
        let (count, sequence) = (buffer.count, encoder.sequence)
        encoder.encode(change, into: &buffer)
        groups.append(Group(size: buffer.count - count, first: sequence + 1, last: encoder.sequence))
    }

    /// Appends the line of a start or stop of the gateway.
    mutating func append(_ change: GatewayChange) {
        let (count, sequence) = (buffer.count, encoder.sequence)
        encoder.encode(change, into: &buffer)
        groups.append(Group(size: buffer.count - count, first: sequence + 1, last: encoder.sequence))
    }

    /// Appends the line about an erasure.
    mutating func appendErased(at time: Instant, clockOffset: ClockOffset) {
        let (count, sequence) = (buffer.count, encoder.sequence)
        encoder.encodeErased(at: time, clockOffset: clockOffset, into: &buffer)
        groups.append(Group(size: buffer.count - count, first: sequence + 1, last: encoder.sequence))
    }

    /// Appends the line with the beacons in range of a condition, which has no number.
    mutating func append(_ ranging: Ranging, monitor: String, identifier: String) {
        let count = buffer.count
        encoder.encode(ranging, monitor: monitor, identifier: identifier, into: &buffer)
        appendUnnumbered(from: count)
    }

    private mutating func appendUnnumbered(from count: Int) {
        groups.append(Group(size: buffer.count - count, first: encoder.sequence + 1, last: encoder.sequence))
    }

    /// Ends a turn of the loop: no more lines belong to those before.
    mutating func endTurn() {
        if let last = groups.indices.last { groups[last].isOpen = false }
    }

    // MARK: Writing

    /// Whether there are lines that are not in the open segment.
    var hasUnwritten: Bool { written < buffer.count }
    /// Whether any of those lines has a number.
    var unwrittenHasNumbers: Bool { groups[writtenGroups...].contains { $0.hasNumbers } }
    /// The number of the first such line, or the number that the next line will have.
    var firstUnwritten: Int { groups[writtenGroups...].first { $0.hasNumbers }?.first ?? encoder.sequence + 1 }

    /// Passes unwritten bytes to `body` until all are written. If it throws, none count as written.
    ///
    /// - Parameter body: receives bytes and the number of bytes before them, and returns how many it wrote.
    /// - Throws: the error of `body`.
    mutating func write(
        _ body: (_ bytes: UnsafeRawBufferPointer, _ before: Int) throws(Errno) -> Int
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

    /// Marks all written lines as unwritten, so that they are written again.
    mutating func rewind() { (written, writtenGroups) = (0, 0) }

    /// Removes all written lines, which are durable now.
    mutating func removeWritten() -> Durable {
        var durable = Durable(bytes: written)
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

    /// Drops the oldest lines until at most `bytesMax` bytes wait. Drops none while lines are in the open segment.
    mutating func dropOldest(bytesMax: Int) -> Dropped {
        var dropped = Dropped()
        guard written == 0 else { return dropped }
        var (bytes, count) = (0, 0)
        while buffer.count - bytes > bytesMax, count < groups.count {
            let group = groups[count]
            let numbered = max(0, group.last - group.first + 1)
            dropped.numbered += numbered
            dropped.unnumbered += group.lines - numbered
            dropped.updates += group.updates
            bytes += group.size
            count += 1
        }
        groups.removeFirst(count)
        buffer.removeFirst(bytes)
        return dropped
    }
}
