import AdapterScanning
import BeaconMonitoring
import BluetoothLE
import EventLoops
import Synchronization
import SystemPackage

/// The Bluetooth adapters of the machine as the source of a monitor: the gateway's supervisor on a thread of its own,
/// which delivers the reports of each turn at once.
final class LiveSource: SightingSource {
    let clock: any MonitorClock = SystemMonitorClock()
    private let options: LiveOptions
    private let current = Mutex<HandOver?>(nil)

    init(_ options: LiveOptions) { self.options = options }

    /// Scans until the task is cancelled.
    ///
    /// - Throws: ``ScanningError`` if no backend can be used by this user on this machine; `CancellationError`.
    func run(into monitor: BeaconMonitor) async throws {
        let registry = monitor.service
        var options = options
        options.deafAfter = await monitor.deafAfter
        let handOver: HandOver
        let thread: OwnThread
        do throws(Errno) {
            handOver = try HandOver(demand: registry.demand)
            thread = try OwnThread(named: "beacon-hearing") { [options, handOver] in ScanThread.run(options, handOver) }
        } catch {
            throw ScanningError(.failed, "the process can't scan in the background: \(error)")
        }
        current.withLock { $0 = handOver }
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for await demand in registry.demands { handOver.want(demand) } }
                var delivery = Delivery()
                while let batch = await handOver.fetch() { await delivery.deliver(batch, to: monitor, handOver) }
                group.cancelAll()
            }
        } onCancel: {
            handOver.stop()
        }
        current.withLock { $0 = nil }
        // The thread has reported its end.
        thread.join()
        handOver.drained()
        try handOver.outcome()
        try Task.checkCancellation()
    }

    func drain() async { await current.withLock { $0 }?.drain() }
}

/// The state between deliveries.
private struct Delivery: Sendable {
    private var adapters = LiveAdapters()
    private var frames = FrameBatch()
    private var obstacles: Diagnostics = []
    private var clock: Diagnostics = []

    /// Passes a batch to a monitor, in order, with as few inputs as possible.
    mutating func deliver(_ batch: HandOver.Batch, to monitor: isolated BeaconMonitor, _ handOver: HandOver) {
        var place = 0
        for (end, change) in batch.changes {
            monitor.received(batch.entries[place..<end], of: adapters.ids, by: &frames)
            place = end
            switch change {
            case .change(.obstacles(let present), _):
                obstacles = Diagnostics(present)
                report(to: monitor)
            case .change(let change, let time):
                monitor.give { engine, actions in
                    adapters.changed(change, at: time, in: &engine, into: &actions)
                }
            case .clock(let isSynchronized):
                clock = isSynchronized ? [] : .clockUnsynchronized
                report(to: monitor)
            case .drained(let id): handOver.drained(upTo: id)
            }
        }
        monitor.received(batch.entries[place...], of: adapters.ids, by: &frames)
    }

    private func report(to monitor: isolated BeaconMonitor) {
        let flags = obstacles.union(clock)
        monitor.setAmbientDiagnostics(flags)
        monitor.service.report(flags)
    }
}
