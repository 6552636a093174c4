import BluetoothLE

/// The state of one adapter, without its clock.
struct AdapterState: Sendable {
    /// The name in lines (rule L7).
    fileprivate(set) var name: String
    /// The name in the last ``Action/adapterNamed(_:name:)`` of the adapter.
    fileprivate var reportedName = ""
    /// The address of the controller; `nil` if it has none of its own.
    fileprivate(set) var address: DeviceAddress?
    /// The state in its last adapter line; ``AdapterChange/State/gone`` after the adapter was removed, `nil` before the
    /// first line.
    fileprivate(set) var reported: AdapterChange.State?
    /// Whether the adapter was removed (rule L3).
    fileprivate(set) var isGone = false
    /// Whether only the name and the address are known, from before a restart (rules N4, L7).
    fileprivate(set) var isRemembered = false
    fileprivate(set) var hasListened = false
    /// The timeouts while it does not scan; meaningful after it has scanned once.
    fileprivate(set) var silence: AdapterSilence

    fileprivate init(name: String, start: Int64) {
        self.name = name
        silence = AdapterSilence(start: start)
    }
}

/// The adapters: their identities, and whether they scan.
///
/// The first index represents all adapters together. Then follow the location source, if there is one, and the adapters
/// in the order in which they became known. The index of an adapter never changes.
struct AdapterTable: Sendable {
    /// The adapter that represents the location source, used by all circles and only by them (rule G3).
    let locationSource: AdapterIndex?
    /// The time without a report after which an adapter counts as not scanning (rule L5), in nanoseconds; `nil` if that
    /// is disabled.
    private let deafAfter: Int64?
    /// Whether rule L5 applies.
    var silenceMeansNotScanning = true
    /// Whether the name of an adapter may differ from its last action.
    private(set) var hasNewNames: Bool
    /// The number of adapters that are present and do not scan.
    private(set) var silentCount = 0
    private var listeningCount = 0
    // Separate from the states, so that a report touches little memory.
    private var clocks: [AdapterClock] = []
    private var states: [AdapterState] = []
    /// The identities of the adapters (rule L7).
    private var directory = AdapterDirectory()

    init(locationSource name: String?, deafAfter: Int64? = nil, start: Int64) {
        self.deafAfter = deafAfter
        locationSource = name == nil ? nil : AdapterIndex(1 as UInt16)
        hasNewNames = name != nil
        append(AdapterState(name: "", start: start))
        if let name { append(AdapterState(name: name, start: start)) }
    }

    private mutating func append(_ state: AdapterState) {
        states.append(state)
        clocks.append(AdapterClock())
    }

    // MARK: Access

    subscript(adapter: AdapterIndex) -> AdapterState { states[adapter.offset] }

    /// The indices of all adapters, starting with the one for all together.
    var indices: LazyMapCollection<Range<Int>, AdapterIndex> { states.indices.lazy.map { AdapterIndex($0) } }
    /// The number of indices, including the one for all together.
    var count: Int { states.count }

    func contains(_ adapter: AdapterIndex) -> Bool { adapter.offset < states.count }

    @inline(__always)
    func clock(of adapter: AdapterIndex) -> AdapterClock { clocks[adapter.offset] }

    /// Returns the reading of an adapter's scanning clock at a time.
    @inline(__always)
    func reading(of adapter: AdapterIndex, at time: Int64) -> Int64 { clocks[adapter.offset].reading(at: time) }

    /// Gives access to all clocks, to read them and to record many reports.
    @inline(__always)
    mutating func withClocks<Result>(_ body: (inout MutableSpan<AdapterClock>) -> Result) -> Result {
        var clocks = clocks.mutableSpan
        return body(&clocks)
    }

    /// Records a report of a scanning adapter.
    @inline(__always)
    mutating func noteReport(_ adapter: AdapterIndex, at time: Int64) { clocks[adapter.offset].noteReport(at: time) }

    /// Returns whether the adapter, or all together, stopped at least `timeout` ago.
    func isOut(_ adapter: AdapterIndex, for timeout: Int64, at time: Int64) -> Bool {
        !clocks[adapter.offset].isListening && states[adapter.offset].silence.hasLasted(timeout, at: time)
    }

    /// Returns whether missing reports of the adapter count as an outage: for all together and the location source from
    /// the start, for other adapters after they have scanned once.
    func isMissed(_ adapter: AdapterIndex) -> Bool {
        !clocks[adapter.offset].isListening
            && (adapter == .together || adapter == locationSource || states[adapter.offset].hasListened)
    }

    // MARK: Identities (rule L7)

    /// Returns the adapter that has a name from now on, and adds it if it is new.
    ///
    /// - Parameters:
    ///   - name: the current name of the controller.
    ///   - address: its address; zero means none.
    ///   - forgetAfter: the longest silence after which a monitor forgets an adapter.
    ///   - time: the current time.
    /// - Returns: the adapter; `nil` if it is new and there are too many adapters.
    mutating func identify(
        _ name: String, _ address: DeviceAddress?, forgetAfter: Int64?, at time: Int64
    ) -> AdapterIndex? {
        guard let entry = directory.identify(name, address, forgotten: forgotten(after: forgetAfter, at: time)) else {
            return nil
        }
        let adapter = index(ofEntry: entry)
        if !contains(adapter) {
            append(AdapterState(name: "", start: time))
            silentCount += 1
        } else if states[adapter.offset].isRemembered {
            expect(adapter)
        }
        adoptNames()
        return adapter
    }

    /// Records that no controller has the name any more.
    mutating func leave(_ name: String) { directory.leave(name) }

    /// Returns the adapter with a name if ``identify(_:_:forgetAfter:at:)`` would change nothing; otherwise `nil`.
    func known(_ name: String, _ address: DeviceAddress?) -> AdapterIndex? {
        var asked = directory
        guard let entry = asked.identify(name, address, forgotten: []), asked == directory else { return nil }
        let adapter = index(ofEntry: entry)
        return states[adapter.offset].isRemembered ? nil : adapter
    }

    /// Returns the adapter with this name in lines.
    func index(called name: String) -> AdapterIndex? { directory.index(called: name).map { index(ofEntry: $0) } }

    /// Returns whether all monitors have forgotten the adapter (rule L3), so that its name in lines can be reused.
    func isForgotten(_ adapter: AdapterIndex, after forgetAfter: Int64?, at time: Int64) -> Bool {
        let state = states[adapter.offset]
        guard !clocks[adapter.offset].isListening else { return false }
        if state.isGone, !state.hasListened { return true }
        guard state.hasListened, let forgetAfter else { return false }
        return state.silence.silentSince + forgetAfter <= time
    }

    /// Gives a forgotten adapter that scans again a name in lines as if it was new.
    mutating func renameForgotten(_ adapter: AdapterIndex, after forgetAfter: Int64?, at time: Int64) {
        guard let entry = entry(of: adapter), isForgotten(adapter, after: forgetAfter, at: time) else { return }
        directory.rename(entry, forgotten: forgotten(after: forgetAfter, at: time))
        adoptNames()
    }

    // The adapters of the directory follow all together and the location source.
    private var firstEntry: Int { locationSource == nil ? 1 : 2 }

    private func index(ofEntry entry: Int) -> AdapterIndex { AdapterIndex(entry + firstEntry) }

    private func entry(of adapter: AdapterIndex) -> Int? {
        adapter.offset >= firstEntry ? adapter.offset - firstEntry : nil
    }

    private func forgotten(after forgetAfter: Int64?, at time: Int64) -> [Bool] {
        directory.entries.indices.map { isForgotten(index(ofEntry: $0), after: forgetAfter, at: time) }
    }

    /// Copies the names in lines and the addresses from the directory.
    private mutating func adoptNames() {
        for (entry, known) in directory.entries.enumerated() {
            let offset = index(ofEntry: entry).offset
            if !states[offset].name.isSpelt(as: known.name) {
                states[offset].name = known.name
                hasNewNames = true
            }
            states[offset].address = known.address
        }
    }

    /// Returns the adapters whose names have not been reported in an action, in the order of their indices. Each name
    /// is returned once.
    mutating func takeNewNames() -> [(adapter: AdapterIndex, name: String)] {
        hasNewNames = false
        var new: [(adapter: AdapterIndex, name: String)] = []
        for adapter in indices where !states[adapter.offset].name.isSpelt(as: states[adapter.offset].reportedName) {
            states[adapter.offset].reportedName = states[adapter.offset].name
            new.append((adapter, states[adapter.offset].name))
        }
        return new
    }

    // MARK: Scanning

    /// Records that an adapter starts to scan.
    mutating func start(_ adapter: AdapterIndex, at time: Int64) {
        if states[adapter.offset].isGone {
            states[adapter.offset].isGone = false
        } else if adapter != locationSource {
            silentCount -= 1
        }
        states[adapter.offset].hasListened = true
        clocks[adapter.offset].start(at: time)
        clocks[adapter.offset].noteReport(at: time)
        guard adapter != locationSource else { return }
        listeningCount += 1
        if listeningCount == 1 { clocks[AdapterIndex.together.offset].start(at: time) }
    }

    /// Records that an adapter stops to scan. For rules L2 and L3 it stopped at `since`.
    mutating func stop(_ adapter: AdapterIndex, since: Int64, at time: Int64) {
        clocks[adapter.offset].stop(at: time)
        states[adapter.offset].silence.begin(since: since)
        guard adapter != locationSource else { return }
        listeningCount -= 1
        silentCount += 1
        let together = AdapterIndex.together.offset
        states[together].silence.extend(to: since)
        if listeningCount == 0 {
            clocks[together].stop(at: time)
            states[together].silence.beginAgain()
        }
    }

    /// Removes an adapter that does not scan.
    mutating func remove(_ adapter: AdapterIndex) {
        states[adapter.offset].isGone = true
        states[adapter.offset].hasListened = false
        if adapter != locationSource { silentCount -= 1 }
    }

    /// Records the state in an adapter line.
    mutating func noteReported(_ adapter: AdapterIndex, _ state: AdapterChange.State) {
        states[adapter.offset].reported = state
    }

    /// Returns a monitor whose outage timeout this adapter's silence has reached. Each is returned once.
    mutating func handleOutage(of adapter: AdapterIndex, in monitors: MonitorTable, at time: Int64) -> MonitorIndex? {
        states[adapter.offset].silence.handleOutage(of: monitors.outages, at: time)
    }

    /// Returns the time at which a scanning adapter counts as not scanning unless it reports before (rule L5).
    func deafDeadline(of adapter: AdapterIndex) -> Int64? {
        let clock = clocks[adapter.offset]
        guard silenceMeansNotScanning, let deafAfter, adapter != .together, clock.isListening else { return nil }
        return clock.lastReport + deafAfter
    }

    /// Returns the time at which an adapter next counts as not scanning or is forgotten.
    func nextChange(of adapter: AdapterIndex, in monitors: MonitorTable) -> Int64? {
        deafDeadline(of: adapter) ?? nextForgetting(of: adapter, in: monitors)
    }

    /// Returns a monitor that forgets the adapter now. Each is returned once (rule L3).
    mutating func handleForgetting(
        of adapter: AdapterIndex, in monitors: MonitorTable, at time: Int64
    ) -> MonitorIndex? {
        guard isForgettable(adapter) else { return nil }
        return states[adapter.offset].silence.handleForgetting(of: monitors.forgettings, at: time)
    }

    /// Returns the time at which a monitor will next forget the adapter.
    private func nextForgetting(of adapter: AdapterIndex, in monitors: MonitorTable) -> Int64? {
        guard isForgettable(adapter) else { return nil }
        return states[adapter.offset].silence.nextForgetting(of: monitors.forgettings)
    }

    private func isForgettable(_ adapter: AdapterIndex) -> Bool {
        adapter != .together && !clocks[adapter.offset].isListening && states[adapter.offset].hasListened
    }

    // MARK: Restarts (rule N4)

    /// Adds an adapter of which only name and address are known. It may return, and it does not count as missing.
    mutating func remember(_ name: String, _ address: DeviceAddress?, at time: Int64) -> AdapterIndex? {
        guard let entry = directory.restore(name, address) else { return nil }
        var state = AdapterState(name: name, start: time)
        state.address = directory.entries[entry].address
        state.isGone = true
        state.isRemembered = true
        append(state)
        hasNewNames = true
        return index(ofEntry: entry)
    }

    /// Records that a remembered adapter had scanned and actually stopped at `silentSince`.
    mutating func resumeSilence(of adapter: AdapterIndex, since silentSince: Int64, at time: Int64) {
        states[adapter.offset].hasListened = true
        states[adapter.offset].silence.resume(at: time, silentSince: silentSince)
    }

    /// Counts a remembered adapter as one that should scan.
    mutating func expect(_ adapter: AdapterIndex) {
        states[adapter.offset].isRemembered = false
        guard states[adapter.offset].isGone else { return }
        states[adapter.offset].isGone = false
        silentCount += 1
    }
}
