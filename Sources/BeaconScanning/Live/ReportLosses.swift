import AdapterScanning
import BaseTypes
import BluetoothLE

/// The reports that found no room on their way to the monitor, by adapter: what is told of them once there is (rule T5).
struct ReportLosses {
    private struct Adapter {
        let number: Int
        /// Its last report that was handed over.
        var last: Instant
        var lost = 0
    }

    // As many as a supervisor follows.
    private var adapters: [Adapter] = []
    /// How many reports have been lost since the beginning.
    private(set) var total = 0

    /// Whether none is to be told of.
    var isEmpty: Bool { !adapters.contains { $0.lost > 0 } }

    /// Reports were handed over.
    mutating func handed(_ entries: ContiguousArray<FrameBatch.Entry>) {
        for entry in entries where entry.kind.isHeard { with(entry) { $0.last = max($0.last, entry.time) } }
    }

    /// Counts reports that found no room, since the last that was handed over.
    mutating func lost(_ entries: ContiguousArray<FrameBatch.Entry>) {
        for entry in entries where entry.kind.isHeard {
            total &+= 1
            with(entry) { $0.lost &+= 1 }
        }
    }

    /// What is to be told, which is nothing then.
    mutating func take() -> [ScanChange] {
        let changes = adapters.filter { $0.lost > 0 }.map {
            ScanChange.lost(adapter: $0.number, count: $0.lost, since: $0.last)
        }
        for place in adapters.indices { adapters[place].lost = 0 }
        return changes
    }

    private mutating func with(_ entry: FrameBatch.Entry, _ body: (inout Adapter) -> Void) {
        let number = Int(entry.adapter)
        if let place = adapters.firstIndex(where: { $0.number == number }) {
            body(&adapters[place])
        } else {
            // Nothing of it has been handed over: all of it was lost.
            var adapter = Adapter(number: number, last: entry.time)
            body(&adapter)
            adapters.append(adapter)
        }
    }
}
