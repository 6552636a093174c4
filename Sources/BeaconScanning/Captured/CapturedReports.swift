import BaseTypes
import BluetoothLE
import Captures
import OperatorLogging

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
    private var hasBeacons = false
    private var reorder: ReorderBuffer?
    /// The payload of the last record if records are reordered; otherwise it is in the window of the reader.
    private var heldBytes: [UInt8]?
    /// The number of records that are earlier than a preceding one, and the largest difference.
    private var late = 0
    private var latestBy = Duration.zero

    /// Opens a capture.
    ///
    /// - Throws: ``ScanningError`` if it cannot be read or has no times.
    init(_ options: CaptureSource.Options) throws(ScanningError) {
        reader = try Self.open(options)
        if options.reorder > .zero { reorder = ReorderBuffer(delay: options.reorder) }
    }

    private static func open(_ options: CaptureSource.Options) throws(ScanningError) -> CaptureReader {
        let reader = try Self.read(options)
        guard reader.hasTimes else {
            let advice = reader.unreadTime.map(\.description) ?? "use a capture with times"
            throw ScanningError(
                .captureUnreadable, "\(options.path) has no times, so it gives no events; \(advice)")
        }
        return reader
    }

    private static func read(_ options: CaptureSource.Options) throws(ScanningError) -> CaptureReader {
        do throws(CaptureError) {
            return try CaptureReader(
                .path(options.path), options: CaptureOptions(fields: options.fields, zone: options.zone))
        } catch {
            throw ScanningError(.captureUnreadable, error.description)
        }
    }

    /// Returns the time of the first record of a capture; the earliest time if it has none.
    ///
    /// - Throws: ``ScanningError`` if it cannot be read.
    static func beginning(of options: CaptureSource.Options) throws(ScanningError) -> Instant {
        var reports = try CapturedReports(options)
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
        hasBeacons = hasBeacons || reports.entries.contains { $0.kind.isBeacon }
        return CaptureChunk(entries: reports.take(), changes: changes, end: latest)
    }

    /// Returns the next record. At the end of a capture that has only damaged records, it throws, because that must not
    /// look like a capture without advertisements.
    private mutating func record() throws(ScanningError) -> CaptureRecord? {
        do throws(CaptureError) {
            if let record = try orderedRecord() {
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

    private mutating func orderedRecord() throws(CaptureError) -> CaptureRecord? {
        guard reorder != nil else { return try reader.next() }
        var held = reorder?.next(hasEnded: false)
        while held == nil {
            guard let record = try reader.next() else {
                held = reorder?.next(hasEnded: true)
                break
            }
            guard let time = record.time else { continue }
            reorder?.insert(record, at: time, payload: reader.window[record.payload])
            held = reorder?.next(hasEnded: false)
        }
        heldBytes = held?.bytes
        return held?.record
    }

    /// Sentences for operators about damage, about how the capture was interpreted, and about the order of its records.
    var warnings: [String] {
        var lines = reader.damages.lines(of: reader.name) + reader.remarks
        if !hasBeacons, let misplaced = reader.misplacedAdvertisement { lines.append("\(reader.name): \(misplaced)") }
        if late > 0 {
            // If the clocks changed, this advice would be wrong: it would mix two hours of local time.
            let advice =
                "; if the file was merged out of order, use \(reorder == nil ? "" : "a longer time for ")`reorder`"
            lines.append(
                """
                \(reader.name): \(PlainText.count(late, "record is", "records are")) earlier than a record before, by \
                up to \(latestBy.inExactWordsRoundedUp), and handled at the time of that record (rule T2)\
                \(reader.localTimes.clockChange == nil ? advice : "")
                """)
        }
        if let early = reorder?.releasedEarly, early > 0 {
            lines.append(
                """
                \(reader.name): \(PlainText.count(early, "record was", "records were")) used before the time of \
                `reorder` had passed, because more than \(ReorderBuffer.recordsMax) were delayed; use a shorter time
                """)
        }
        return lines
    }

    private mutating func take(_ record: CaptureRecord, at time: Instant) {
        if time < latest {
            late += 1
            latestBy = max(latestBy, latest - time)
        }
        latest = max(latest, time)
        reports.advance(to: time)
        if knownAdapters.mustMeet(record), !meet(record, at: time) { return }
        if let mark = record.content.mark {
            listening(mark.isListening, since: mark.since, record.adapter, at: time)
        } else {
            Self.decode(record, of: reader, heldBytes, with: &decoder, to: &reports)
        }
    }

    /// Handles the adapter of a record. Returns whether it is known.
    private mutating func meet(_ record: CaptureRecord, at time: Instant) -> Bool {
        let consequences = knownAdapters.meet(record, of: reader) { $0.knowsAddresses(besides: $1) }
        guard let consequences else { return false }
        if let added = consequences.added {
            report(
                .added(
                    ReplayAdapter(
                        index: added.index, name: added.name, address: added.address, listens: added.listens), at: time)
            )
        }
        if let mark = consequences.mark { listening(mark.isListening, since: mark.since, record.adapter, at: time) }
        return true
    }

    // A static function of the parts, so that the decoder can change while the bytes are borrowed.
    private static func decode(
        _ record: CaptureRecord, of reader: borrowing CaptureReader, _ heldBytes: [UInt8]?,
        with decoder: inout ReportDecoder, to reports: inout ReportCollector
    ) {
        if let heldBytes { return decoder.decode(record, in: heldBytes.span, to: &reports) }
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
}
