public import BaseTypes
public import BluetoothLE

// Who listens (rules L1–L7).
extension MonitorEngine {
    /// Identifies the adapter that has this name from a time on, and makes it known if it is new. It does not listen until an
    /// input says so or it reports.
    ///
    /// An adapter is a controller (rule L7): its address identifies it if it is known and no other controller has it;
    /// otherwise its name does. Call this again when a controller appears and when its name or address changes. Its name in
    /// lines can change then: an ``Action/adapterNamed(_:name:)`` reports that before the first action with the new name.
    ///
    /// - Parameters:
    ///   - name: The adapter's name, such as the kernel's `hci0`. With several gateways, the gateway's name and a slash
    ///     precede it, because an address counts within one gateway.
    ///   - address: The controller's address; zero is none.
    ///   - time: When the controller gets the name. Everything due by then is handled first (rule T3). A time before the engine's
    ///     now counts as now.
    ///   - actions: Receives the actions of everything that became due.
    /// - Returns: The adapter's identifier, for this engine only.
    /// - Throws: ``MonitorError/adaptersTooMany(_:)`` if ``adaptersMax`` adapters are known.
    public mutating func adapter(
        named name: String, address: DeviceAddress? = nil, at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) -> AdapterID {
        enter(max(time, now), into: &actions)
        let adapter = adapters.identify(name, address, forgetAfter: monitors.longestForgetting, at: present)
        guard let adapter else { throw .adaptersTooMany(Self.adaptersMax) }
        return adapter.id
    }

    /// No controller goes by that name any more: it was taken out, or stopped listening, so that its address may appear
    /// under another name without two having it at once (rule L7).
    public mutating func adapterLeft(named name: String) { adapters.leave(name) }

    /// The adapters that the engine has heard of, in the order in which it did; those restored among them (rule N4).
    public var knownAdapters: [AdapterID] { adapters.indices.dropFirst().map(\.id) }

    /// What lines call an adapter that this engine gave an ID.
    public func name(of adapter: AdapterID) -> String {
        let adapter = AdapterIndex(adapter)
        return adapters.contains(adapter) ? adapters[adapter].name : ""
    }

    /// The address of an adapter that this engine gave an ID; absent where it has none that is its own.
    public func address(of adapter: AdapterID) -> DeviceAddress? {
        let adapter = AdapterIndex(adapter)
        return adapters.contains(adapter) ? adapters[adapter].address : nil
    }

    /// Whether an adapter does not listen because an input said so, or because it has not listened yet; not because it is
    /// deaf.
    func isOff(_ adapter: AdapterID) -> Bool {
        let adapter = AdapterIndex(adapter)
        return !adapters.clock(of: adapter).isListening && adapters[adapter].reported != .deaf
    }

    mutating func apply(_ change: ListeningChange, into actions: inout ActionBuffer) {
        let adapter = AdapterIndex(change.adapter)
        let isListening = adapters.clock(of: adapter).isListening
        switch change.kind {
        case .started:
            if !isListening { start(adapter, reason: change.reason, into: &actions) }
        case .stopped(let since):
            if isListening { adapters.stop(adapter, since: min(since?.nanoseconds ?? present, present), at: present) }
            if isListening || adapters[adapter].reported == .deaf {
                report(adapter, .off, since: adapters[adapter].silence.stoppedAt, reason: change.reason, into: &actions)
            }
        case .removed:
            if !adapters[adapter].isGone { remove(adapter, reason: change.reason, into: &actions) }
        }
    }

    /// Appends the names that adapters have got since the last action: the actions that follow use them, and those before do
    /// not.
    mutating func reportNames(into actions: inout ActionBuffer) {
        guard adapters.hasNewNames else { return }
        for (adapter, name) in adapters.takeNewNames() { actions.append(.adapterNamed(adapter.id, name: name)) }
    }

    /// Begins to count an adapter's listening.
    mutating func start(_ adapter: AdapterIndex, reason: String?, into actions: inout ActionBuffer) {
        adapters.renameForgotten(adapter, after: monitors.longestForgetting, at: present)
        adapters.start(adapter, at: present)
        report(adapter, .listening, since: present, reason: reason, into: &actions)
    }

    /// Takes an adapter out: it holds nothing any more (rule L3).
    private mutating func remove(_ adapter: AdapterIndex, reason: String?, into actions: inout ActionBuffer) {
        if adapters.clock(of: adapter).isListening { adapters.stop(adapter, since: present, at: present) }
        adapters.remove(adapter)
        report(adapter, .gone, since: present, reason: reason, into: &actions)
        var held = adapters[holdsOf: adapter].subjects(among: subjects, of: adapter)
        for subject in held { letGo(subject, of: adapter) }
        adapters[holdsOf: adapter].sweep(among: subjects, of: adapter)
        resolve(&held, into: &actions)
    }

    /// Adapters that go deaf (rule L5) or are forgotten (rule L3) now, by name.
    ///
    /// A subject that a forgotten one held is put to `due`: what holds it still may all have stopped long ago, where
    /// this one is said now to have stopped even longer ago.
    mutating func handleDueAdapters(_ due: inout [SubjectIndex], into actions: inout ActionBuffer) {
        var concerned: [AdapterIndex] = []
        for adapter in adapters.indices.dropFirst() {
            if let time = nextChange(of: adapter), time <= present { concerned.append(adapter) }
        }
        if concerned.count > 1 {
            concerned.sort { adapters[$0].name.utf8.lexicographicallyPrecedes(adapters[$1].name.utf8) }
        }
        for adapter in concerned {
            if let deafness = deafness(of: adapter), deafness <= present {
                adapters.stop(adapter, since: adapters.clock(of: adapter).lastReport, at: present)
                report(adapter, .deaf, since: adapters[adapter].silence.stoppedAt, reason: nil, into: &actions)
            }
            while let monitor = adapters.handleForgetting(of: adapter, in: monitors, at: present) {
                forget(adapter, in: monitor, due: &due)
            }
        }
    }

    /// When an adapter next goes deaf or is forgotten.
    func nextChange(of adapter: AdapterIndex) -> Int64? {
        deafness(of: adapter) ?? adapters.nextForgetting(of: adapter, in: monitors)
    }

    /// When an adapter that listens goes deaf, unless it reports before.
    private func deafness(of adapter: AdapterIndex) -> Int64? {
        guard takesSilenceForDeafness, let deafAfter, adapter != .together,
            adapters.clock(of: adapter).isListening
        else { return nil }
        return adapters.clock(of: adapter).lastReport + deafAfter
    }

    /// Ends the holds of an adapter that stopped `forget_after` ago, in one monitor (rule L3); what it held goes to `due`.
    private mutating func forget(_ adapter: AdapterIndex, in monitor: MonitorIndex, due: inout [SubjectIndex]) {
        for subject in adapters[holdsOf: adapter].subjects(among: subjects, of: adapter)
        where conditions.match(subjects[subject].condition).monitor == monitor {
            letGo(subject, of: adapter)
            due.append(subject)
        }
        adapters[holdsOf: adapter].sweep(among: subjects, of: adapter)
    }

    /// Ends one adapter's hold on a subject; what it alone held is held by all together from now on (rule L3).
    private mutating func letGo(_ subject: SubjectIndex, of adapter: AdapterIndex) {
        if let hold = subjects[subject].hold(by: adapter) { endHold(on: subject, at: hold) }
        if !subjects[subject].isHeld, subjects[subject].canLeave { addHold(on: subject, by: .together) }
    }

    private mutating func report(
        _ adapter: AdapterIndex, _ state: AdapterChange.State, since: Int64, reason: String?,
        into actions: inout ActionBuffer
    ) {
        adapters.noteReported(adapter, state)
        reportNames(into: &actions)
        actions.append(
            .adapter(
                AdapterChange(
                    adapter: adapters[adapter].name, address: adapters[adapter].address, state: state,
                    since: Instant(nanoseconds: since), reason: reason, time: now, clockOffset: clockOffset)))
    }
}
