import BaseTypes
import BeaconMonitoring
import BluetoothLE
import JSON

/// Builds a snapshot from lines: it starts with a stored snapshot and applies each later line (rule N4).
struct RecordBuilder {
    /// A record as in lines.
    struct StoredRecord: Hashable {
        var event: BeaconMonitor.Event
        /// The name of the adapter that received its sighting.
        var adapter: String
        /// Whether it is a placeholder, which was not delivered (rule C1).
        var isPlaceholder: Bool
    }

    private struct Entry {
        var condition: MonitorSnapshot.Condition
        var beacons: [BeaconIdentity: MonitorSnapshot.Subject] = [:]
    }

    private struct AdapterEntry {
        /// Also `nil` in lines of earlier versions.
        var address: DeviceAddress?
        var stopped: PastMoment?
        /// The time since which it counts as stopped for rule L2; a restart moves it (rule N4).
        var outage: Instant?
    }

    private var monitors: [MonitorSnapshot.Monitor] = []
    private var entries: [Identifier: Entry] = [:]
    /// The identifiers in the order of their conditions.
    private var order: [Identifier] = []
    private var adapters: [String: AdapterEntry] = [:]
    private var adapterOrder: [String] = []
    private(set) var records: [Identifier: StoredRecord] = [:]
    /// The leaving event that was the last line, while its `visit` line has not followed, and the visit that it ended.
    private var leaving: (event: BeaconMonitor.Event, visit: MonitorSnapshot.OpenVisit)?

    /// The number of the last line.
    private(set) var sequence = 0
    /// The ID of the start that wrote the last line.
    private(set) var boot = ""
    /// How far the wall clock is ahead of the timeline in the last line.
    private(set) var offset = ClockOffset.zero
    /// Whether the wall clock was known to be synchronized; `nil` if that is unknown.
    private(set) var isSynchronized: Bool?

    init() {}

    /// Starts with a state file.
    init(_ state: StateFile) {
        monitors = state.snapshot.monitors
        for condition in state.snapshot.conditions {
            var entry = Entry(condition: condition)
            for beacon in condition.beacons {
                if let identity = beacon.beacon { entry.beacons[identity] = beacon }
            }
            entry.condition.beacons = []
            let identifier = Identifier(lookup: condition.identifier)
            if entries[identifier] == nil { order.append(identifier) }
            entries[identifier] = entry
        }
        for adapter in state.snapshot.adapters {
            adapters[adapter.name] = AdapterEntry(
                address: adapter.address, stopped: adapter.stopped, outage: Self.instant(adapter.stopped))
            adapterOrder.append(adapter.name)
        }
        records = state.records
        sequence = state.sequence
        boot = state.boot
        offset = state.offset
        isSynchronized = state.isSynchronized
    }

    private static func instant(_ moment: PastMoment?) -> Instant? {
        guard case .timeline(let instant)? = moment else { return nil }
        return instant
    }

    /// The number of a leaving event that is the last line, without its visit.
    var tornSequence: Int? { leaving == nil ? nil : sequence }

    /// Ends the visit of the leaving event that is the last line, like the missing line.
    ///
    /// - Parameters:
    ///   - machine: the current start of the machine.
    ///   - now: the current time on its timeline.
    ///   - offset: how far the wall clock is ahead of it.
    /// - Returns: the visit; `nil` if no visit is open.
    mutating func endTornVisit(machine: String, at now: Instant, offset: ClockOffset) -> Visit? {
        guard let (event, open) = leaving else { return nil }
        func instant(_ moment: PastMoment) -> Instant {
            let date: WallDate
            switch moment {
            case .timeline(let instant):
                if BootID.machine(of: boot) == machine { return instant }
                date = WallDate(instant, offset: event.clockOffset)
            case .date(let remembered): date = remembered
            }
            return Instant(remembered: date, offset: offset)
        }
        let visit = Visit(
            monitor: event.monitor, identifier: event.identifier, scope: event.scope, time: now, clockOffset: offset,
            condition: event.condition, refinement: event.refinement, arrival: open.arrival.map { instant($0) },
            departure: open.refreshes > 0 ? event.lastSeen.map { instant(moment($0)) } : nil,
            sightings: open.refreshes, strength: open.strength,
            reason: event.condition.isCircle ? .left : .exitTimeout)
        apply(visit)
        leaving = nil
        return visit
    }

    /// Returns the snapshot after the last line. After a restart of the machine, times are dates.
    func snapshot(machine: String) -> MonitorSnapshot {
        var snapshot = MonitorSnapshot()
        snapshot.monitors = monitors
        snapshot.adapters = adapterOrder.compactMap { name in
            adapters[name].map { MonitorSnapshot.Adapter(name: name, address: $0.address, stopped: $0.stopped) }
        }
        for identifier in order {
            guard let entry = entries[identifier] else { continue }
            var condition = entry.condition
            condition.beacons = entry.beacons.sorted { $0.key < $1.key }.map(\.value)
            snapshot.conditions.append(condition)
        }
        return BootID.machine(of: boot) == machine ? snapshot : snapshot.afterReboot(offset: offset)
    }

    // MARK: Lines

    /// Applies a parsed line. If it has no number, only the information about its start is used.
    mutating func apply(_ parser: inout LineParser) {
        let head = parser.head
        if !parser.isOf(boot: Array(boot.utf8)) { handleRestart(parser.boot, at: head.time) }
        note(offset: head.offset)
        guard let number = head.sequence else { return }
        sequence = number
        leaving = nil
        switch head.kind {
        case .event: if let event = parser.event() { apply(event, adapters: parser.adapters) }
        case .visit: if let visit = parser.visit() { apply(visit) }
        case .condition: if let change = parser.conditionChange() { apply(change) }
        case .adapter: if let change = parser.adapterChange() { apply(change) }
        case .clock: if let change = parser.clockChange() { isSynchronized = change.isSynchronized }
        case .gateway, .ranging, .evidence, .erased, nil: break
        }
    }

    /// Dates are cut to microseconds, so the offset that results from a date is up to one microsecond too small.
    private mutating func note(offset: ClockOffset) {
        let (difference, overflow) = offset.nanoseconds.subtractingReportingOverflow(self.offset.nanoseconds)
        if overflow || difference.magnitude > 2000 { self.offset = offset }
    }

    /// Handles a restart of the process, or of the machine.
    private mutating func handleRestart(_ boot: String, at time: Instant) {
        let isSameMachine = BootID.machine(of: boot) == BootID.machine(of: self.boot)
        if !isSameMachine {
            let moved = snapshot(machine: "-")
            for condition in moved.conditions {
                let identifier = Identifier(lookup: condition.identifier)
                entries[identifier]?.condition.own = condition.own
                for beacon in condition.beacons {
                    if let identity = beacon.beacon { entries[identifier]?.beacons[identity] = beacon }
                }
            }
            for adapter in moved.adapters { adapters[adapter.name]?.stopped = adapter.stopped }
            isSynchronized = nil
        }
        self.boot = boot
        for name in adapterOrder {
            if adapters[name]?.stopped == nil { adapters[name]?.stopped = .timeline(time) }
            adapters[name]?.outage = time
        }
    }

    private mutating func apply(_ change: ConditionChange) {
        let identifier = Identifier(lookup: change.identifier)
        switch change.kind {
        case .added, .replaced: begin(change, change.settings)
        case .changed:
            guard let known = entries[identifier]?.condition else { break }
            let perBeacon = known.settings?.perBeacon ?? change.settings.perBeacon
            if known.condition != change.condition || perBeacon != change.settings.perBeacon {
                // The line that replaced the condition is missing.
                begin(change, change.settings)
            } else {
                entries[identifier]?.condition.settings = change.settings
            }
        case .removed:
            entries[identifier] = nil
            order.removeAll { $0 == identifier }
            records[identifier] = nil
        }
    }

    /// Starts a condition in its assumed state, as a line of kind `added` or `replaced` does. A line of another kind
    /// shows that this line was deleted, or lost in a power failure; then the state is unknown (rule C2).
    private mutating func begin(_ change: ConditionChange, _ settings: ConditionSettings?) {
        let identifier = Identifier(lookup: change.identifier)
        var own = MonitorSnapshot.Subject(state: change.assumed ?? .unknown)
        if own.state == .satisfied {
            own.visit = MonitorSnapshot.OpenVisit(arrival: nil, refreshes: 0, strength: nil)
        }
        if change.kind == .added { order.removeAll { $0 == identifier } }
        if change.kind == .added || entries[identifier] == nil { order.append(identifier) }
        entries[identifier] = Entry(
            condition: MonitorSnapshot.Condition(
                monitor: change.monitor, identifier: change.identifier, condition: change.condition,
                settings: settings, own: own))
        records[identifier] = StoredRecord(
            event: BeaconMonitor.Record(beginning: change).lastEvent, adapter: "", isPlaceholder: true)
    }

    private mutating func apply(_ event: BeaconMonitor.Event, adapters names: AdapterNames) {
        let identifier = Identifier(lookup: event.identifier)
        let adapter = event.sighting.map { names.name(of: $0.adapter) } ?? ""
        if entries[identifier]?.condition.condition != event.condition {
            // The line that added or replaced the condition is missing.
            let change = ConditionChange(
                monitor: event.monitor, identifier: event.identifier, kind: .replaced, time: event.time,
                clockOffset: event.clockOffset, condition: event.condition, settings: ConditionSettings(), assumed: nil)
            begin(change, nil)
        }
        // Only a condition with `per_beacon` has events of beacons.
        if event.scope == .beacon { entries[identifier]?.condition.settings?.perBeacon = true }
        guard let condition = entries[identifier]?.condition else { return }
        if event.scope == .condition {
            var own = condition.own
            change(&own, by: event, adapter, outageTimeout: outageTimeout(of: condition.monitor))
            entries[identifier]?.condition.own = own
            records[identifier] = StoredRecord(event: event, adapter: adapter, isPlaceholder: false)
        } else if let beacon = event.refinement {
            var subject =
                entries[identifier]?.beacons[beacon] ?? MonitorSnapshot.Subject(beacon: beacon, state: .unsatisfied)
            change(&subject, by: event, adapter, outageTimeout: outageTimeout(of: condition.monitor))
            // Rule P1: an `unsatisfied` beacon is forgotten.
            entries[identifier]?.beacons[beacon] = event.state == .unsatisfied ? nil : subject
        }
    }

    private func outageTimeout(of monitor: String) -> Duration {
        monitors.first { $0.name == monitor }?.settings.outageTimeout ?? MonitorSettings().outageTimeout
    }

    private mutating func change(
        _ subject: inout MonitorSnapshot.Subject, by event: BeaconMonitor.Event, _ adapter: String,
        outageTimeout: Duration
    ) {
        let before = subject.state
        subject.state = event.state
        subject.wasSatisfied = before == .satisfied && event.state == .unknown
        subject.previous = BeaconMonitor.Event.Previous(state: event.state, date: event.date)
        if let sighting = event.sighting, let seen = event.lastSeen {
            var beacon = sighting.beacon
            if event.refinement == nil, let former = subject.lastRefresh?.beacon { beacon = former }
            subject.lastRefresh = MonitorSnapshot.Refresh(
                time: moment(seen), beacon: beacon, measuredPower: sighting.measuredPower, rssi: sighting.rssi,
                address: sighting.address, adapter: adapter)
        }
        let isCircle = event.condition.isCircle
        if isCircle { subject.lastSeen = event.lastSeen.map { moment($0) } }
        switch event.state {
        case .satisfied:
            // Rule L3: the refresh ends the holds of adapters that stopped too long ago.
            subject.holders.removeAll { name in
                guard let entry = adapters[name], entry.stopped != nil, let outage = entry.outage else {
                    return name == adapter
                }
                return name == adapter || outage + outageTimeout <= event.time
            }
            // A circle has no holders (rule G3).
            if !isCircle { subject.holders.append(adapter) }
            subject.holders.removeFirst(max(0, subject.holders.count - MonitorEngine.holdersMax))
            subject.visit =
                subject.visit
                ?? MonitorSnapshot.OpenVisit(arrival: moment(event.time), refreshes: 0, strength: nil)
            subject.visit?.count(event.sighting?.rssi)
        case .unsatisfied:
            subject.holders = []
            leaving = subject.visit.map { (event, $0) }
        case .unknown:
            if before != .satisfied { subject.holders = [] }
        case .unmonitored:
            subject.holders = []
            subject.visit = nil
        }
    }

    private func moment(_ instant: Instant) -> PastMoment {
        // A time before the start of the timeline is from an earlier timeline.
        instant.nanoseconds < 0 ? .date(WallDate(instant, offset: offset)) : .timeline(instant)
    }

    private mutating func apply(_ visit: Visit) {
        let beacon = visit.scope == .beacon ? visit.refinement : nil
        let identifier = Identifier(lookup: visit.identifier)
        if let beacon, visit.reason.isLeaving {
            entries[identifier]?.beacons[beacon]?.visit = nil
        } else if let beacon {
            // No event follows: its subject ended with its condition, or another beacon took its place (rules C3, P4).
            entries[identifier]?.beacons[beacon] = nil
        } else {
            entries[identifier]?.condition.own.visit = nil
        }
    }

    private mutating func apply(_ change: AdapterChange) {
        let name = change.adapter
        // Only a forgotten adapter gets another name in lines, when it scans again (rule L7).
        if let address = change.address {
            for former in adapterOrder
            where former != name && adapters[former]?.address == address
                && former.gatewayOfAdapter == name.gatewayOfAdapter
            {
                remove(former)
            }
        }
        if let known = adapters[name], isAnother(known, change) { forget(name) }
        if adapters[name] == nil {
            adapters[name] = AdapterEntry()
            adapterOrder.append(name)
        }
        switch change.state {
        case .listening: adapters[name] = AdapterEntry(address: change.address)
        case .deaf, .off:
            adapters[name] = AdapterEntry(
                address: change.address, stopped: moment(change.since), outage: change.since)
        case .gone: remove(name)
        }
    }

    private mutating func remove(_ name: String) {
        adapters[name] = nil
        adapterOrder.removeAll { $0 == name }
        forget(name)
    }

    /// Returns whether the adapter with this name was forgotten, and its name now belongs to another one (rule L7).
    private func isAnother(_ known: AdapterEntry, _ change: AdapterChange) -> Bool {
        if let before = known.address, let address = change.address, before != address { return true }
        guard change.state == .listening, case .timeline(let stopped)? = known.stopped,
            let longest = monitors.map(\.settings.forgetAfter).max()
        else { return false }
        return stopped + longest <= change.time
    }

    /// Removes the holds of an adapter with this name (rule L3).
    private mutating func forget(_ name: String) {
        for identifier in order {
            entries[identifier]?.condition.own.holders.removeAll { $0 == name }
            for beacon in entries[identifier]?.beacons.keys.map({ $0 }) ?? [] {
                entries[identifier]?.beacons[beacon]?.holders.removeAll { $0 == name }
            }
        }
    }
}

extension MonitorSnapshot.OpenVisit {
    /// Counts a refresh.
    fileprivate mutating func count(_ rssi: RSSI?) {
        refreshes += 1
        guard let rssi = rssi?.dBm else { return }
        let old = strength ?? Visit.Strength(minimum: rssi, sum: 0, count: 0, maximum: rssi)
        strength = Visit.Strength(
            minimum: min(old.minimum, rssi), sum: old.sum + Int64(rssi), count: old.count + 1,
            maximum: max(old.maximum, rssi))
    }
}
