package import AdapterScanning
package import BaseTypes
package import BeaconMonitoring
package import BluetoothLE
import OperatorLogging

/// Maps the kernel's numbers of adapters to the adapters of an engine, and passes their changes to it (rules L4, L7).
package struct LiveAdapters: Sendable {
    /// The IDs of the engine, at the numbers of the adapters.
    package private(set) var ids: [AdapterID?] = []
    /// The addresses of the controllers, by their current numbers (rule L7).
    private var addresses: [Int: DeviceAddress] = [:]

    /// Creates an empty map.
    package init() {}

    /// Returns the ID of an adapter, and adds it to the engine if it is new; `nil` if the engine has too many adapters.
    @inline(__always)
    package mutating func id(
        of number: Int, at time: Instant, in engine: inout MonitorEngine, into actions: inout ActionBuffer
    ) -> AdapterID? {
        if ids.indices.contains(number), let id = ids[number] { return id }
        return learn(number, at: time, in: &engine, into: &actions)
    }

    @inline(never)
    private mutating func learn(
        _ number: Int, at time: Instant, in engine: inout MonitorEngine, into actions: inout ActionBuffer
    ) -> AdapterID? {
        // The kernel's numbers have 16 bits.
        guard UInt16(exactly: number) != nil,
            let id = try? engine.adapter(
                named: ScanSupervisor.Options.adapterName(of: number), address: addresses[number], at: time,
                into: &actions)
        else { return nil }
        while ids.count <= number { ids.append(nil) }
        ids[number] = id
        return id
    }

    private mutating func forget(_ number: Int) {
        if ids.indices.contains(number) { ids[number] = nil }
    }

    /// Removes all IDs, because another engine is used from now on.
    package mutating func forgetAll() { ids = [] }

    /// Passes a change of an adapter to the engine. Obstacles and the end of all backends are not handled here.
    package mutating func changed(
        _ change: ScanChange, at time: Instant, in engine: inout MonitorEngine, into actions: inout ActionBuffer
    ) {
        switch change {
        case .appeared(let number, _, let address):
            // The adapter is known from now on. It should scan, and events have a diagnostic while it does not.
            appeared(number, address, at: time, in: &engine, into: &actions)
        case .disappeared(let number): disappeared(number, in: &engine)
        case .listening(let number, let reason):
            started(number, reason: reason, at: time, in: &engine, into: &actions)
        case .stopped(let number, let since, let reason):
            stopped(number, since: since, reason: reason, at: time, in: &engine, into: &actions)
        case .lost(let number, let count, let since):
            // The next report of the adapter proves that it scans again (rule T5). Reports of other adapters can be
            // later than the loss and already handled; the loss must not count as late because of that.
            let messages = PlainText.count(count, "message was lost", "messages were lost")
            let reason = count > 0 ? messages : "messages were lost"
            stopped(number, since: since, reason: reason, at: max(time, engine.now), in: &engine, into: &actions)
        case .needs, .capture, .obstacles, .ended: break
        }
    }

    /// Handles a controller that has this number from now on. It can be another one than before, or have had another
    /// number.
    package mutating func appeared(
        _ number: Int, _ address: DeviceAddress?, at time: Instant, in engine: inout MonitorEngine,
        into actions: inout ActionBuffer
    ) {
        let former = ids.indices.contains(number) ? ids[number] : nil
        addresses[number] = address
        forget(number)
        guard let id = id(of: number, at: time, in: &engine, into: &actions), let former, former != id,
            !ids.contains(former)
        else { return }
        let change = ListeningChange(
            .stopped(since: nil), adapter: former,
            reason: "\(ScanSupervisor.Options.adapterName(of: number)) is another controller")
        engine.listening(change, at: time, into: &actions)
    }

    /// Handles that no controller has this number any more.
    private mutating func disappeared(_ number: Int, in engine: inout MonitorEngine) {
        engine.adapterLeft(named: ScanSupervisor.Options.adapterName(of: number))
        forget(number)
        addresses[number] = nil
    }

    /// Handles that an adapter started to scan.
    package mutating func started(
        _ number: Int, reason: String, at time: Instant, in engine: inout MonitorEngine,
        into actions: inout ActionBuffer
    ) {
        // Its name belongs to it again. If it shares its address with another controller, that is detected here.
        forget(number)
        change(.started, number, reason, at: time, in: &engine, into: &actions)
    }

    /// Handles that an adapter stopped at `since`.
    package mutating func stopped(
        _ number: Int, since: Instant, reason: String, at time: Instant, in engine: inout MonitorEngine,
        into actions: inout ActionBuffer
    ) {
        change(.stopped(since: since), number, reason, at: time, in: &engine, into: &actions)
        engine.adapterLeft(named: ScanSupervisor.Options.adapterName(of: number))
    }

    /// Handles that an adapter was removed from the configuration.
    package mutating func removed(
        _ number: Int, reason: String, at time: Instant, in engine: inout MonitorEngine,
        into actions: inout ActionBuffer
    ) {
        change(.removed, number, reason, at: time, in: &engine, into: &actions)
        disappeared(number, in: &engine)
    }

    private mutating func change(
        _ kind: ListeningChange.Kind, _ number: Int, _ reason: String, at time: Instant,
        in engine: inout MonitorEngine, into actions: inout ActionBuffer
    ) {
        guard let id = id(of: number, at: time, in: &engine, into: &actions) else { return }
        engine.listening(ListeningChange(kind, adapter: id, reason: reason), at: time, into: &actions)
    }
}
