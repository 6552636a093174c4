package import BaseTypes
package import BluetoothLE

/// An adapter of a source (rules L4, L7).
package struct ReplayAdapter: Sendable {
    /// The index in the table of the source.
    package var index: Int
    /// The name in the capture, and in lines.
    package var name: String
    /// The address of the controller; `nil` if the source does not have it.
    package var address: DeviceAddress?
    /// Whether it scans from this record on, if this is its first record; false if the record says that it does not
    /// scan.
    package var listens: Bool

    /// Creates an adapter from the table of a capture.
    package init(index: Int, name: String, address: DeviceAddress?, listens: Bool) {
        self.index = index
        self.name = name
        self.address = address
        self.listens = listens
    }
}

/// The controllers of a replay: their names, and the adapters of the engine to which they belong (rules L4, L7).
///
/// Bounds: one entry for each adapter of the sources, whose number is limited by their readers.
package struct ReplayControllers: Sendable {
    private var sources: [[Int: ReplayAdapter]] = []
    private var names: [String: AdapterID] = [:]
    /// The adapters with a record from a source that has not ended. After the first record, only a report or a mark in
    /// the capture makes an adapter scan again.
    private var begun: Set<AdapterID> = []
    /// The gateways whose adapters have addresses.
    private var gatewaysWithAddresses: Set<String> = []

    package init(sources count: Int = 0) { sources = Array(repeating: [:], count: count) }

    /// Returns whether an adapter of the same gateway had an address.
    package func knowsAddresses(besides name: String) -> Bool {
        gatewaysWithAddresses.contains(name.gatewayOfAdapter)
    }

    /// Handles the first record of an adapter after it got its name or address, and stops the adapter that had the
    /// name.
    ///
    /// - Parameters:
    ///   - adapter: the adapter.
    ///   - source: the source of the record.
    ///   - time: the time of the record.
    ///   - engine: receives the inputs.
    ///   - actions: receives the actions of the engine.
    /// - Returns: the adapter of the engine.
    /// - Throws: ``MonitorError/adaptersTooMany(_:)``.
    package mutating func add(
        _ adapter: ReplayAdapter, source: Int, at time: Instant, in engine: inout MonitorEngine,
        into actions: inout ActionBuffer
    ) throws(MonitorError) -> AdapterID {
        let id = try engine.adapter(named: adapter.name, address: adapter.address, at: time, into: &actions)
        sources[source][adapter.index] = adapter
        if adapter.address != nil { gatewaysWithAddresses.insert(adapter.name.gatewayOfAdapter) }
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

    /// Handles a mark in the capture that an adapter scans, or that it does not.
    ///
    /// - Parameters:
    ///   - isListening: whether it scans.
    ///   - since: the time at which it had stopped, if that was noticed later.
    ///   - index: its index in the table of the source.
    ///   - id: the adapter of the engine.
    ///   - source: the source of the record.
    ///   - time: the time of the record.
    ///   - engine: receives the inputs.
    ///   - actions: receives the actions of the engine.
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

    /// Handles the end of the last source with an adapter. Its names become free. Unless it was off at that time, its
    /// next record makes it scan again, if the record does not say that it does not scan (rule L4).
    package mutating func ended(_ id: AdapterID, in engine: inout MonitorEngine) {
        if !engine.isOff(id) { begun.remove(id) }
        for name in names.filter({ $0.value == id }).keys {
            names[name] = nil
            engine.adapterLeft(named: name)
        }
    }
}
