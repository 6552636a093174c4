import BluetoothLE

/// The state of one adapter, without its clock.
struct AdapterState: Sendable {
    /// What lines call it (rule L7).
    fileprivate(set) var name: String
    /// The name in the last ``Action/adapterNamed(_:name:)`` about it.
    fileprivate var reportedName = ""
    /// The controller's, where it has one that is its own.
    fileprivate(set) var address: DeviceAddress?
    /// What its last adapter line said; absent before the first, and when it is gone.
    fileprivate(set) var reported: AdapterChange.State?
    /// Whether it was taken out (rule L3).
    fileprivate(set) var isGone = false
    /// Whether it is no more than what was remembered over a restart: a name, and who it is (rules N4, L7).
    fileprivate(set) var isRemembered = false
    fileprivate(set) var hasListened = false
    /// What follows from its not listening; meaningful once it has listened.
    fileprivate(set) var silence: AdapterSilence

    fileprivate init(name: String, start: Int64) {
        self.name = name
        silence = AdapterSilence(start: start)
    }
}

/// The adapters: their identities, and whether they listen.
///
/// The first index stands for all together; then comes the location source, where there is one, and then the others in the
/// order in which they became known. An adapter keeps its index.
struct AdapterTable: Sendable {
    /// The adapter of all circles and of nothing else (rule G3).
    let locationSource: AdapterIndex?
    /// The time without a report after which an adapter is deaf (rule L5), in nanoseconds; `nil` if it never is.
    private let deafAfter: Int64?
    /// Whether rule L5 applies.
    var takesSilenceForDeafness = true
    /// Whether an adapter's name may differ from the one in the last action about it.
    private(set) var hasNewNames: Bool
    /// Adapters that are there and do not listen.
    private(set) var silentCount = 0
    private var listeningCount = 0
    // Apart from the rest, so that reports touch little.
    private var clocks: [AdapterClock] = []
    private var states: [AdapterState] = []
    /// Which of them a controller is (rule L7).
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

    // MARK: One of them

    subscript(adapter: AdapterIndex) -> AdapterState { states[adapter.offset] }

    /// All adapters, all together the first.
    var indices: LazyMapCollection<Range<Int>, AdapterIndex> { states.indices.lazy.map { AdapterIndex($0) } }
    /// How many there are, all together among them.
    var count: Int { states.count }

    func contains(_ adapter: AdapterIndex) -> Bool { adapter.offset < states.count }

    @inline(__always)
    func clock(of adapter: AdapterIndex) -> AdapterClock { clocks[adapter.offset] }

    /// What an adapter's listening clock shows at a time.
    @inline(__always)
    func reading(of adapter: AdapterIndex, at time: Int64) -> Int64 { clocks[adapter.offset].reading(at: time) }

    /// Lets the clocks be read and reports be noted, many at once.
    @inline(__always)
    mutating func withClocks<Result>(_ body: (inout MutableSpan<AdapterClock>) -> Result) -> Result {
        var clocks = clocks.mutableSpan
        return body(&clocks)
    }

    /// Notes a report of an adapter that listens.
    @inline(__always)
    mutating func hear(_ adapter: AdapterIndex, at time: Int64) { clocks[adapter.offset].hear(at: time) }

    /// Whether an adapter, or all together, stopped `timeout` ago or more.
    func isOut(_ adapter: AdapterIndex, for timeout: Int64, at time: Int64) -> Bool {
        !clocks[adapter.offset].isListening && states[adapter.offset].silence.hasLasted(timeout, at: time)
    }

    /// Whether what an adapter does not hear counts as an outage: all together from the start on, the location source too,
    /// others once they have listened.
    func isMissed(_ adapter: AdapterIndex) -> Bool {
        !clocks[adapter.offset].isListening
            && (adapter == .together || adapter == locationSource || states[adapter.offset].hasListened)
    }

    // MARK: Who they are (rule L7)

    /// The adapter that goes by a name now, made known where it is new.
    ///
    /// - Parameters:
    ///   - name: what it goes by.
    ///   - address: the controller's; zero is none.
    ///   - forgetAfter: the longest silence after which a monitor forgets an adapter.
    ///   - time: now.
    /// - Returns: the adapter; `nil` where it is one more than are told apart.
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

    /// No controller goes by that name any more.
    mutating func leave(_ name: String) { directory.leave(name) }

    /// The adapter that goes by a name already, where to ask for it would change nothing.
    func known(_ name: String, _ address: DeviceAddress?) -> AdapterIndex? {
        var asked = directory
        guard let entry = asked.identify(name, address, forgotten: []), asked == directory else { return nil }
        let adapter = index(ofEntry: entry)
        return states[adapter.offset].isRemembered ? nil : adapter
    }

    /// The adapter that lines call so.
    func index(called name: String) -> AdapterIndex? { directory.index(called: name).map { index(ofEntry: $0) } }

    /// Whether an adapter is forgotten in every monitor (rule L3), so that its name is free again.
    func isForgotten(_ adapter: AdapterIndex, after forgetAfter: Int64?, at time: Int64) -> Bool {
        let state = states[adapter.offset]
        guard !clocks[adapter.offset].isListening else { return false }
        if state.isGone, !state.hasListened { return true }
        guard state.hasListened, let forgetAfter else { return false }
        return state.silence.silentSince + forgetAfter <= time
    }

    /// Gives an adapter that is forgotten and listens again a name as to one that is new.
    mutating func renameForgotten(_ adapter: AdapterIndex, after forgetAfter: Int64?, at time: Int64) {
        guard let entry = entry(of: adapter), isForgotten(adapter, after: forgetAfter, at: time) else { return }
        directory.rename(entry, forgotten: forgotten(after: forgetAfter, at: time))
        adoptNames()
    }

    // The directory's adapters stand behind all together and the location source.
    private var firstEntry: Int { locationSource == nil ? 1 : 2 }

    private func index(ofEntry entry: Int) -> AdapterIndex { AdapterIndex(entry + firstEntry) }

    private func entry(of adapter: AdapterIndex) -> Int? {
        adapter.offset >= firstEntry ? adapter.offset - firstEntry : nil
    }

    private func forgotten(after forgetAfter: Int64?, at time: Int64) -> [Bool] {
        directory.entries.indices.map { isForgotten(index(ofEntry: $0), after: forgetAfter, at: time) }
    }

    /// Takes over from the directory what lines call the adapters, and whose addresses are their own.
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

    /// The adapters whose names no action has reported yet, in the order of their indices; each is returned once.
    mutating func takeNewNames() -> [(adapter: AdapterIndex, name: String)] {
        hasNewNames = false
        var new: [(adapter: AdapterIndex, name: String)] = []
        for adapter in indices where !states[adapter.offset].name.isSpelt(as: states[adapter.offset].reportedName) {
            states[adapter.offset].reportedName = states[adapter.offset].name
            new.append((adapter, states[adapter.offset].name))
        }
        return new
    }

    // MARK: Whether they listen

    /// Notes that an adapter listens from now on, which did not.
    mutating func start(_ adapter: AdapterIndex, at time: Int64) {
        if states[adapter.offset].isGone {
            states[adapter.offset].isGone = false
        } else if adapter != locationSource {
            silentCount -= 1
        }
        states[adapter.offset].hasListened = true
        clocks[adapter.offset].start(at: time)
        clocks[adapter.offset].hear(at: time)
        guard adapter != locationSource else { return }
        listeningCount += 1
        if listeningCount == 1 { clocks[AdapterIndex.together.offset].start(at: time) }
    }

    /// Notes that an adapter ceases to listen now; for rules L2 and L3 it stopped at `since`.
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

    /// Takes an adapter out, which does not listen any more.
    mutating func remove(_ adapter: AdapterIndex) {
        states[adapter.offset].isGone = true
        states[adapter.offset].hasListened = false
        if adapter != locationSource { silentCount -= 1 }
    }

    /// Notes what an adapter line says.
    mutating func noteReported(_ adapter: AdapterIndex, _ state: AdapterChange.State) {
        states[adapter.offset].reported = state
    }

    /// A monitor whose outage timeout an adapter's silence has reached, each once.
    mutating func handleOutage(of adapter: AdapterIndex, in monitors: MonitorTable, at time: Int64) -> MonitorIndex? {
        states[adapter.offset].silence.handleOutage(of: monitors.outages, at: time)
    }

    /// When an adapter that listens becomes deaf unless it reports before (rule L5).
    func deafness(of adapter: AdapterIndex) -> Int64? {
        let clock = clocks[adapter.offset]
        guard takesSilenceForDeafness, let deafAfter, adapter != .together, clock.isListening else { return nil }
        return clock.lastReport + deafAfter
    }

    /// When an adapter next becomes deaf or is forgotten.
    func nextChange(of adapter: AdapterIndex, in monitors: MonitorTable) -> Int64? {
        deafness(of: adapter) ?? nextForgetting(of: adapter, in: monitors)
    }

    /// A monitor that forgets an adapter now, each once (rule L3).
    mutating func handleForgetting(
        of adapter: AdapterIndex, in monitors: MonitorTable, at time: Int64
    ) -> MonitorIndex? {
        guard isForgettable(adapter) else { return nil }
        return states[adapter.offset].silence.handleForgetting(of: monitors.forgettings, at: time)
    }

    /// When a monitor next forgets an adapter.
    private func nextForgetting(of adapter: AdapterIndex, in monitors: MonitorTable) -> Int64? {
        guard isForgettable(adapter) else { return nil }
        return states[adapter.offset].silence.nextForgetting(of: monitors.forgettings)
    }

    private func isForgettable(_ adapter: AdapterIndex) -> Bool {
        adapter != .together && !clocks[adapter.offset].isListening && states[adapter.offset].hasListened
    }

    // MARK: Restarts (rule N4)

    /// Makes an adapter known that is no more than remembered: it may come back, and is not missed.
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

    /// Notes that a remembered adapter had listened, and really stopped at `silentSince`.
    mutating func resumeSilence(of adapter: AdapterIndex, since silentSince: Int64, at time: Int64) {
        states[adapter.offset].hasListened = true
        states[adapter.offset].silence.resume(at: time, silentSince: silentSince)
    }

    /// Counts an adapter that was no more than remembered among those that should listen.
    mutating func expect(_ adapter: AdapterIndex) {
        states[adapter.offset].isRemembered = false
        guard states[adapter.offset].isGone else { return }
        states[adapter.offset].isGone = false
        silentCount += 1
    }
}
