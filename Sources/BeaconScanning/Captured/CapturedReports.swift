import BaseTypes
import BluetoothLE
import Captures

/// Reads a capture in parts (rules L4, L7).
struct CapturedReports: ~Copyable {
    /// The number of records in a part: enough that delivering it is cheap, and few enough that subscribers keep up.
    private static let recordsMax = 512

    private var reader: CaptureReader
    private var decoder = ReportDecoder()
    private var reports = ReportCollector()
    private var changes: [(index: Int, change: CaptureChunk.Change)] = []
    private var latest = Instant.earliest
    private var knownAdapters = CaptureAdapters()
    private var hasEnded = false
    private var hasRecords = false

    /// Opens a capture.
    ///
    /// - Throws: ``ScanningError`` if it cannot be read or has no times.
    init(_ path: String) throws(ScanningError) { reader = try Self.open(path) }

    private static func open(_ path: String) throws(ScanningError) -> CaptureReader {
        let reader = try Self.read(path)
        guard reader.hasTimes else {
            throw ScanningError(
                .captureUnreadable,
                "\(path) has no times, so it gives no events; use a capture with times")
        }
        return reader
    }

    private static func read(_ path: String) throws(ScanningError) -> CaptureReader {
        do throws(CaptureError) {
            return try CaptureReader(.path(path))
        } catch {
            throw ScanningError(.captureUnreadable, error.description)
        }
    }

    /// Returns the time of the first record of a capture; the earliest time if it has none.
    ///
    /// - Throws: ``ScanningError`` if it cannot be read.
    static func beginning(of path: String) throws(ScanningError) -> Instant {
        var reports = try CapturedReports(path)
        while let record = try reports.record() {
            if let time = record.time { return time }
        }
        return .earliest
    }

    /// Returns the next part; `nil` at the end.
    ///
    /// - Throws: ``ScanningError`` if the rest of the capture cannot be read.
    mutating func next() throws(ScanningError) -> CaptureChunk? {
        guard !hasEnded else { return nil }
        for _ in 0..<Self.recordsMax {
            guard let record = try record() else {
                hasEnded = true
                decoder.flush(to: &reports)
                break
            }
            if let time = record.time { take(record, at: time) }
        }
        defer { changes = [] }
        return CaptureChunk(entries: reports.take(), changes: changes, end: latest)
    }

    /// Returns the next record. At the end of a capture that has only damaged records, it throws, because that must not
    /// look like a capture without advertisements.
    private mutating func record() throws(ScanningError) -> CaptureRecord? {
        do throws(CaptureError) {
            if let record = try reader.next() {
                hasRecords = true
                return record
            }
        } catch {
            throw ScanningError(.captureUnreadable, error.description)
        }
        if !hasRecords, let damage = reader.damages.first.first {
            throw ScanningError(.captureUnreadable, "\(reader.name) has no valid record: \(damage)")
        }
        return nil
    }

    private mutating func take(_ record: CaptureRecord, at time: Instant) {
        latest = max(latest, time)
        reports.advance(to: time)
        if let index = record.adapter, !knownAdapters.contains(index) {
            addAdapter(index, record, at: time)
            // The adapter of this record is not known yet.
            guard knownAdapters.contains(index) else { return }
        }
        if record.endsWait, let index = record.adapter, index < reader.adapters.count,
            let mark = knownAdapters.takeMark(before: record, of: reader.adapters[index])
        {
            listening(mark.isListening, since: mark.since, index, at: time)
        }
        if let mark = record.content.mark {
            listening(mark.isListening, since: mark.since, record.adapter, at: time)
        } else {
            Self.decode(record, of: reader, with: &decoder, to: &reports)
        }
    }

    // A static function of the parts, so that the decoder can change while the bytes are borrowed.
    private static func decode(
        _ record: CaptureRecord, of reader: borrowing CaptureReader, with decoder: inout ReportDecoder,
        to reports: inout ReportCollector
    ) {
        decoder.decode(record, in: reader.window.span, to: &reports)
    }

    private mutating func listening(_ isListening: Bool, since: Instant?, _ index: Int?, at time: Instant) {
        if !isListening { decoder.flush(adapter: index, to: &reports) }
        guard let index else { return }
        report(.listening(isListening, index: index, at: time, since: since))
    }

    private mutating func report(_ what: CaptureChunk.Change) {
        reports.close()
        changes.append((reports.entries.count, what))
    }

    private mutating func addAdapter(_ index: Int, _ record: CaptureRecord, at time: Instant) {
        let (names, addresses) = (reader.adapters, reader.adapterAddresses)
        let name = index < names.count ? names[index] : "hci0"
        // The capture reports its address before its first advertisement.
        if record.awaitsAddress, knownAdapters.knowsAddresses(besides: name) {
            return knownAdapters.postpone(record, of: name)
        }
        knownAdapters.add(index, names, addresses)
        let address = index < addresses.count ? addresses[index] : nil
        let listens = (record.content.mark ?? knownAdapters.mark(before: record, of: name))?.isListening ?? true
        report(.added(ReplayAdapter(index: index, name: name, address: address, listens: listens), at: time))
    }
}
