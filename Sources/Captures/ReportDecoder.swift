public import BluetoothLE

/// Who takes the advertising reports of a capture.
public protocol ReportHandler: ~Copyable {
    /// One advertising report, with its AD structures; fragments come as one (rule B5).
    ///
    /// `adapter` is a place in ``CaptureReader/adapters``. `data` hold until this returns.
    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?)

    /// One iBeacon of the report that was handed over last (rule B2).
    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?)
}

/// The step from a record to the advertising reports and iBeacons in it.
///
/// Owns what spans records, the extended advertisements under way, and counts what is malformed (rules B3, B4).
public struct ReportDecoder: Sendable {
    @usableFromInline var counts = MalformationCounts()

    /// A decoder that has met nothing yet.
    public init() {}

    /// What was malformed so far, by kind.
    public var malformations: MalformationCounts { counts }

    /// Hands the reports of `record`, whose payload stands in `window`, to `handler`.
    @inlinable public mutating func decode<Handler: ReportHandler & ~Copyable>(
        _ record: CaptureRecord, in window: Span<UInt8>, to handler: inout Handler
    ) {
        switch record.content {
        case .hci(.event, _):
            decode(event: window.extracting(record.payload), adapter: record.adapter, time: record.time, to: &handler)
        case .report(let report):
            hand(report, window.extracting(record.payload), record.adapter, record.time, to: &handler)
        case .beacon(let beacon, let report):
            handler.report(report, data: Span(), adapter: record.adapter, time: record.time)
            handler.beacon(beacon, report: report, adapter: record.adapter, time: record.time)
        case .hci, .linkLayer, .listening, .monitor, .timeOnly:
            break
        }
    }

    /// Hands over what an adapter, or with `nil` every one, has under way, as far as it goes: nothing more will come.
    @inlinable public mutating func flush<Handler: ReportHandler & ~Copyable>(
        adapter: Int? = nil, to handler: inout Handler
    ) {}

    @inlinable mutating func decode<Handler: ReportHandler & ~Copyable>(
        event: Span<UInt8>, adapter: Int?, time: Instant?, to handler: inout Handler
    ) {
        var reports = AdvertisingReports(event: event)
        do {
            while let report = try reports.next(in: event) {
                hand(report, event.extracting(report.data), adapter, time, to: &handler)
            }
        } catch {
            count(error)
        }
    }

    @inlinable mutating func hand<Handler: ReportHandler & ~Copyable>(
        _ report: AdvertisingReport, _ data: Span<UInt8>, _ adapter: Int?, _ time: Instant?, to handler: inout Handler
    ) {
        handler.report(report, data: data, adapter: adapter, time: time)
        var structures = ADStructures()
        do {
            while let beacon = try structures.nextBeacon(in: data) {
                handler.beacon(beacon, report: report, adapter: adapter, time: time)
            }
        } catch {
            counts.count(.adStructureTruncated)
        }
    }

    @usableFromInline mutating func count(_ error: AdvertisingReportError) {
        switch error {
        case .eventTruncated: counts.count(.eventTruncated)
        case .reportCountInvalid: counts.count(.reportCountInvalid)
        case .reportTruncated: counts.count(.reportTruncated)
        }
    }
}
