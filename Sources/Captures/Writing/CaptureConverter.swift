import BaseTypes
import BluetoothLE

/// Information that a conversion lost, because the target format cannot store it.
public struct ConversionLoss: Sendable, Hashable, CustomStringConvertible {
    /// The kinds of loss, in the order in which they are reported.
    public enum Kind: Int, Sendable, CaseIterable {
        /// Fractions of microseconds in times were cut off.
        case fractionsOfMicroseconds
        /// Adapters with names of more than 8 bytes got other names.
        case adapterNames
        /// Packets that are not advertising reports were skipped.
        case packets
        /// Frames that are not advertising, or malformed, were skipped.
        case frames
        /// Reports lost their kind (connectable, scan response, …) or their advertising set.
        case advertisingKinds
        /// Malformed data were skipped.
        case malformed
        /// Reports of adapters beyond the maximum were skipped.
        case reportsWithoutAdapter
        /// The first record of an adapter says that it does not scan, but the result has a record before it, with the
        /// name.
        case silentBeginnings
    }

    /// The kind of loss.
    public let kind: Kind
    /// The number of records with this loss.
    public let count: Int

    /// The loss as a text.
    public var description: String {
        let isOne = count == 1
        return switch kind {
        case .fractionsOfMicroseconds:
            isOne
                ? "1 time is finer than a microsecond and was truncated"
                : "\(count) times are finer than a microsecond and were truncated"
        case .adapterNames:
            isOne
                ? "1 adapter has a name of more than 8 bytes and got another name"
                : "\(count) adapters have names of more than 8 bytes and got other names"
        case .packets:
            isOne
                ? "1 packet is not an advertising report and was skipped"
                : "\(count) packets are not advertising reports and were skipped"
        case .frames:
            isOne
                ? "1 frame of the link layer is not an advertising report and was skipped"
                : "\(count) frames of the link layer are not advertising reports and were skipped"
        case .advertisingKinds:
            isOne
                ? "1 report lost its kind of advertising or its advertising set"
                : "\(count) reports lost their kind of advertising or their advertising set"
        case .malformed:
            isOne
                ? "1 malformed report or AD structure was skipped"
                : "\(count) malformed reports or AD structures were skipped"
        case .reportsWithoutAdapter:
            isOne
                ? "1 report is of an adapter beyond the maximum of adapters and was skipped"
                : "\(count) reports are of an adapter beyond the maximum of adapters and were skipped"
        case .silentBeginnings:
            isOne
                ? "1 adapter does not scan at its first record; in a replay of the result, it can be scanning then"
                : "\(count) adapters do not scan at their first records; in a replay of the result, they can be scanning then"
        }
    }
}

/// Converts a capture to another format, so that a replay of the result gives the same lines.
///
/// HCI packets and records of the Linux monitor are copied unchanged if the target has packets. Otherwise, each
/// advertising report is converted, and records without a report are skipped unless their time matters: the first and
/// last record of an adapter, and a record that is later than the next report (rule T2).
///
///     var reader = try CaptureReader(.path(path))
///     var writer = try CaptureWriter(path: target, format: .btsnoop)
///     var converter = CaptureConverter()
///     try converter.convert(&reader, to: &writer)
///     try writer.close()
///     for loss in converter.losses { print(loss) }
public struct CaptureConverter {
    /// The number of records that were read.
    public private(set) var records = 0
    /// Whether an iBeacon was found; only valid if the capture is an advertisement log.
    package var hasBeacon: Bool { reports.hasBeacon }
    private let interval: Duration?
    private var decoder = ReportDecoder()
    private var reports = ReportBuffer()
    private var counts = [Int](repeating: 0, count: ConversionLoss.Kind.allCases.count)
    // By the index of the adapter.
    private var seen: [SeenAdapter] = []
    // The first records of adapters, until they are written or skipped: at most as many as there are adapters.
    private var starting: [FirstRecord] = []
    private var knownAdapters = CaptureAdapters()
    private var writtenUpTo: Instant?
    // The latest record that was skipped and is later than everything that was written.
    private var leftOut: (time: Instant, adapter: Int?)?

    private struct FirstRecord {
        var place: Int
        var time: Instant
        /// The number of the record.
        var record: Int
    }

    private struct SeenAdapter {
        var name: String
        var address: DeviceAddress?
        /// The time of its first record, or of the first after another adapter had its name or address.
        var beganAt: Instant?
        var lastWritten: Instant?
        /// The latest of its records since then; all were skipped.
        var pending: Instant?
    }

    /// Creates a converter.
    ///
    /// - Parameter interval: the time between two records of a capture without times, which then starts at 0.
    public init(interval: Duration? = nil) { self.interval = interval }

    /// The losses so far, by kind.
    public var losses: [ConversionLoss] {
        ConversionLoss.Kind.allCases.compactMap {
            counts[$0.rawValue] > 0 ? ConversionLoss(kind: $0, count: counts[$0.rawValue]) : nil
        }
    }

    /// Reads `reader` to its end and writes the complete result. The caller must call ``CaptureWriter/close()``.
    ///
    /// - Parameters:
    ///   - reader: the capture to convert.
    ///   - writer: the target.
    ///   - progress: called from time to time with the number of bytes of the input that were read.
    /// - Throws: ``CaptureError/timesAbsent(path:)`` if the capture has no times and no interval was given; errors of
    ///   reading and writing.
    public mutating func convert(
        _ reader: inout CaptureReader, to writer: inout CaptureWriter, progress: (Int) -> Void = { _ in }
    ) throws(CaptureError) {
        if !reader.hasTimes, interval == nil { throw .timesAbsent(path: reader.name) }
        while let record = try reader.next() {
            try convert(record, reader.adapterTable, reader.window.span, to: &writer)
            if records & 0xFFFF == 0 { progress(reader.position) }
        }
        try finish(&writer)
    }

    private mutating func lose(_ kind: ConversionLoss.Kind, _ count: Int = 1) { counts[kind.rawValue] += count }

    private mutating func convert(
        _ record: CaptureRecord, _ table: AdapterTable, _ window: Span<UInt8>, to writer: inout CaptureWriter
    ) throws(CaptureError) {
        var record = record
        if let interval {
            record.time = record.time ?? .earliest + .nanoseconds(interval.nanoseconds.multipliedClamped(by: records))
        }
        records += 1
        guard let time = record.time else { return }
        if writer.format == .btsnoop, time.nanoseconds % 1000 != 0 { lose(.fractionsOfMicroseconds) }
        if let adapter = record.adapter {
            // The address follows before the first report: this can be an adapter that has stopped (rule L7).
            if writer.format == .advertisementLog, record.awaitsAddress, !knownAdapters.contains(adapter),
                knownAdapters.knowsAddresses(besides: table.names[adapter])
            {
                return knownAdapters.postpone(record, of: table.names[adapter])
            }
            try addAdapter(adapter, table, time, &writer)
            if let mark = knownAdapters.takeMark(before: record, of: table.names[adapter]) {
                try before(time, adapter, &writer, stops: !mark.isListening)
                try writer.write(
                    listening: mark.isListening, adapter: seen[adapter].name, time: time, since: mark.since)
            }
        }
        try write(record, at: time, window, to: &writer)
    }

    private mutating func write(
        _ record: CaptureRecord, at time: Instant, _ window: Span<UInt8>, to writer: inout CaptureWriter
    ) throws(CaptureError) {
        switch record.content {
        case .listening(let listens):
            guard let adapter = record.adapter else { return leaveOut(nil, time) }
            // An adapter scans from its first record on, so the line would repeat that.
            if writer.format == .advertisementLog, listens, seen[adapter].lastWritten == nil,
                seen[adapter].beganAt == time, !mayBeKnown(adapter)
            {
                return leaveOut(adapter, time)
            }
            try before(time, adapter, &writer, stops: !listens)
            try writer.write(listening: listens, adapter: seen[adapter].name, time: time)
        case .stopped(let since):
            guard let adapter = record.adapter else { return leaveOut(nil, time) }
            try before(time, adapter, &writer, stops: true)
            try writer.write(listening: false, adapter: seen[adapter].name, time: time, since: since)
        case .timeOnly:
            guard let adapter = record.adapter else { return leaveOut(nil, time) }
            try before(time, adapter, &writer)
            try writer.write(timeOnly: seen[adapter].name, time: time)
        case .beacon(let beacon, let report):
            reports.hasBeacon = true
            guard let adapter = record.adapter else { return lose(.reportsWithoutAdapter) }
            try before(time, adapter, &writer)
            try writer.write(beacon, report: report, adapter: seen[adapter].name, time: time)
        case .hci(let kind, let isReceived) where writer.format != .advertisementLog:
            if let adapter = record.adapter { try before(time, adapter, &writer) }
            try writer.write(
                kind, isReceived: isReceived, window.extracting(record.payload),
                adapter: record.adapter.map { seen[$0].name }, time: time)
        case .monitor(let opcode) where writer.format != .advertisementLog:
            if let adapter = record.adapter {
                // The record has the address. Before the first record of a name, the writer adds a New Index, which
                // also has it.
                let hasAddress = opcode == Btsnoop.Opcode.newIndex || opcode == Btsnoop.Opcode.indexInfo
                let isAnnounced = opcode == Btsnoop.Opcode.newIndex || writer.hasAnnounced(seen[adapter].name)
                try before(time, adapter, &writer, identifies: !hasAddress || !isAnnounced)
            }
            try writer.write(
                opcode: opcode, window.extracting(record.payload), adapter: record.adapter.map { seen[$0].name },
                time: time)
        case .hci, .monitor, .linkLayer, .report:
            decoder.decode(record, in: window, to: &reports)
            if reports.items.isEmpty {
                countLeftOut(record, window)
                return leaveOut(record.adapter, time)
            }
            let isPacket = if case .hci = record.content { true } else { false }
            try writeReports(&writer, losesKinds: isPacket && writer.format == .advertisementLog)
            // The reports of an incomplete advertisement are older than this record.
            if let adapter = record.adapter, seen[adapter].lastWritten != time { leaveOut(adapter, time) }
        }
    }

    private mutating func addAdapter(
        _ adapter: Int, _ table: AdapterTable, _ time: Instant, _ writer: inout CaptureWriter
    ) throws(CaptureError) {
        while seen.count <= adapter {
            let name = table.names[seen.count]
            if writer.format == .btsnoop, !CaptureWriter.fits(name), !seen.contains(where: { $0.name == name }) {
                lose(.adapterNames)
            }
            seen.append(
                SeenAdapter(
                    name: name, address: table.addresses[seen.count], beganAt: nil, lastWritten: nil, pending: nil))
        }
        guard !knownAdapters.contains(adapter) else { return }
        knownAdapters.add(adapter, table.names, table.addresses)
        seen[adapter].beganAt = time
        if starting.count == AdapterTable.placesMax { try writeStarting(&writer) }
        starting.append(FirstRecord(place: adapter, time: time, record: records))
    }

    /// Returns whether another name had the address of an adapter before.
    private func isKnown(_ adapter: Int) -> Bool {
        guard let address = seen[adapter].address else { return false }
        return seen.indices.contains { $0 != adapter && seen[$0].beganAt != nil && seen[$0].address == address }
    }

    /// Returns whether an adapter can be one that had another address or name before and was marked as not scanning.
    private func mayBeKnown(_ adapter: Int) -> Bool {
        isKnown(adapter)
            || seen.indices.contains { other in
                other != adapter && seen[other].beganAt != nil && seen[other].name == seen[adapter].name
            }
    }

    private mutating func countLeftOut(_ record: CaptureRecord, _ window: Span<UInt8>) {
        if case .linkLayer = record.content { return lose(.frames) }
        // A fragment of an extended advertisement is part of a later report. Malformed events are counted separately.
        let start = record.payload.lowerBound
        let isReport =
            record.payload.count > 2 && window[start] == 0x3E
            && (window[start + 2] == 0x02 || window[start + 2] == 0x0D)
        if !isReport { lose(.packets) }
    }

    private mutating func leaveOut(_ adapter: Int?, _ time: Instant) {
        if let adapter { seen[adapter].pending = max(time, seen[adapter].pending ?? .earliest) }
        if time > max(writtenUpTo ?? .earliest, leftOut?.time ?? .earliest) { leftOut = (time, adapter) }
    }

    /// Writes the skipped records that matter for a record of `adapter` at `time`, which is written next.
    private mutating func before(
        _ time: Instant, _ adapter: Int, _ writer: inout CaptureWriter, identifies: Bool = true, stops: Bool = false
    ) throws(CaptureError) {
        // The first record of an adapter precedes the reports of others at that time, and its own stop.
        if let last = starting.last, last.place == adapter, last.time == time, !stops || last.record == records {
            starting.removeLast()
            if stops, writer.format != .advertisementLog, !isKnown(adapter) { lose(.silentBeginnings) }
        }
        try writeStarting(&writer)
        // The next record is earlier than a skipped record before it.
        if let late = leftOut, late.time > time { try writeTime(late.time, late.adapter ?? adapter, &writer) }
        if identifies { try identify(adapter, time, &writer) }
        written(adapter, time)
    }

    private mutating func writeStarting(_ writer: inout CaptureWriter) throws(CaptureError) {
        for first in starting { try writeTime(first.time, first.place, &writer) }
        starting.removeAll(keepingCapacity: true)
    }

    private func identify(_ adapter: Int, _ time: Instant, _ writer: inout CaptureWriter) throws(CaptureError) {
        try writer.identify(adapter: seen[adapter].name, address: seen[adapter].address, time: time)
    }

    private mutating func writeTime(
        _ time: Instant?, _ adapter: Int, _ writer: inout CaptureWriter
    ) throws(CaptureError) {
        guard let time else { return }
        try identify(adapter, time, &writer)
        try writer.write(timeOnly: seen[adapter].name, time: time)
        written(adapter, time)
    }

    private mutating func written(_ adapter: Int, _ time: Instant) {
        seen[adapter].lastWritten = time
        if let last = seen[adapter].pending, last <= time { seen[adapter].pending = nil }
        writtenUpTo = max(writtenUpTo ?? .earliest, time)
        if let late = leftOut, late.time <= time { leftOut = nil }
    }

    private mutating func writeReports(_ writer: inout CaptureWriter, losesKinds: Bool) throws(CaptureError) {
        for item in reports.items {
            guard let adapter = item.adapter, let time = item.time else {
                lose(.reportsWithoutAdapter)
                continue
            }
            if losesKinds { lose(.advertisingKinds) }
            try before(time, adapter, &writer)
            try writer.write(
                item.report, data: reports.bytes.span.extracting(item.data), adapter: seen[adapter].name, time: time)
        }
        reports.clear()
    }

    private mutating func finish(_ writer: inout CaptureWriter) throws(CaptureError) {
        decoder.flush(to: &reports)
        try writeReports(&writer, losesKinds: writer.format == .advertisementLog)
        lose(.malformed, decoder.malformations.occurred.filter { $0.kind != .badCRC }.reduce(0) { $0 + $1.count })
        try writeStarting(&writer)
        let pending = seen.indices.filter { seen[$0].pending.map { $0 > writtenUpTo ?? .earliest } ?? false }
        for place in pending.sorted(by: { (seen[$0].pending ?? .earliest) < (seen[$1].pending ?? .earliest) }) {
            try writeTime(seen[place].pending, place, &writer)
        }
    }
}

extension Int64 {
    fileprivate func multipliedClamped(by count: Int) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: Int64(count))
        return overflow ? .max : product
    }
}

/// The reports of one record, until they are written.
private struct ReportBuffer: ReportHandler {
    struct Item {
        var report: AdvertisingReport
        var data: Range<Int>
        var adapter: Int?
        var time: Instant?
    }

    var items: [Item] = []
    var bytes: [UInt8] = []
    var hasBeacon = false

    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
        let start = bytes.count
        unsafe data.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
        items.append(Item(report: report, data: start..<bytes.count, adapter: adapter, time: time))
    }

    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
        hasBeacon = true
    }

    mutating func clear() {
        items.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }
}
