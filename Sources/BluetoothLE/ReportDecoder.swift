public import BaseTypes

/// Receives the advertising reports of a capture or a scanner.
public protocol ReportHandler: ~Copyable {
    /// Called for each advertising report, with its AD structures. The fragments of an extended advertisement arrive as
    /// one report (rule B5).
    ///
    /// - Parameters:
    ///   - report: the report.
    ///   - data: its AD structures. They must not be used after this call.
    ///   - adapter: the source's number of the adapter; `nil` if the source does not report it.
    ///   - time: the time of the report; `nil` if the source has no times.
    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?)

    /// Called for each iBeacon of a report, after the call for the report itself (rule B2).
    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?)
}

/// Decodes HCI events and link-layer frames into advertising reports and iBeacons.
///
/// It stores the extended advertisements that are not complete yet and counts malformed input (rules B3 and B4).
///
///     struct Found: ReportHandler {
///         var beacons: [BeaconIdentity] = []
///         mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {}
///         mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
///             beacons.append(beacon.identity)
///         }
///     }
///     var (decoder, found) = (ReportDecoder(), Found())
///     decoder.decode(event: event, adapter: 0, time: nil, to: &found)
///     decoder.flush(to: &found)
public struct ReportDecoder: Sendable {
    @usableFromInline var counts = MalformationCounts()
    @usableFromInline var assembler = ExtendedReportAssembler()
    // The data of the chain that is being passed to the handler; stored to reuse its capacity.
    @usableFromInline var chainData: [UInt8] = []

    /// Creates a decoder with all counters at 0.
    public init() {}

    /// The counts of malformed input by kind.
    public var malformations: MalformationCounts {
        var sum = counts
        sum.add(assembler.counts)
        return sum
    }

    /// Whether no extended advertisement is incomplete, so that the next event does not depend on earlier ones.
    @inlinable public var isIdle: Bool { assembler.isIdle }

    /// Adds malformed input that the caller found itself.
    public mutating func count(_ kind: Malformation, by number: Int) { counts.count(kind, by: number) }

    /// Passes the incomplete advertisements of `adapter`, or of all adapters if it is `nil`, to `handler`. It must be
    /// called when no more fragments will follow.
    @inlinable public mutating func flush<Handler: ReportHandler & ~Copyable>(
        adapter: Int? = nil, to handler: inout Handler
    ) {
        guard !assembler.isIdle else { return }
        assembler.flush(adapter: adapter)
        handReady(to: &handler)
    }

    /// Passes the reports of an HCI event packet without its H4 byte to `handler`.
    @inlinable @inline(__always) public mutating func decode<Handler: ReportHandler & ~Copyable>(
        event: Span<UInt8>, adapter: Int?, time: Instant?, to handler: inout Handler
    ) {
        if !assembler.isIdle { expire(at: time, to: &handler) }
        var reports = AdvertisingReports(event: event)
        do {
            while let report = try reports.next(in: event) {
                if report.status == .complete && assembler.isIdle || isWhole(report, event, adapter, time) {
                    hand(report, event.extracting(report.data), adapter, time, to: &handler)
                } else {
                    handReady(to: &handler)
                }
            }
        } catch {
            counts.count(error.malformation)
        }
    }

    /// Passes the report of a link-layer frame to `handler`. Frames with a wrong CRC or without advertising have none
    /// (rule B4).
    @inlinable public mutating func decode<Handler: ReportHandler & ~Copyable>(
        frame: Span<UInt8>, rssi: RSSI?, check: FrameCheck, adapter: Int?, time: Instant?, to handler: inout Handler
    ) {
        if !assembler.isIdle { expire(at: time, to: &handler) }
        do {
            guard
                let report = try LinkLayerPDU.advertisingReport(
                    of: frame, in: 0..<frame.count, rssi: rssi, check: check)
            else { return }
            if isWhole(report, frame, adapter, time) {
                hand(report, frame.extracting(report.data), adapter, time, to: &handler)
            } else {
                handReady(to: &handler)
            }
        } catch {
            counts.count(error.malformation)
        }
    }

    // Records without an adapter share the number -1, which no adapter has.
    @usableFromInline mutating func isWhole(
        _ report: AdvertisingReport, _ bytes: Span<UInt8>, _ adapter: Int?, _ time: Instant?
    ) -> Bool {
        assembler.take(report, adapter: adapter ?? -1, time: time, of: bytes)
    }

    @inlinable mutating func expire<Handler: ReportHandler & ~Copyable>(at time: Instant?, to handler: inout Handler) {
        guard let time else { return }
        assembler.expire(at: time)
        handReady(to: &handler)
    }

    @inlinable mutating func handReady<Handler: ReportHandler & ~Copyable>(to handler: inout Handler) {
        while let (report, adapter, time) = assembler.nextReady(into: &chainData) {
            // Moved out of the property while it is read, so that the handler cannot change it.
            var data: [UInt8] = []
            swap(&data, &chainData)
            hand(report, data.span, adapter < 0 ? nil : adapter, time, to: &handler)
            swap(&data, &chainData)
        }
    }

    /// Passes a complete report and each iBeacon in its data to `handler` (rules B1 to B3).
    @inlinable @inline(__always) public mutating func hand<Handler: ReportHandler & ~Copyable>(
        _ report: AdvertisingReport, _ data: Span<UInt8>, _ adapter: Int?, _ time: Instant?, to handler: inout Handler
    ) {
        handler.report(report, data: data, adapter: adapter, time: time)
        var structures = ADStructures()
        do {
            while let beacon = try structures.nextBeacon(in: data) {
                handler.beacon(beacon, report: report, adapter: adapter, time: time)
            }
        } catch {
            counts.count(error.malformation)
        }
    }
}
