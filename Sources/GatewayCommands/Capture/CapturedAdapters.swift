import AdapterScanning
import BaseTypes
import BeaconMonitoring

/// The adapters of `run --from` in the engine, with the same rules as in a replay (rules L4, L7).
///
/// Bounds: as many adapters as the supervisor has places for.
struct CapturedAdapters {
    private var controllers = ReplayControllers(sources: 1)
    /// The IDs of the engine, at the numbers of the adapters; empty if the capture has ended.
    private var ids: [AdapterID?] = []
    private var adapters: [ReplayAdapter?] = []
    /// The numbers, in the order in which they got their names.
    private var order: [Int] = []
    /// Whether there was a capture.
    private(set) var isUsed = false

    /// Returns the ID of an adapter; `nil` if the engine has too many adapters.
    func id(of number: Int) -> AdapterID? { ids.indices.contains(number) ? ids[number] : nil }

    /// Handles a change of an adapter in the capture, or the end of the capture.
    mutating func changed(
        _ change: CaptureChange, at time: Instant, in engine: inout MonitorEngine, into actions: inout ActionBuffer
    ) {
        switch change {
        case .added(let number, let name, let address, _, let listens):
            isUsed = true
            let adapter = ReplayAdapter(index: number, name: name, address: address, listens: listens)
            while ids.count <= number {
                ids.append(nil)
                adapters.append(nil)
            }
            adapters[number] = adapter
            order.removeAll { $0 == number }
            order.append(number)
            ids[number] = try? controllers.add(adapter, source: 0, at: time, in: &engine, into: &actions)
        case .marked(let number, let isListening, let since):
            guard let id = id(of: number) else { return }
            controllers.mark(isListening, since: since, number, id, source: 0, at: time, in: &engine, into: &actions)
        case .interrupted: break
        case .ended(let reason):
            for id in Set(ids.compactMap(\.self)).sorted(by: { $0.index < $1.index }) {
                // In this order, because the next record of an adapter that is not off makes it scan again.
                controllers.ended(id, in: &engine)
                engine.listening(
                    ListeningChange(.stopped(since: nil), adapter: id, reason: reason), at: time, into: &actions)
            }
            (ids, adapters, order) = ([], [], [])
        }
    }

    /// Handles a start or a stop that is not in the capture: the machine was suspended, or did not run.
    func set(
        _ kind: ListeningChange.Kind, _ number: Int, _ reason: String, at time: Instant,
        in engine: inout MonitorEngine, into actions: inout ActionBuffer
    ) {
        guard let id = id(of: number) else { return }
        engine.listening(ListeningChange(kind, adapter: id, reason: reason), at: time, into: &actions)
    }

    /// Stores whether each adapter scans in an engine that will be replaced.
    mutating func store(from engine: MonitorEngine) {
        for number in order {
            let scans = id(of: number).map { !engine.isOff($0) } ?? false
            adapters[number]?.listens = scans
        }
    }

    /// Adds the adapters to a new engine, in their stored states.
    mutating func restart(at time: Instant, in engine: inout MonitorEngine, into actions: inout ActionBuffer) {
        controllers = ReplayControllers(sources: 1)
        for number in order {
            guard let adapter = adapters[number] else { continue }
            ids[number] = try? controllers.add(adapter, source: 0, at: time, in: &engine, into: &actions)
        }
    }
}
