package import BaseTypes
package import BluetoothLE

/// An adapter that a source has (rules L4, L7).
package struct ReplayAdapter: Sendable {
    /// Its index in the source's table.
    package var index: Int
    /// The capture's name for it, and the name in lines.
    package var name: String
    /// Its controller's address; absent if the source does not have it.
    package var address: DeviceAddress?
    /// Whether it listens from this record on if it is the first of it; false if the record says that it does not listen.
    package var listens: Bool

    /// Makes an adapter from a capture's table.
    package init(index: Int, name: String, address: DeviceAddress?, listens: Bool) {
        self.index = index
        self.name = name
        self.address = address
        self.listens = listens
    }
}

/// The controllers of a replay: their names, and the adapters of the engine that they are (rules L4, L7).
///
/// Bounds: as many entries as the sources have adapters, which their readers bound.
package struct ReplayControllers: Sendable {
    private var sources: [[Int: ReplayAdapter]] = []
    private var names: [String: AdapterID] = [:]
    /// The adapters of which a source that has not ended has had a record. From there on only a report or a mark of the
    /// capture makes one listen again.
    private var begun: Set<AdapterID> = []
    /// The gateways whose adapters have addresses.
    private var gatewaysWithAddresses: Set<String> = []

    package init(sources count: Int = 0) { sources = Array(repeating: [:], count: count) }

    /// Whether an adapter of the same gateway was met with an address.
    package func knowsAddresses(besides name: String) -> Bool {
        gatewaysWithAddresses.contains(AdapterDirectory.gateway(of: name))
    }

    /// Takes the first record of an adapter since it got its name or address, and stops the adapter that had the name.
    ///
    /// - Parameters:
    ///   - adapter: The adapter.
    ///   - source: The source of the record.
    ///   - time: The record's time.
    ///   - engine: Receives the inputs.
    ///   - actions: Receives the engine's actions.
    /// - Returns: The engine's adapter.
    /// - Throws: ``MonitorError/adaptersTooMany(_:)``.
    package mutating func meet(
        _ adapter: ReplayAdapter, source: Int, at time: Instant, in engine: inout MonitorEngine,
        into actions: inout ActionBuffer
    ) throws(MonitorError) -> AdapterID {
        let id = try engine.adapter(named: adapter.name, address: adapter.address, at: time, into: &actions)
        sources[source][adapter.index] = adapter
        if adapter.address != nil { gatewaysWithAddresses.insert(AdapterDirectory.gateway(of: adapter.name)) }
        for (name, other) in names where other == id && name != adapter.name { names[name] = nil }
        if let former = names.updateValue(id, forKey: adapter.name), former != id {
            let change = ListeningChange(
                .stopped(since: nil), adapter: former, reason: "another controller has its name")
            engine.listening(change, at: time, into: &actions)
        }
        if begun.insert(id).inserted, adapter.listens {
            engine.listening(ListeningChange(.started, adapter: id, reason: "first record"), at: time, into: &actions)
        }
        return id
    }

    /// Takes a mark of the capture that an adapter listens, or does not.
    ///
    /// - Parameters:
    ///   - isListening: Whether it listens.
    ///   - since: When it had stopped, if that was noticed later.
    ///   - index: Its index in the source's table.
    ///   - id: The engine's adapter.
    ///   - source: The source of the record.
    ///   - time: The record's time.
    ///   - engine: Receives the inputs.
    ///   - actions: Receives the engine's actions.
    package func mark(
        _ isListening: Bool, since: Instant?, _ index: Int, _ id: AdapterID, source: Int, at time: Instant,
        in engine: inout MonitorEngine, into actions: inout ActionBuffer
    ) {
        if let adapter = sources[source][index] {
            if isListening {
                _ = try? engine.adapter(named: adapter.name, address: adapter.address, at: time, into: &actions)
            } else {
                engine.adapterLeft(named: adapter.name)
            }
        }
        let change = ListeningChange(
            isListening ? .started : .stopped(since: since), adapter: id, reason: "marked in the capture")
        engine.listening(change, at: time, into: &actions)
    }

    /// Takes the end of the last source with an adapter: its names are free, and it listens from its next record on, unless a
    /// mark says that it does not.
    package mutating func ended(_ id: AdapterID, in engine: inout MonitorEngine) {
        if !engine.isOff(id) { begun.remove(id) }
        for name in names.filter({ $0.value == id }).keys {
            names[name] = nil
            engine.adapterLeft(named: name)
        }
    }
}
