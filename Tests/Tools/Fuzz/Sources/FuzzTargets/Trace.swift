import BaseTypes
import BluetoothLE
import Captures

/// All results of reading a capture, for a comparison. The contents of the records, reports and iBeacons are one hash.
/// If reading fails, only the number of records and the error are set.
struct Trace: Equatable {
    var records = 0
    var contents = 0
    var format: CaptureFormat?
    var hasTimes = true
    var adapters: [String] = []
    var damages: CaptureDamages?
    var malformations: [Int] = []
    var error: CaptureError?

    /// Reads `bytes` to the end with a window of `windowSize` bytes. For each record, the payload must be in the
    /// window, and the adapter must have a name.
    init(_ bytes: [UInt8], fields: FieldMap, windowSize: Int) {
        do throws(CaptureError) {
            var reader = try CaptureReader(
                .bytes(bytes, name: "input"), options: CaptureOptions(fields: fields, windowSize: windowSize))
            var decoder = ReportDecoder()
            var digest = Digest()
            while let record = try reader.next() {
                records += 1
                precondition(record.payload.upperBound <= reader.window.count, "a payload is outside of the window")
                precondition(record.adapter ?? 0 < max(reader.adapters.count, 1), "an adapter has no name")
                digest.take(record, in: reader.window.span)
                decoder.decode(record, in: reader.window.span, to: &digest)
            }
            decoder.flush(to: &digest)
            let more = try reader.next()
            precondition(more == nil, "a record follows the end")
            precondition(reader.window.count <= max(windowSize, CaptureReader.recordBytesMax), "a window is too large")
            contents = digest.hasher.finalize()
            format = reader.format
            hasTimes = reader.hasTimes
            adapters = reader.adapters
            damages = reader.damages
            var counts = decoder.malformations
            counts.add(reader.malformations)
            malformations = Malformation.allCases.map { counts[$0] }
        } catch let thrown {
            precondition(!thrown.description.isEmpty)
            error = thrown
        }
    }
}

/// A hash of all records, reports and iBeacons.
private struct Digest: ReportHandler {
    var hasher = Hasher()

    mutating func take(_ record: CaptureRecord, in window: Span<UInt8>) {
        hasher.combine(record.time)
        hasher.combine(record.adapter)
        switch record.content {
        case .hci(let kind, let isReceived): combine(0, kind, isReceived)
        case .linkLayer(let rssi, let check): combine(1, rssi, check)
        case .report(var report):
            // The position of the data depends on the window, so it is not part of the hash.
            report.data = 0..<0
            combine(2, report, true)
        case .beacon(let beacon, let report): combine(3, beacon, report)
        case .listening(let isListening): combine(4, isListening, true)
        case .stopped(let since): combine(7, since, true)
        case .monitor(let opcode): combine(5, opcode, true)
        case .timeOnly: hasher.combine(6)
        }
        combine(window.extracting(record.payload))
    }

    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
        combine(7, adapter, time)
        hasher.combine(report.address)
        hasher.combine(report.rssi)
        combine(data)
    }

    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
        combine(8, adapter, time)
        hasher.combine(beacon)
    }

    private mutating func combine(_ kind: Int, _ first: some Hashable, _ second: some Hashable) {
        hasher.combine(kind)
        hasher.combine(first)
        hasher.combine(second)
    }

    private mutating func combine(_ bytes: Span<UInt8>) {
        hasher.combine(bytes.count)
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}
