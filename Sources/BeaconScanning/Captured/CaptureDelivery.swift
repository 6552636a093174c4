import BaseTypes
import BeaconMonitoring
import BluetoothLE

/// Passes the parts of a capture to a monitor in the same way as a replay passes them to its engine (rules L4, L7).
struct CaptureDelivery: Sendable {
    /// The IDs of the adapters, at their indices in the capture.
    private var ids: [AdapterID?] = []
    private var controllers = ReplayControllers(sources: 1)
    private var frames = FrameBatch()

    /// Passes a part to the monitor, in order.
    mutating func deliver(_ chunk: CaptureChunk, to monitor: isolated BeaconMonitor) {
        var index = 0
        for (end, change) in chunk.changes {
            monitor.received(chunk.entries[index..<end], of: ids, by: &frames)
            index = end
            monitor.give { engine, actions in
                switch change {
                case .added(let adapter, let time): addAdapter(adapter, at: time, in: &engine, into: &actions)
                case .listening(let isListening, let index, let time, let since):
                    guard ids.indices.contains(index), let id = ids[index] else { return }
                    controllers.mark(
                        isListening, since: since, index, id, source: 0, at: time, in: &engine, into: &actions)
                }
            }
        }
        monitor.received(chunk.entries[index...], of: ids, by: &frames)
    }

    private mutating func addAdapter(
        _ adapter: ReplayAdapter, at time: Instant, in engine: inout MonitorEngine, into actions: inout ActionBuffer
    ) {
        while ids.count <= adapter.index { ids.append(nil) }
        // If the engine has too many adapters, the reports of this one are dropped.
        guard let id = try? controllers.add(adapter, source: 0, at: time, in: &engine, into: &actions) else { return }
        ids[adapter.index] = id
    }
}
