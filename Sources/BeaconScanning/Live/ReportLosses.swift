import AdapterScanning
import BaseTypes
import BluetoothLE

/// The adapters whose reports found no room on their way to the monitor (rule T5).
struct ReportLosses {
    private struct Adapter {
        let number: Int
        /// The time of its last delivered report.
        var last: Instant
        var isLosing = false
    }

    // At most as many as the supervisor has.
    private var adapters: [Adapter] = []
    /// The number of reports that were lost since the start.
    private(set) var total = 0

    /// Whether an adapter has lost reports since its last delivered one.
    var areUnderWay: Bool { adapters.contains(where: \.isLosing) }

    /// Records delivered reports.
    mutating func handed(_ entries: ContiguousArray<FrameBatch.Entry>) {
        for entry in entries where entry.kind.hasReports {
            let place = place(of: entry)
            adapters[place].last = max(adapters[place].last, entry.time)
            adapters[place].isLosing = false
        }
    }

    /// Records that an adapter was reported to scan, or not to scan. The next report that it loses is a new loss.
    mutating func changed(_ number: Int, at time: Instant) {
        for place in adapters.indices where adapters[place].number == number {
            adapters[place].isLosing = false
            adapters[place].last = max(adapters[place].last, time)
        }
    }

    /// Counts reports that found no room.
    ///
    /// - Returns: the losses that start with them, each with the time of the adapter's last report before it. That time
    ///   is necessary: otherwise the monitor would treat lost reports as absent beacons.
    mutating func lost(_ entries: ContiguousArray<FrameBatch.Entry>) -> [(change: ScanChange, time: Instant)] {
        var losses: [(change: ScanChange, time: Instant)] = []
        for entry in entries where entry.kind.hasReports {
            total &+= 1
            let place = place(of: entry)
            guard !adapters[place].isLosing else { continue }
            adapters[place].isLosing = true
            let last = adapters[place].last
            // The final number is not known yet.
            losses.append((.lost(adapter: adapters[place].number, count: 0, since: last), last))
        }
        return losses
    }

    // An adapter without delivered reports has lost all reports since its first.
    private mutating func place(of entry: FrameBatch.Entry) -> Int {
        let number = Int(entry.adapter)
        if let place = adapters.firstIndex(where: { $0.number == number }) { return place }
        adapters.append(Adapter(number: number, last: entry.time))
        return adapters.count - 1
    }
}
