import BaseTypes
import BluetoothLE

/// The reports of one turn of the loop, as a monitor takes them: each with its iBeacons, or as one that was heard.
struct HeardReports: ReportHandler {
    /// What was heard since it was emptied.
    private(set) var entries: ContiguousArray<FrameBatch.Entry> = []
    /// Whether the last entry is of a report of which no iBeacon came yet.
    private var isOpen = false
    /// How many entries something else was told behind.
    private var closed = 0

    /// No reports, with room for 64 before it grows.
    init() { entries.reserveCapacity(64) }

    /// Time goes on, whether or not something is heard then.
    mutating func advance(to time: Instant) {
        isOpen = false
        entries.append(FrameBatch.Entry(.time, adapter: 0, time: time))
    }

    /// What comes stands behind something else that is told.
    mutating func close() {
        isOpen = false
        closed = entries.count
    }

    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
        guard let adapter, let time else { return }
        // That it is heard then says that time goes on.
        if entries.count > closed, let last = entries.last, !last.kind.isBeacon, !last.kind.isHeard, last.time == time {
            entries.removeLast()
        }
        entries.append(FrameBatch.Entry(.heard, adapter: adapter, time: time))
        isOpen = true
    }

    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
        guard let adapter, let time else { return }
        let frame = BeaconFrame(beacon, in: report)
        if isOpen, let last = entries.indices.last {
            entries[last] = FrameBatch.Entry(frame, .first, adapter: adapter, time: time)
        } else {
            entries.append(FrameBatch.Entry(frame, .further, adapter: adapter, time: time))
        }
        isOpen = false
    }

    /// What was heard since the last call.
    mutating func take() -> ContiguousArray<FrameBatch.Entry> {
        defer { entries.removeAll(keepingCapacity: true) }
        isOpen = false
        closed = 0
        return entries
    }
}
