import BaseTypes
import BluetoothLE

/// Collects reports in the form that a monitor takes: each with its iBeacons, or as a report without one.
struct ReportCollector: ReportHandler {
    /// The reports since the last call of ``take()``.
    private(set) var entries: ContiguousArray<FrameBatch.Entry> = []
    /// Whether the last entry is of a report of which no iBeacon has followed yet.
    private var isOpen = false
    /// The number of entries before the last change of an adapter.
    private var closed = 0

    /// Creates an empty collection with room for 64 entries.
    init() { entries.reserveCapacity(64) }

    /// Adds an entry that only advances the time.
    mutating func advance(to time: Instant) {
        isOpen = false
        entries.append(FrameBatch.Entry(.time, adapter: 0, time: time))
    }

    /// Ends the current group of entries, because a change of an adapter follows.
    mutating func close() {
        isOpen = false
        closed = entries.count
    }

    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
        guard let adapter, let time else { return }
        // The entry of the report also advances the time, so the entry before is not needed.
        if entries.count > closed, let last = entries.last, !last.kind.isBeacon, !last.kind.hasReports,
            last.time == time
        {
            entries.removeLast()
        }
        entries.append(FrameBatch.Entry(.withoutBeacon, adapter: adapter, time: time))
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

    /// Returns the collected reports and removes them.
    mutating func take() -> ContiguousArray<FrameBatch.Entry> {
        defer { entries.removeAll(keepingCapacity: true) }
        isOpen = false
        closed = 0
        return entries
    }
}
