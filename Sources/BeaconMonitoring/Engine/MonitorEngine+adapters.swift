public import BluetoothLE
import HeapModule

extension MonitorEngine {
    /// The adapter that goes by that name at present, made known where it is new; it does not listen until it is said to, or
    /// reports.
    ///
    /// An adapter is a controller (rule L7): it is known by its address where that is told and no other has it, else by its
    /// name. To be asked again when a controller comes, and when another name or address of it is told; what lines call it
    /// (``name(of:)``) may be another then.
    ///
    /// - Parameters:
    ///   - name: what it goes by, such as the kernel's `hci0`; with its gateway before a slash where there are several, since
    ///     an address counts within one.
    ///   - address: the controller's; zero is none.
    /// - Returns: what the engine calls it; of use with this engine alone.
    /// - Throws: ``MonitorError/adaptersTooMany(_:)`` past ``adaptersMax``.
    public mutating func adapter(named name: String, address: DeviceAddress? = nil) throws(MonitorError) -> AdapterID {
        guard let entry = directory.take(name, address, forgotten: forgottenAdapters) else {
            throw .adaptersTooMany(Self.adaptersMax)
        }
        let place = place(ofEntry: entry)
        if place == adapters.count {
            adapters.append(AdapterState(name: "", start: present))
            silentCount += 1
        } else if adapters[place].isRemembered {
            adapters[place].isRemembered = false
            if adapters[place].isGone {
                adapters[place].isGone = false
                silentCount += 1
            }
        }
        takeNames()
        return AdapterID(index: place)
    }

    /// No controller goes by that name any more: it was taken out, or stopped listening, so that its address may appear
    /// under another name without two having it at once (rule L7).
    public mutating func adapterLeft(named name: String) { directory.leave(name) }

    /// The places of the directory's adapters follow those of all together and of the location source.
    func place(ofEntry entry: Int) -> Int { entry + 1 + locationPlace }

    /// The place of the adapter that lines call so.
    func place(called name: String) -> Int? { directory.place(called: name).map { place(ofEntry: $0) } }

    /// Takes over from the directory what lines call the adapters, and whose addresses are their own.
    private mutating func takeNames() {
        for (entry, known) in directory.entries.enumerated() {
            let place = place(ofEntry: entry)
            if !adapters[place].name.isSpelt(as: known.name) {
                adapters[place].name = known.name
                adapterNamings &+= 1
            }
            adapters[place].address = known.address
        }
    }

    private var forgottenAdapters: [Bool] { directory.entries.indices.map { isForgotten(entry: $0) } }

    /// Whether an adapter is forgotten in every monitor (rule L3), so that its name is free again.
    func isForgotten(entry: Int) -> Bool {
        let adapter = adapters[place(ofEntry: entry)]
        guard !adapter.isListening else { return false }
        if adapter.isGone, !adapter.hasListened { return true }
        guard adapter.hasListened, let longest = forgettings.last?.timeout else { return false }
        return adapter.silentSince + longest <= present
    }

    /// The adapters that the engine has heard of, in the order in which it did; those restored among them (rule N4).
    public var knownAdapters: [AdapterID] { adapters.indices.dropFirst().map { AdapterID(index: $0) } }

    /// What lines call an adapter that this engine gave an ID.
    public func name(of adapter: AdapterID) -> String {
        Int(adapter.index) < adapters.count ? adapters[Int(adapter.index)].name : ""
    }

    /// The address of an adapter that this engine gave an ID; absent where it has none that is its own.
    public func address(of adapter: AdapterID) -> DeviceAddress? {
        Int(adapter.index) < adapters.count ? adapters[Int(adapter.index)].address : nil
    }

    mutating func apply(_ change: ListeningChange, into actions: inout ActionBuffer) {
        let place = Int(change.adapter.index)
        switch change.kind {
        case .started:
            if !adapters[place].isListening { start(place, reason: change.reason, into: &actions) }
        case .stopped(let since):
            if adapters[place].isListening {
                stop(place, since: min(since?.nanoseconds ?? present, present))
                report(place, .off, since: adapters[place].stoppedAt, reason: change.reason, into: &actions)
            } else if adapters[place].reported == .deaf {
                report(place, .off, since: adapters[place].stoppedAt, reason: change.reason, into: &actions)
            }
        case .removed:
            if !adapters[place].isGone { remove(place, reason: change.reason, into: &actions) }
        }
    }

    /// Begins to count an adapter's listening.
    mutating func start(_ place: Int, reason: String?, into actions: inout ActionBuffer) {
        if place > locationPlace, isForgotten(entry: place - locationPlace - 1) {
            directory.rename(place - locationPlace - 1, forgotten: forgottenAdapters)
            takeNames()
        }
        if adapters[place].isGone {
            adapters[place].isGone = false
        } else if !adapters[place].isLocation {
            silentCount -= 1
        }
        run(place)
        adapters[place].hasListened = true
        adapters[place].lastReport = present
        if !adapters[place].isLocation {
            listeningCount += 1
            if listeningCount == 1 { run(0) }
        }
        report(place, .listening, since: present, reason: reason, into: &actions)
    }

    private mutating func run(_ place: Int) {
        adapters[place].isListening = true
        adapters[place].offset = present - adapters[place].stoppedClock
        adapters[place].outagesHandled = 0
        adapters[place].forgettingsHandled = 0
    }

    private mutating func freeze(_ place: Int) {
        adapters[place].stoppedClock = present - adapters[place].offset
        adapters[place].isListening = false
        adapters[place].outagesHandled = 0
        adapters[place].forgettingsHandled = 0
    }

    /// Ceases to count an adapter's listening; for rules L2 and L3 it stopped at `since`.
    mutating func stop(_ place: Int, since: Int64) {
        freeze(place)
        adapters[place].stoppedAt = since
        adapters[place].silentSince = since
        // The location source is the adapter of circles alone (rule G3).
        guard !adapters[place].isLocation else { return }
        listeningCount -= 1
        silentCount += 1
        adapters[0].stoppedAt = max(adapters[0].stoppedAt, since)
        if listeningCount == 0 { freeze(0) }
    }

    /// Takes an adapter out: it holds nothing any more (rule L3).
    private mutating func remove(_ place: Int, reason: String?, into actions: inout ActionBuffer) {
        if adapters[place].isListening { stop(place, since: present) }
        adapters[place].isGone = true
        adapters[place].hasListened = false
        if !adapters[place].isLocation { silentCount -= 1 }
        report(place, .gone, since: present, reason: reason, into: &actions)
        var held: [Int32] = []
        for entry in adapters[place].holds.unordered where isAlive(entry, of: place) { held.append(entry.subject) }
        for subject in held { letGo(Int(subject), of: place) }
        adapters[place].holds = Heap()
        settle(&held, into: &actions)
    }

    /// Ends the holds of an adapter that stopped `forget_after` ago, in one monitor (rule L3); what it held goes to `due`.
    mutating func forget(_ place: Int, monitor: UInt16, due: inout [Int32]) {
        var kept: [HoldEntry] = []
        for entry in adapters[place].holds.unordered where isAlive(entry, of: place) {
            let subject = Int(entry.subject)
            if matches[Int(subjects[subject].condition)].monitor == monitor {
                letGo(subject, of: place)
                due.append(entry.subject)
            } else {
                kept.append(entry)
            }
        }
        adapters[place].holds = Heap(kept)
    }

    /// Ends one adapter's hold on a subject; what it alone held is held by all together from now on (rule L3).
    private mutating func letGo(_ subject: Int, of place: Int) {
        dropHold(of: subject, by: UInt16(place))
        if !subjects[subject].isHeld, subjects[subject].canLeave { addHold(on: subject, by: 0) }
    }

    mutating func report(
        _ place: Int, _ state: AdapterChange.Condition, since: Int64, reason: String?, into actions: inout ActionBuffer
    ) {
        adapters[place].reported = state
        actions.append(
            .adapter(
                AdapterChange(
                    adapter: adapters[place].name, address: adapters[place].address, state: state,
                    since: Instant(nanoseconds: since), reason: reason, time: now, clockOffset: clockOffset)))
    }
}
