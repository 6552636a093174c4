import AdapterScanning
import BaseTypes
import BluetoothLE
import Captures

/// Reports of a capture and changes of its adapters, in order, until they are passed to the handler of a scanner.
struct CapturedBatch: ReportHandler, Sendable {
    enum Item: Sendable {
        /// A report, the range of its AD structures in ``CapturedBatch/bytes``, and the index of its adapter.
        case report(AdvertisingReport, Range<Int>, adapter: Int)
        /// An adapter that is known from now on.
        case added(CaptureAdapters.Adapter)
        /// An adapter starts or stops scanning; if that was recorded later, it had stopped at `since`.
        case listening(Bool, adapter: Int, since: Instant?)
    }

    private(set) var items: [(item: Item, time: Instant)] = []
    private(set) var bytes: [UInt8] = []

    mutating func add(_ item: Item, at time: Instant) { items.append((item, time)) }

    /// Passes items to the handler of a scanner.
    ///
    /// - Parameters:
    ///   - range: the indices of the items; `nil` means all.
    ///   - name: the name of the capture.
    ///   - handler: receives them.
    func pass(_ range: Range<Int>? = nil, from name: String, to handler: any ScanHandler) {
        for (item, time) in items[range ?? items.indices] {
            switch item {
            case .report(let report, let range, let adapter):
                handler.received(report, data: bytes.span.extracting(range), on: adapter, at: time)
            case .added(let adapter):
                handler.changed(
                    .capture(
                        .added(
                            adapter: adapter.index, name: adapter.name, address: adapter.address,
                            controller: name, listens: adapter.listens)), at: time)
            case .listening(let isListening, let adapter, let since):
                handler.changed(
                    .capture(.marked(adapter: adapter, isListening: isListening, since: since)), at: time)
            }
        }
    }

    mutating func append(_ other: CapturedBatch) {
        let offset = bytes.count
        bytes += other.bytes
        for (item, time) in other.items {
            if case .report(let report, let range, let adapter) = item {
                add(.report(report, range.lowerBound + offset..<range.upperBound + offset, adapter: adapter), at: time)
            } else {
                add(item, at: time)
            }
        }
    }

    mutating func removeAll() {
        items.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }

    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
        guard let adapter, let time else { return }
        let start = bytes.count
        for index in 0..<data.count { bytes.append(data[index]) }
        add(.report(report, start..<bytes.count, adapter: adapter), at: time)
    }

    // The handler decodes the AD structures again, as those of a Bluetooth adapter.
    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {}
}
