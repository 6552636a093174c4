import BluetoothLE

/// Identifies the adapter to which a controller belongs: by its address, or by its name if it has no address (rule L7).
///
/// It is used live, in replays and by users of the library, and stores the names of adapters in lines. The index of an
/// adapter never changes. There are at most ``MonitorEngine/adaptersMax`` adapters.
struct AdapterDirectory: Sendable, Hashable {
    /// The maximum number of remembered addresses that two controllers had at the same time. If it is reached, a new
    /// address no longer identifies a controller, and names decide.
    static let sharedMax = 255

    struct Entry: Sendable, Hashable {
        /// The name of the adapter in lines, such as `hci0`.
        var name: String
        /// The address; `nil` if the controller has none or shares it with another controller.
        var address: DeviceAddress?
        /// The current or last name of the controller.
        var present: String
        /// Whether a controller with that name is present.
        var isPresent = false
        /// Whether ``present`` is the name in lines from before a restart, which can have a suffix.
        var isRestored = false
    }

    private(set) var entries: [Entry] = []
    /// Addresses that two controllers of one gateway had at the same time.
    private var shared: Set<Key> = []

    /// An address of one gateway. The gateway is the part of a name up to the slash: `lobby/` for `lobby/hci0`.
    private struct Key: Sendable, Hashable {
        var gateway: String
        var address: UInt64
    }

    /// Returns the index of the controller that has the name `name` from now on.
    ///
    /// - Parameters:
    ///   - name: the current name of the controller.
    ///   - address: its address; zero means none.
    ///   - forgotten: for each adapter, whether rule L3 has forgotten it, so that its name in lines can be reused.
    /// - Returns: the index; `nil` if the controller is unknown and there are already ``MonitorEngine/adaptersMax``
    ///   adapters.
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
        // Only one controller can have a name, so the previous owner loses it.
        leave(name)
        entries[index].present = name
        entries[index].isPresent = true
        entries[index].isRestored = false
        return index
    }

    /// Gives a forgotten adapter that is back a name in lines as if it was new.
    mutating func rename(_ index: Int, forgotten: [Bool]) {
        entries[index].name = ""
        entries[index].name = freeName(entries[index].present, entries[index].address, forgotten: forgotten)
    }

    /// Records that no controller has the name `name` any more.
    mutating func leave(_ name: String) {
        for index in entries.indices where entries[index].present.isSpelt(as: name) { entries[index].isPresent = false }
    }

    /// Adds an adapter from before a restart. Returns `nil` if its name in lines is taken, or if there are too many
    /// adapters.
    mutating func restore(_ name: String, _ address: DeviceAddress?) -> Int? {
        guard !name.isEmpty, entries.count < MonitorEngine.adaptersMax, index(called: name) == nil else { return nil }
        var entry = Entry(name: name, address: nil, present: name)
        entry.isRestored = true
        if let address = usable(address, of: name), self.index(address, of: name) == nil { entry.address = address }
        entries.append(entry)
        return entries.count - 1
    }

    /// Returns the index of the adapter with this name in lines.
    func index(called name: String) -> Int? { entries.firstIndex { $0.name.isSpelt(as: name) } }

    // MARK: Identification

    /// Returns the address if it identifies one controller, otherwise `nil`. Detects addresses that two controllers
    /// share.
    private mutating func usable(_ address: DeviceAddress?, of name: String) -> DeviceAddress? {
        guard let address, address.value != 0 else { return nil }
        let key = Key(gateway: name.gatewayOfAdapter, address: address.value)
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
        // An adapter that is known only by its name takes the first address that appears with that name.
        let namesakes = entries.indices.filter { entries[$0].address == nil && entries[$0].present.isSpelt(as: name) }
        return namesakes.first { entries[$0].isPresent } ?? namesakes.first
            ?? entries.firstIndex { $0.address == nil && $0.isRestored && Self.isNumbered($0.present, name) }
    }

    private func index(_ address: DeviceAddress, of name: String) -> Int? {
        let gateway = name.gatewayOfAdapter
        return entries.firstIndex { $0.address == address && $0.present.gatewayOfAdapter.isSpelt(as: gateway) }
    }

    // MARK: Names in lines

    /// Returns the name in lines for a new adapter. If a forgotten adapter has this name, that adapter gets another
    /// one.
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
        // One of the numbers is always free, because there are fewer adapters than numbers.
        return (2...MonitorEngine.adaptersMax + 2).lazy.map { "\(stem)-\($0)" }.first { index(called: $0) == nil }
            ?? stem
    }

    /// Returns whether `inLines` is `name` with a number as suffix, which is the form for a second adapter with that
    /// name.
    private static func isNumbered(_ inLines: String, _ name: String) -> Bool {
        guard inLines.utf8.count > name.utf8.count + 1, inLines.utf8.starts(with: name.utf8) else { return false }
        let rest = inLines.utf8.dropFirst(name.utf8.count)
        guard rest.first == UInt8(ascii: "-"), let number = Int(String(rest.dropFirst()) ?? "") else { return false }
        return number >= 2 && String(rest) == "-\(number)"
    }
}

extension String {
    /// Returns whether both strings have the same bytes. Names are compared as in lines, not by Unicode equivalence.
    func isSpelt(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// The part of an adapter's name up to and including its last slash, which separates the adapters of several
    /// gateways; empty if there is none.
    package var gatewayOfAdapter: String {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return String(self[...slash])
    }
}
