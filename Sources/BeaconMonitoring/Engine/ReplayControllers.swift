import BluetoothLE

/// Which adapter goes by which name in a replay, and which of them the captures say not to listen (rules L4, L7).
///
/// Bounds: as many entries as the sources have adapters, which their readers bound.
package struct ReplayControllers: Sendable {
    private var sources: [[Int: ReplayAdapter]] = []
    private var names: [String: AdapterID] = [:]
    private var silent: Set<AdapterID> = []
    /// The gateways of which adapters were met with addresses: what stands before their names' last slash.
    private var gatewaysWithAddresses: Set<String> = []

    package init(sources count: Int = 0) { sources = Array(repeating: [:], count: count) }

    /// Whether an adapter of the same gateway was met with an address.
    package func knowsAddresses(besides name: String) -> Bool { gatewaysWithAddresses.contains(Self.gateway(of: name)) }

    /// What stands before the last slash of a name: adapters of several gateways are told apart by it.
    package static func gateway(of name: String) -> String {
        name.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(name[..<$0]) } ?? ""
    }

    /// Takes that an adapter goes by a name now.
    ///
    /// - Returns: the one that did before, and no longer does.
    package mutating func met(_ adapter: ReplayAdapter, _ id: AdapterID, source: Int) -> AdapterID? {
        sources[source][adapter.index] = adapter
        if adapter.address != nil { gatewaysWithAddresses.insert(Self.gateway(of: adapter.name)) }
        let former = names[adapter.name]
        for (name, other) in names where other == id && name != adapter.name { names[name] = nil }
        names[adapter.name] = id
        return former == id ? nil : former
    }

    /// Whether an adapter listens from the record on with which it was met.
    package mutating func begins(_ adapter: ReplayAdapter, _ id: AdapterID) -> Bool {
        switch adapter.beginning {
        case .listening:
            silent.remove(id)
            return true
        case .silent: return false
        case .newIndex: return !silent.contains(id)
        }
    }

    /// The capture says that an adapter listens: it goes by its name.
    package mutating func started(_ index: Int, _ id: AdapterID, source: Int) -> ReplayAdapter? {
        silent.remove(id)
        return sources[source][index]
    }

    /// The capture says that an adapter does not listen: the name that is free now.
    package mutating func stopped(_ index: Int, _ id: AdapterID, source: Int) -> String? {
        silent.insert(id)
        return sources[source][index]?.name
    }

    /// The last file with an adapter has ended: the names that are free now.
    package mutating func ended(_ id: AdapterID) -> [String] {
        silent.remove(id)
        let free = names.filter { $0.value == id }.map(\.key)
        for name in free { names[name] = nil }
        return free
    }
}
