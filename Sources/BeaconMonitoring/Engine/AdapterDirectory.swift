import BluetoothLE

/// Which adapter a controller is that goes by a name (rule L7): known by its address where it has one, else by its name.
///
/// It decides for whoever hears, live, in a replay and in a library's user alike, and keeps what lines call an adapter.
/// An adapter keeps its index; at most ``MonitorEngine/adaptersMax`` are told apart.
struct AdapterDirectory: Sendable, Hashable {
    /// So many addresses that two controllers had at once are remembered; where there are more, no further address tells
    /// anything, and names decide.
    static let sharedMax = 255

    struct Entry: Sendable, Hashable {
        /// The name that lines give the adapter: `hci0`.
        var name: String
        /// Absent where it has none, or one that another has too.
        var address: DeviceAddress?
        /// The name that it goes by, or did last.
        var present: String
        /// Whether a controller is there that goes by that name.
        var isPresent = false
        /// Whether ``present`` is what lines called it before a restart, and may be more than the name that it went by.
        var isRestored = false
    }

    private(set) var entries: [Entry] = []
    /// The addresses that two controllers had at once, each within the gateway that its name tells.
    private var shared: Set<Key> = []

    /// An address, within the gateway that a name tells: that of `lobby/hci0` is `lobby/`.
    private struct Key: Sendable, Hashable {
        var gateway: String
        var address: UInt64
    }

    /// The index of the controller that goes by `name` from now on; `nil` where it is one more than are told apart.
    ///
    /// - Parameters:
    ///   - name: what it goes by at present.
    ///   - address: its own; zero is none.
    ///   - forgotten: whether rule L3 has let go of the adapter at each index, so that its name is free again.
    /// - Returns: the index; `nil` where all are taken.
    mutating func identify(_ name: String, _ address: DeviceAddress?, forgotten: [Bool]) -> Int? {
        let address = usable(address, of: name)
        let index: Int
        if let found = find(name, address) {
            index = found
            if let address { entries[index].address = address }
        } else {
            guard entries.count < MonitorEngine.adaptersMax else { return nil }
            index = entries.count
            let inLines = freeName(name, address, forgotten: forgotten)
            entries.append(Entry(name: inLines, address: address, present: name))
        }
        // A name belongs to one controller: who had it before does not go by it any more.
        leave(name)
        entries[index].present = name
        entries[index].isPresent = true
        entries[index].isRestored = false
        return index
    }

    /// An adapter that was forgotten is back: lines call it as one that is new.
    mutating func rename(_ index: Int, forgotten: [Bool]) {
        entries[index].name = ""
        entries[index].name = freeName(entries[index].present, entries[index].address, forgotten: forgotten)
    }

    /// Nobody goes by `name` any more.
    mutating func leave(_ name: String) {
        for index in entries.indices where entries[index].present.isSpelt(as: name) { entries[index].isPresent = false }
    }

    /// Takes over an adapter that was known before a restart; `nil` where lines call another one so, or it is one too many.
    mutating func restore(_ name: String, _ address: DeviceAddress?) -> Int? {
        guard !name.isEmpty, entries.count < MonitorEngine.adaptersMax, index(called: name) == nil else { return nil }
        var entry = Entry(name: name, address: nil, present: name)
        entry.isRestored = true
        if let address = usable(address, of: name), self.index(address, of: name) == nil { entry.address = address }
        entries.append(entry)
        return entries.count - 1
    }

    /// The index of the adapter that lines call so.
    func index(called name: String) -> Int? { entries.firstIndex { $0.name.isSpelt(as: name) } }

    // MARK: Who it is

    /// An address that tells one controller from others; else `nil`. That two have it at once shows here.
    private mutating func usable(_ address: DeviceAddress?, of name: String) -> DeviceAddress? {
        guard let address, address.value != 0 else { return nil }
        let key = Key(gateway: Self.gateway(of: name), address: address.value)
        guard !shared.contains(key) else { return nil }
        let bare = DeviceAddress(address.value, kind: .unspecified)
        guard let index = index(bare, of: name) else { return shared.count < Self.sharedMax ? bare : nil }
        guard entries[index].isPresent, !entries[index].present.isSpelt(as: name) else { return bare }
        shared.insert(key)
        entries[index].address = nil
        return nil
    }

    private func find(_ name: String, _ address: DeviceAddress?) -> Int? {
        if let address, let index = index(address, of: name) { return index }
        // Known by name alone: it takes the first address that appears under it.
        let namesakes = entries.indices.filter { entries[$0].address == nil && entries[$0].present.isSpelt(as: name) }
        return namesakes.first { entries[$0].isPresent } ?? namesakes.first
            ?? entries.firstIndex { $0.address == nil && $0.isRestored && Self.isNumbered($0.present, name) }
    }

    private func index(_ address: DeviceAddress, of name: String) -> Int? {
        let gateway = Self.gateway(of: name)
        return entries.firstIndex { $0.address == address && Self.gateway(of: $0.present).isSpelt(as: gateway) }
    }

    /// What stands before the last slash of a name, with it: adapters of several gateways are told apart by it.
    static func gateway(of name: String) -> String {
        guard let slash = name.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return String(name[...slash])
    }

    // MARK: What lines call it

    /// The name that lines give to an adapter that is new; one that is forgotten gives way.
    private mutating func freeName(_ name: String, _ address: DeviceAddress?, forgotten: [Bool]) -> String {
        guard let owner = index(called: name) else { return name }
        guard owner < forgotten.count, forgotten[owner] else { return furtherName(name, address) }
        entries[owner].name = furtherName(name, entries[owner].address)
        return name
    }

    private func furtherName(_ name: String, _ address: DeviceAddress?) -> String {
        var stem = name
        if let address {
            stem += "-" + String(address.description.filter { $0 != ":" })
            if index(called: stem) == nil { return stem }
        }
        // There are fewer adapters than numbers.
        return (2...MonitorEngine.adaptersMax + 2).lazy.map { "\(stem)-\($0)" }.first { index(called: $0) == nil }
            ?? stem
    }

    /// Whether `inLines` is `name` with a number behind it, as lines call the second one of that name.
    private static func isNumbered(_ inLines: String, _ name: String) -> Bool {
        guard inLines.utf8.count > name.utf8.count + 1, inLines.utf8.starts(with: name.utf8) else { return false }
        let rest = inLines.utf8.dropFirst(name.utf8.count)
        guard rest.first == UInt8(ascii: "-"), let number = Int(String(rest.dropFirst()) ?? "") else { return false }
        return number >= 2 && String(rest) == "-\(number)"
    }
}

extension String {
    /// Whether it is the same octets: names are compared as they stand in lines, not as readers see them.
    func isSpelt(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
