import BaseTypes
import BluetoothLE
import Captures
import SystemPackage

/// Reads a capture as a source of reports (rule L4).
struct CaptureFeed: ~Copyable {
    private var reader: CaptureReader
    private var adapters = CaptureAdapters()
    private var decoder = ReportDecoder()
    /// The remarks that ``newRemarks()`` has returned.
    private var noted: Set<String> = []

    /// Opens a capture in a file, and reads up to its first record.
    init(_ origin: CaptureOrigin) throws(CaptureError) {
        reader = try CaptureReader(.path(origin.path), options: origin.options)
    }

    /// Reads the capture of a stream up to its first record. The times of its records do not count. `beforeReading` is
    /// called before each read.
    init(
        _ stream: FileDescriptor, _ origin: CaptureOrigin, beforeReading: @escaping (CaptureProgress) -> Bool
    ) throws(CaptureError) {
        var options = origin.options
        options.timesAreOptional = true
        reader = try CaptureReader(stream, name: origin.name, options: options, beforeReading: beforeReading)
    }

    /// Whether its records have times.
    var hasTimes: Bool { reader.hasTimes }

    /// The damage so far.
    var damages: CaptureDamages { reader.damages }

    /// Returns new sentences for operators about how the capture was interpreted.
    mutating func newRemarks() -> [String] { reader.remarks.filter { noted.insert($0).inserted } }

    /// Returns the next record; `nil` at the end.
    mutating func next() throws(CaptureError) -> CaptureRecord? { try reader.next() }

    /// Adds the reports of the last record, and its changes of adapters, to `batch`. The record counts as received at
    /// `time`.
    mutating func take(_ record: CaptureRecord, at time: Instant, into batch: inout CapturedBatch) {
        if adapters.mustMeet(record) {
            let consequences = adapters.meet(record, of: reader) { $0.knowsAddresses(besides: $1) }
            guard let consequences else { return }
            if let added = consequences.added { batch.add(.added(added), at: time) }
            if let mark = consequences.mark { add(mark, of: record.adapter, record.time, at: time, into: &batch) }
        }
        if let mark = record.content.mark {
            if !mark.isListening { decoder.flush(adapter: record.adapter, to: &batch) }
            return add(mark, of: record.adapter, record.time, at: time, into: &batch)
        }
        if case .beacon(let beacon, let report) = record.content {
            // As a transmitter sends it: one structure with its length and type (Bluetooth Core Vol 3 Part C §11).
            let bytes = [UInt8(IBeacon.manufacturerDataLength + 1), 0xFF] + beacon.manufacturerData
            return batch.report(report, data: bytes.span, adapter: record.adapter, time: time)
        }
        var record = record
        record.time = time
        Self.decode(record, of: reader, with: &decoder, to: &batch)
    }

    private func add(
        _ mark: CaptureAdapters.Mark, of index: Int?, _ written: Instant?, at time: Instant,
        into batch: inout CapturedBatch
    ) {
        guard let index else { return }
        // The mark says how long ago it was.
        let since = mark.since.flatMap { since in written.map { time - max($0 - since, .zero) } }
        batch.add(.listening(mark.isListening, adapter: index, since: since), at: time)
    }

    /// Adds the incomplete reports at the end of the capture.
    mutating func finish(into batch: inout CapturedBatch) { decoder.flush(to: &batch) }

    // A static function of the parts, so that the decoder can change while the bytes are borrowed.
    private static func decode(
        _ record: CaptureRecord, of reader: borrowing CaptureReader, with decoder: inout ReportDecoder,
        to batch: inout CapturedBatch
    ) {
        decoder.decode(record, in: reader.window.span, to: &batch)
    }
}
