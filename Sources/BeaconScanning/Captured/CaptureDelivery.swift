import BaseTypes
import BeaconMonitoring
import BluetoothLE

/// Hands a recording's pieces to a monitor, as a replay hands them to its engine (rules L4, L7).
struct CaptureDelivery: Sendable {
    /// The adapters at the indices that the recording has.
    private var ids: [AdapterID?] = []
    private var controllers = ReplayControllers(sources: 1)
    private var frames = FrameBatch()

    /// Hands over a piece, in order.
    mutating func deliver(_ chunk: CaptureChunk, to monitor: isolated BeaconMonitor) {
        var index = 0
        for (end, news) in chunk.news {
            hand(chunk.entries[index..<end], to: monitor)
            index = end
            monitor.give { engine, actions in
                switch news {
                case .met(let adapter, let time): meet(adapter, at: time, in: &engine, into: &actions)
                case .listening(let isListening, let index, let time, let since):
                    guard ids.indices.contains(index), let id = ids[index] else { return }
                    controllers.mark(
                        isListening, since: since, index, id, source: 0, at: time, in: &engine, into: &actions)
                }
            }
        }
        hand(chunk.entries[index...], to: monitor)
    }

    private mutating func hand(_ entries: ArraySlice<FrameBatch.Entry>, to monitor: isolated BeaconMonitor) {
        for entry in entries {
            if frames.append(entry) { continue }
            flush(to: monitor)
            _ = frames.append(entry)
        }
        flush(to: monitor)
    }

    private mutating func flush(to monitor: isolated BeaconMonitor) {
        guard frames.counts.entries > 0 else { return }
        monitor.heard(frames, of: ids)
        frames.removeAll()
    }

    private mutating func meet(
        _ adapter: ReplayAdapter, at time: Instant, in engine: inout MonitorEngine, into actions: inout ActionBuffer
    ) {
        while ids.count <= adapter.index { ids.append(nil) }
        // One adapter more than the engine tells apart: its reports go no further.
        guard let id = try? controllers.meet(adapter, source: 0, at: time, in: &engine, into: &actions) else { return }
        ids[adapter.index] = id
    }
}
