import AdapterScanning
import BeaconMonitoring
import BluetoothLE
import EventLoops
import Synchronization
import SystemPackage

/// The machine's Bluetooth adapters as a monitor's source: a gateway's supervisor on a thread of its own, whose turns are
/// handed over in one go.
final class LiveSource: SightingSource {
    let clock: any MonitorClock = SystemMonitorClock()
    private let options: LiveOptions
    private let current = Mutex<HandOver?>(nil)

    init(_ options: LiveOptions) { self.options = options }

    /// Hears until the task is cancelled.
    ///
    /// - Throws: ``HearingError`` where no way of hearing is open to this user on this machine, `CancellationError`.
    func run(into monitor: BeaconMonitor) async throws {
        let registry = monitor.service
        var options = options
        options.deafAfter = await monitor.deafAfter
        let handOver: HandOver
        let thread: OwnThread
        do throws(Errno) {
            handOver = try HandOver(demand: registry.demand)
            thread = try OwnThread(named: "beacon-hearing") { [options, handOver] in Hearing.run(options, handOver) }
        } catch {
            throw HearingError(.failed, "the process can't scan in the background: \(error)")
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
        // It has said that nothing comes any more.
        thread.join()
        handOver.drained()
        try handOver.outcome()
        try Task.checkCancellation()
    }

    func drain() async { await current.withLock { $0 }?.drain() }
}

/// What is kept from one delivery to the next.
private struct Delivery: Sendable {
    private var adapters = LiveAdapters()
    private var frames = FrameBatch()
    private var obstacles: Diagnostics = []
    private var clock: Diagnostics = []

    /// Hands a batch to a monitor, in order, in as few inputs as it takes.
    mutating func deliver(_ batch: HandOver.Batch, to monitor: isolated BeaconMonitor, _ handOver: HandOver) {
        var place = 0
        for (end, news) in batch.news {
            monitor.heard(batch.entries[place..<end], of: adapters.ids, by: &frames)
            place = end
            switch news {
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
        monitor.heard(batch.entries[place...], of: adapters.ids, by: &frames)
    }

    private func report(to monitor: isolated BeaconMonitor) {
        let flags = obstacles.union(clock)
        monitor.setAmbientDiagnostics(flags)
        monitor.service.report(flags)
    }
}
