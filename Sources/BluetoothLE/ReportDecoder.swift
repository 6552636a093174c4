public import BaseTypes

/// Who takes the advertising reports of a source: a capture, or a scanner.
public protocol ReportHandler: ~Copyable {
    /// One advertising report, with its AD structures; fragments come as one (rule B5).
    ///
    /// `adapter` tells the source's adapters apart, and means something to the source alone. `data` hold until this returns.
    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?)

    /// One iBeacon of the report that was handed over last (rule B2).
    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?)
}

/// The step from what was received to the advertising reports and iBeacons in it.
///
/// Owns what spans HCI events and frames, the extended advertisements under way, and counts what is malformed (rules B3, B4).
public struct ReportDecoder: Sendable {
    @usableFromInline var counts = MalformationCounts()
    @usableFromInline var assembler = ExtendedReportAssembler()
    // The data of the chain that is being handed over; kept for its capacity.
    @usableFromInline var chainData: [UInt8] = []

    /// A decoder that has met nothing yet.
    public init() {}

    /// What was malformed so far, by kind.
    public var malformations: MalformationCounts {
        var sum = counts
        sum.add(assembler.counts)
        return sum
    }

    /// Whether no advertisement is under way: the next event stands for itself.
    @inlinable public var isIdle: Bool { assembler.isIdle }

    /// Counts what was found malformed on a way of its own.
    public mutating func count(_ kind: Malformation, by number: Int) { counts.count(kind, by: number) }

    /// Hands over what an adapter, or with `nil` every one, has under way, as far as it goes: nothing more will come.
    @inlinable public mutating func flush<Handler: ReportHandler & ~Copyable>(
        adapter: Int? = nil, to handler: inout Handler
    ) {
        guard !assembler.isIdle else { return }
        assembler.flush(adapter: adapter)
        handReady(to: &handler)
    }

    /// Hands the reports of an HCI event packet without its H4 octet to `handler`.
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

    /// Hands the report of a link-layer frame to `handler`: nothing, where its CRC is bad or it does not advertise (rule B4).
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

    // Records of no adapter share chains: -1 is no adapter's place.
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
            // Taken out while it is read, so that nothing here can change it meanwhile.
            var data: [UInt8] = []
            swap(&data, &chainData)
            hand(report, data.span, adapter < 0 ? nil : adapter, time, to: &handler)
            swap(&data, &chainData)
        }
    }

    /// Hands a report that came as one to `handler`, and each iBeacon in its data (rules B1 to B3).
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
