import BluetoothLE
import HeapModule

extension MonitorEngine {
    /// The adapter of that name, made known where it is new; it does not listen until it is said to, or reports.
    ///
    /// - Throws: ``MonitorError/adaptersTooMany(_:)`` past ``adaptersMax``.
    public mutating func adapter(named name: String) throws(MonitorError) -> AdapterID {
        if let place = adapterPlaces[name] {
            if adapters[place].isRemembered {
                adapters[place].isRemembered = false
                if adapters[place].isGone {
                    adapters[place].isGone = false
                    silentCount += 1
                }
            }
            return AdapterID(index: place)
        }
        guard adapters.count - locationPlace <= Self.adaptersMax else { throw .adaptersTooMany(Self.adaptersMax) }
        adapterPlaces[name] = adapters.count
        adapters.append(AdapterState(name: name, start: present))
        silentCount += 1
        return AdapterID(index: adapters.count - 1)
    }

    /// The adapters that the engine has heard of, in the order in which it did; those restored among them (rule N4).
    public var knownAdapters: [AdapterID] { adapters.indices.dropFirst().map { AdapterID(index: $0) } }

    /// The name of an adapter that this engine gave an ID.
    public func name(of adapter: AdapterID) -> String {
        Int(adapter.index) < adapters.count ? adapters[Int(adapter.index)].name : ""
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
                    adapter: adapters[place].name, state: state, since: Instant(nanoseconds: since), reason: reason,
                    time: now, clockOffset: clockOffset)))
    }
}
