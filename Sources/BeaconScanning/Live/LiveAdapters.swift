package import AdapterScanning
package import BaseTypes
package import BeaconMonitoring
package import BluetoothLE
import OperatorLogging

/// Which adapters of an engine the kernel's numbers stand for at present: what scanners tell goes in by them (rules L4, L7).
package struct LiveAdapters: Sendable {
    /// The adapters that the engine knows, at the places of their numbers.
    package private(set) var ids: [AdapterID?] = []
    /// The controllers' addresses, by the numbers that they have now (rule L7).
    private var addresses: [Int: DeviceAddress] = [:]

    /// None that the engine knows.
    package init() {}

    /// The ID of an adapter, made known where it is new; `nil` where it is one more than the engine takes.
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
        // The kernel's are of 16 bits.
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

    /// Another engine goes on: it knows none of them yet.
    package mutating func forgetAll() { ids = [] }

    /// Something became of an adapter; what stands in the way, and the end of all ways, are for somebody else.
    package mutating func changed(
        _ change: ScanChange, at time: Instant, in engine: inout MonitorEngine, into actions: inout ActionBuffer
    ) {
        switch change {
        case .appeared(let number, _, let address):
            // Known from here on: it should listen, and while it does not, events say so.
            appeared(number, address, at: time, in: &engine, into: &actions)
        case .disappeared(let number): disappeared(number, in: &engine)
        case .listening(let number, let reason):
            started(number, reason: reason, at: time, in: &engine, into: &actions)
        case .stopped(let number, let since, let reason):
            stopped(number, since: since, reason: reason, at: time, in: &engine, into: &actions)
        case .lost(let number, let count, let since):
            // Its next report proves that it listens again (rule T5). Reports of others that are later than the loss may have
            // been handled already; they do not make this one late.
            let messages = PlainText.count(count, "message was lost", "messages were lost")
            let reason = count > 0 ? messages : "messages were lost"
            stopped(number, since: since, reason: reason, at: max(time, engine.now), in: &engine, into: &actions)
        case .needs, .obstacles, .ended: break
        }
    }

    /// A controller is there under that number: it may be another than the last one, or one that had another number.
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

    /// No controller has that number any more.
    private mutating func disappeared(_ number: Int, in engine: inout MonitorEngine) {
        engine.adapterLeft(named: ScanSupervisor.Options.adapterName(of: number))
        forget(number)
        addresses[number] = nil
    }

    /// An adapter began to listen.
    package mutating func started(
        _ number: Int, reason: String, at time: Instant, in engine: inout MonitorEngine,
        into actions: inout ActionBuffer
    ) {
        // It goes by its name again: where its address is another's too, that shows here.
        forget(number)
        change(.started, number, reason, at: time, in: &engine, into: &actions)
    }

    /// An adapter stopped at `since`.
    package mutating func stopped(
        _ number: Int, since: Instant, reason: String, at time: Instant, in engine: inout MonitorEngine,
        into actions: inout ActionBuffer
    ) {
        change(.stopped(since: since), number, reason, at: time, in: &engine, into: &actions)
        engine.adapterLeft(named: ScanSupervisor.Options.adapterName(of: number))
    }

    /// An adapter was taken out of the configuration.
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
