import BaseTypes
import BluetoothLE

@testable import BeaconMonitoring

// The identities of controllers (rule L7), written as simply as the rest.
extension ReferenceMonitor {
    func adapter(
        named name: String, address: DeviceAddress?, at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) -> AdapterID {
        advance(to: max(time, now), into: &actions)
        let gateway = Self.gateway(of: name)
        var address = address.map { DeviceAddress($0.value, kind: .unspecified) }
        if let given = address, given.value == 0 || sharedAddresses.contains("\(gateway)\(given)") { address = nil }
        let controllers = adapters.filter { $0 !== source }.sorted { $0.id.index < $1.id.index }
        var found = controllers.first {
            address != nil && $0.address == address && Self.gateway(of: $0.presentName) == gateway
        }
        if let given = address, let other = found, other.isPresent, !Self.isSame(other.presentName, name) {
            sharedAddresses.insert("\(gateway)\(given)")
            other.address = nil
            (found, address) = (nil, nil)
        }
        if found == nil {
            let nameless = controllers.filter { $0.address == nil }
            let namesakes = nameless.filter { Self.isSame($0.presentName, name) }
            found = namesakes.first { $0.isPresent } ?? namesakes.first
            if found == nil {
                found = nameless.first { other in
                    other.isRestored && (2...300).contains { Self.isSame(other.presentName, "\(name)-\($0)") }
                }
            }
        }
        let adapter = found ?? Adapter(id: AdapterID(index: adapters.count + 1), name: "")
        if found == nil {
            adapter.name = newName(name, address, besides: adapter)
            adapters.append(adapter)
            sortAdapters()
        }
        adapter.address = adapter.address ?? address
        adapterLeft(named: name)
        (adapter.presentName, adapter.isPresent, adapter.isRestored) = (name, true, false)
        if adapter.isOnlyRemembered {
            adapter.isOnlyRemembered = false
            adapter.state = nil
        }
        return adapter.id
    }

    /// Reports the names that adapters got since the last event or adapter change (rules L7, T3).
    func reportNames() {
        for adapter in adapters.sorted(by: { $0.id.index < $1.id.index })
        where !Self.isSame(reportedNames[adapter.id] ?? "", adapter.name) {
            reportedNames[adapter.id] = adapter.name
            made.append(.adapterNamed(adapter.id, name: adapter.name))
        }
    }

    func adapterLeft(named name: String) {
        for adapter in adapters where Self.isSame(adapter.presentName, name) { adapter.isPresent = false }
    }

    /// Names a forgotten adapter that scans again as if it were new.
    func renameIfForgotten(_ adapter: Adapter) {
        guard isForgotten(adapter) else { return }
        adapter.name = ""
        adapter.name = newName(adapter.presentName, adapter.address, besides: adapter)
        sortAdapters()
    }

    /// Returns whether an adapter is forgotten in every monitor (rule L3), so that its name is free again.
    func isForgotten(_ adapter: Adapter) -> Bool {
        guard adapter !== source, !adapter.listens else { return false }
        guard let stopped = adapter.stoppedInFact ?? adapter.stopped else { return adapter.state == .gone }
        guard adapter.stopped != nil else { return adapter.state == .gone }
        return hasBeenLong(since: stopped)
    }

    /// Returns whether the longest `forget_after` of all monitors has passed since a stop.
    func hasBeenLong(since stopped: Instant) -> Bool {
        guard let longest = monitors.map(\.settings.forgetAfter).max() else { return false }
        return stopped + longest <= now
    }

    private func newName(_ name: String, _ address: DeviceAddress?, besides adapter: Adapter) -> String {
        guard let owner = owner(of: name), owner !== adapter else { return name }
        guard isForgotten(owner) else { return furtherName(name, address) }
        owner.name = furtherName(name, owner.address)
        return name
    }

    private func furtherName(_ name: String, _ address: DeviceAddress?) -> String {
        var candidates: [String] = []
        var stem = name
        if let address {
            let digits = String(address.value, radix: 16, uppercase: true)
            stem += "-" + String(repeating: "0", count: 12 - digits.count) + digits
            candidates.append(stem)
        }
        candidates += (2...300).map { "\(stem)-\($0)" }
        return candidates.first { owner(of: $0) == nil }!
    }

    private func owner(of name: String) -> Adapter? {
        adapters.first { $0 !== source && Self.isSame($0.name, name) }
    }

    private func sortAdapters() { adapters.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) } }

    private static func isSame(_ name: String, _ other: String) -> Bool { Array(name.utf8) == Array(other.utf8) }

    static func gateway(of name: String) -> String {
        name.contains("/") ? name.split(separator: "/").dropLast().joined(separator: "/") + "/" : ""
    }

    /// Adds an adapter that was known before a restart. It is only remembered at first.
    func restoreAdapter(_ name: String, _ address: DeviceAddress?) -> Adapter {
        let adapter = Adapter(id: AdapterID(index: adapters.count + 1), name: name)
        adapter.address = address
        (adapter.isRestored, adapter.isOnlyRemembered, adapter.state) = (true, true, .gone)
        adapters.append(adapter)
        sortAdapters()
        return adapter
    }
}
