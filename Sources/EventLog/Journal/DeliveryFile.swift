import BaseTypes
import BeaconMonitoring
import JSON
import SystemPackage

/// Stores the events of a monitor that its subscribers have not handled, and the last handled event of each condition,
/// in a file next to the event files (rule N3).
///
/// Each line has one of five forms:
/// - `{"payload":…}`: an event that has not been handled, as in event files;
/// - `{"record":true,"payload":…}`: the last handled event of a condition, or its placeholder;
/// - `{"handled":[…]}`: the numbers of events that were handled;
/// - `{"forgotten":[…]}`: the numbers of events that newer ones replaced;
/// - `{"removed":"…"}`: a condition whose record was deleted.
///
/// Lines are appended. The file is rewritten at each start, and when it has grown to twice its size after the last
/// rewrite, because most lines are outdated then.
final class DeliveryFile {
    /// An event on the timeline of the start in which it was made.
    private struct Entry {
        var stored: StoredEvent
        /// The name of the adapter that received its sighting.
        var adapter: String
        var boot: String
    }

    static let fileName = "deliveries.jsonl"
    // A smaller file is not rewritten after the start, except after an error.
    private static let compactMin = 256 << 10

    private let path: FilePath
    private let files: any FileSystemCalls
    private let monitor: Identifier
    private let boot: BootID
    private let offset: ClockOffset
    private var unhandled: [Int: Entry] = [:]
    private var records: [Identifier: Entry] = [:]
    private var file: FileSystemCalls.Handle?
    private var size = 0
    private var rewrittenSize = 0
    private var buffer = LineBuffer(capacity: 4096)
    /// The number of invalid lines, which were skipped.
    private(set) var damagedLines = 0
    /// The reason if the file cannot be written. The data are in memory and are written with the next attempt.
    private(set) var failure: String?
    private var isSealed = false

    /// Reads the file. If there is none, the records are those of the event files.
    ///
    /// - Throws: ``EventLogError/readFailed(_:_:)``.
    init(
        _ path: FilePath, of monitor: Identifier, boot: BootID, clockOffset: ClockOffset,
        records stored: [Identifier: RecordBuilder.StoredRecord], files: any FileSystemCalls = SystemFiles()
    ) throws(EventLogError) {
        self.path = path
        self.files = files
        self.monitor = monitor
        self.boot = boot
        offset = clockOffset
        for (identifier, record) in stored {
            records[identifier] = Entry(
                stored: StoredEvent(number: 1, event: record.event), adapter: record.adapter,
                boot: boot.text)
        }
        do throws(Errno) {
            try read()
        } catch {
            guard error == .noSuchFileOrDirectory else { throw .readFailed(path.string, error) }
        }
        rewrite()
    }

    deinit {
        if let file { files.close(file) }
    }

    // MARK: Content

    /// Returns the events that have not been handled, in order, on the current timeline.
    func unhandledEvents(_ adapters: [String: AdapterID]) -> [StoredEvent] {
        unhandled.sorted { $0.key < $1.key }.map { present($0.value, adapters) }
    }

    /// Returns the last handled event of a condition, on the current timeline.
    func lastHandled(of identifier: Identifier, _ adapters: [String: AdapterID]) -> StoredEvent? {
        records[identifier].map { present($0, adapters) }
    }

    private func present(_ entry: Entry, _ adapters: [String: AdapterID]) -> StoredEvent {
        var stored = entry.stored
        if BootID.machine(of: entry.boot) != boot.machine {
            // After a restart of the machine, the date stays the same.
            let shift = stored.event.clockOffset.nanoseconds &- offset.nanoseconds
            func moved(_ instant: Instant) -> Instant { Instant(remembered: instant.nanoseconds &+ shift) }
            stored.event.time = moved(stored.event.time)
            stored.event.lastSeen = stored.event.lastSeen.map(moved)
            stored.event.clockOffset = offset
            if let time = stored.event.sighting?.time { stored.event.sighting?.time = moved(time) }
        }
        stored.event.sighting?.adapter = adapters[entry.adapter] ?? AdapterID(index: 0)
        return stored
    }

    // MARK: Changes

    /// Stores events that have not been handled, and changes of records. They are durable on return, unless ``failure``
    /// has a reason.
    func keep(_ actions: ActionBuffer, events: [StoredEvent], adapterName: (AdapterID) -> String) {
        for case .condition(let change) in actions.actions where change.kind == .removed {
            records[Identifier(lookup: change.identifier)] = nil
            line { $0.write("removed", change.identifier) }
        }
        for stored in events {
            let adapter = stored.event.sighting.map { adapterName($0.adapter) } ?? ""
            let entry = Entry(stored: stored, adapter: adapter, boot: boot.text)
            if stored.isPlaceholder {
                records[Identifier(lookup: stored.event.identifier)] = entry
            } else {
                unhandled[stored.number] = entry
            }
            append(entry, isRecord: stored.isPlaceholder)
        }
        flush(durably: true)
    }

    /// Records that events were handled. It does not wait for the disk: an event whose mark is lost is delivered again.
    func handled(_ numbers: [Int]) {
        for number in numbers { handled(number) }
        append("handled", numbers)
    }

    /// Discards events that no subscriber has handled. They do not become records.
    func forget(_ numbers: [Int]) {
        for number in numbers { unhandled[number] = nil }
        append("forgotten", numbers)
    }

    private func append(_ key: StaticString, _ numbers: [Int]) {
        line { buffer in buffer.array(key, numbers) { $0.append($1) } }
        flush(durably: false)
        closeIfComplete()
    }

    private func handled(_ number: Int) {
        guard let entry = unhandled.removeValue(forKey: number), entry.stored.event.scope == .condition else { return }
        let identifier = Identifier(lookup: entry.stored.event.identifier)
        guard let record = records[identifier], record.stored.number <= number else { return }
        records[identifier] = entry
    }

    /// Tries again to write.
    func retry() { if failure != nil { rewrite() } }

    /// Synchronizes the file, which another process may replace from now on. Later results of deliveries are appended
    /// to this file only.
    func seal() {
        if failure != nil { rewrite() }
        isSealed = true
        guard let file else { return }
        do throws(Errno) { try files.synchronize(file) } catch { failure = "\(path.string): \(error)" }
        closeIfComplete()
    }

    /// Closes the sealed file if no result of a delivery can follow.
    private func closeIfComplete() {
        guard isSealed, unhandled.isEmpty, let open = file else { return }
        files.close(open)
        file = nil
    }

    // MARK: Lines

    private func append(_ entry: Entry, isRecord: Bool) {
        var options = LineEncoder.Options(gateway: monitor)
        options.boot = entry.boot
        options.envelope = false
        var encoder = LineEncoder(options, after: max(entry.stored.number, 1) - 1)
        var event = entry.stored.event
        let adapter = AdapterID(index: 1)
        encoder.name(adapter, entry.adapter)
        event.sighting?.adapter = adapter
        line { buffer in
            if isRecord { buffer.write("record", true) }
            if let crossing = entry.stored.crossing {
                buffer.write("crossing", word: crossing == .entry ? "entry" : "exit")
            }
            buffer.key("payload")
            encoder.encode(.event(event), into: &buffer)
            // Without the line end.
            buffer.removeLast()
        }
    }

    private func line(_ members: (inout LineBuffer) -> Void) {
        buffer.object(members)
        buffer.append(byte: 0x0A)
    }

    private func read() throws(Errno) {
        var reader = try SegmentReader(path, files: files)
        var parser = LineParser()
        records = [:]
        while try reader.next(into: &parser.text.bytes) {
            if !apply(&parser) { damagedLines += 1 }
        }
        damagedLines += reader.overlong
    }

    /// Returns whether the line is valid, and applies it.
    private func apply(_ parser: inout LineParser) -> Bool {
        guard parser.text.parse() else { return false }
        if let place = parser.text.find("handled", in: 0) {
            for number in parser.text.elements(of: place).compactMap({ parser.text.integer($0) }) { handled(number) }
            return true
        }
        if let place = parser.text.find("forgotten", in: 0) {
            for number in parser.text.elements(of: place).compactMap({ parser.text.integer($0) }) {
                unhandled[number] = nil
            }
            return true
        }
        if let removed = parser.text.string(parser.text.find("removed", in: 0)) {
            records[Identifier(lookup: removed)] = nil
            return true
        }
        guard parser.parse(), let number = parser.head.sequence, let event = parser.event() else { return false }
        var crossing: BeaconMonitor.Event.Crossing?
        if let place = parser.text.find("crossing", in: 0) {
            crossing = parser.text.isText("entry", at: place) ? .entry : .exit
        }
        let entry = Entry(
            stored: StoredEvent(number: number, event: event, crossing: crossing),
            adapter: event.sighting.map { parser.adapters.name(of: $0.adapter) } ?? "", boot: parser.boot)
        if parser.text.bool(parser.text.find("record", in: 0)) ?? false {
            records[Identifier(lookup: event.identifier)] = entry
        } else {
            unhandled[number] = entry
        }
        return true
    }

    // MARK: The file

    private func flush(durably: Bool) {
        guard buffer.count > 0 else { return }
        let isFull = size + buffer.count >= max(Self.compactMin, 2 * rewrittenSize)
        guard let open = file, failure == nil, !durably || !isFull else {
            // A subscriber must not wait for the disk. The next event, or `retry()`, rewrites the file.
            return durably ? rewrite() : buffer.removeAll()
        }
        do throws(Errno) {
            try files.writeAll(open, at: size, buffer)
            if durably { try files.synchronize(open) }
            size += buffer.count
            buffer.removeAll()
        } catch {
            fail(error)
        }
    }

    /// Replaces the file by the current content.
    private func rewrite() {
        buffer.removeAll()
        for entry in records.sorted(by: { $0.key < $1.key }).map(\.value) { append(entry, isRecord: true) }
        for entry in unhandled.sorted(by: { $0.key < $1.key }).map(\.value) { append(entry, isRecord: false) }
        if let file { files.close(file) }
        file = nil
        do throws(Errno) {
            try WholeFile.replace(path, with: buffer.bytes, files: files)
            file = try files.open(path, isNew: false)
            (size, rewrittenSize, failure) = (buffer.count, buffer.count, nil)
        } catch {
            fail(error)
        }
        buffer.removeAll()
    }

    private func fail(_ error: Errno) {
        buffer.removeAll()
        failure = "\(path.string) can't be written: \(error); handled events would be delivered again after a restart"
    }
}
