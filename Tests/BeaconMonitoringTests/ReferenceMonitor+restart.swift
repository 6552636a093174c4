import BaseTypes
import BluetoothLE

@testable import BeaconMonitoring

// Restarts (rule N4), written as simply as the rest.
extension ReferenceMonitor {
    /// The snapshot that the model would pass to the next process.
    var memory: MonitorSnapshot {
        var memory = MonitorSnapshot()
        memory.monitors = monitors.map { MonitorSnapshot.Monitor(name: $0.name.text, settings: $0.settings) }
        // Adapters are in the order in which they were first seen. If a name without an address could mean several
        // adapters, this order decides (rule L7). Adapters that are forgotten and hold nothing are left out.
        let holds = entries.flatMap { [$0.own] + $0.beacons }.flatMap(\.holds)
        for adapter in adapters.sorted(by: { $0.id.index < $1.id.index })
        where adapter.listens || adapter.stopped != nil {
            guard !isForgotten(adapter) || holds.contains(where: { $0.adapter === adapter }) else { continue }
            let stopped = adapter.stoppedInFact ?? adapter.stopped
            memory.adapters.append(
                MonitorSnapshot.Adapter(
                    name: adapter.name, address: adapter.address, stopped: stopped.map { .timeline($0) }))
        }
        for entry in entries {
            var condition = MonitorSnapshot.Condition(
                monitor: entry.monitor.name.text, identifier: entry.identifier.text, condition: entry.condition,
                settings: entry.settings, own: remembered(entry.own))
            condition.beacons = entry.beacons.filter { !$0.isOnItsWayIn }.map { remembered($0) }
            memory.conditions.append(condition)
        }
        return memory
    }

    private func remembered(_ subject: Subject) -> MonitorSnapshot.Subject {
        var memory = MonitorSnapshot.Subject(beacon: subject.beacon, state: subject.state)
        memory.wasSatisfied = subject.wasSatisfied
        memory.previous = subject.previous
        memory.lastRefresh = subject.lastRefresh.map {
            MonitorSnapshot.Refresh(
                time: .timeline($0.time), beacon: $0.beacon, measuredPower: $0.measuredPower, rssi: $0.rssi,
                address: $0.address, adapter: self[$0.adapter].name)
        }
        memory.lastSeen = subject.lastInside.map { .timeline($0) }
        memory.holders = subject.holds.compactMap { $0.adapter?.name }
        if let visit = subject.visit {
            var strength: Visit.Strength?
            if let minimum = visit.strengths.min(), let maximum = visit.strengths.max() {
                strength = Visit.Strength(
                    minimum: minimum, sum: visit.strengths.reduce(0) { $0 + Int64($1) },
                    count: visit.strengths.count, maximum: maximum)
            }
            memory.visit = MonitorSnapshot.OpenVisit(
                arrival: visit.arrival.map { .timeline($0) }, refreshes: visit.sightings, strength: strength)
        }
        return memory
    }

    /// Starts from the snapshot of another model. Only the monitors are known before.
    func restore(_ memory: MonitorSnapshot, into actions: inout ActionBuffer) throws(MonitorError) {
        let subjects = memory.conditions.flatMap { [$0.own] + $0.beacons }
        for saved in memory.adapters where source == nil || saved.name != source?.name {
            let isHolder = subjects.contains { $0.holders.contains(saved.name) }
            var since = now
            if case .timeline(let stopped)? = saved.stopped { since = stopped }
            guard isHolder || !hasBeenLong(since: since) else { continue }
            let adapter = restoreAdapter(saved.name, saved.address)
            (adapter.stopped, adapter.stoppedInFact) = (now, since)
            if isHolder { (adapter.isOnlyRemembered, adapter.state) = (false, nil) }
        }
        for saved in memory.conditions {
            guard let monitor = monitors.first(where: { $0.name.text == saved.monitor }) else { continue }
            var settings = saved.settings ?? ConditionSettings()
            settings.perBeacon = settings.perBeacon || !saved.beacons.isEmpty
            let entry = Entry(
                identifier: ScriptGenerator.identifier(saved.identifier), monitor: monitor,
                condition: saved.condition, settings: settings)
            entries.append(entry)
            entriesByIdentifier.append(entry)
            entriesByIdentifier.sort { $0.identifier < $1.identifier }
            try restore(entry.own, saved.own)
            if saved.condition.isCircle { entry.own.holds = [] }
            for beacon in saved.beacons {
                let subject = Subject(beacon: beacon.beacon)
                try restore(subject, beacon)
                refreshes += 1
                subject.refreshNumber = refreshes
                entry.beacons.append(subject)
            }
        }
        restorePlaces()
        for action in made.actions { actions.append(action) }
        made.removeAll()
    }

    /// Applies rule C4 if an event about places was not durable, or if the limit has changed. Conditions that had a
    /// place keep it while there are places. The first of the other conditions get the remaining places.
    private func restorePlaces() {
        let limit = settings.conditionLimit
        var hasPlace: Set<Identifier> = []
        for hadPlace in [true, false] {
            for entry in entries where (entry.own.state != .unmonitored) == hadPlace {
                guard isSupported(entry), limit == 0 || hasPlace.count < limit else { continue }
                hasPlace.insert(entry.identifier)
            }
        }
        decidedPlaces = hasPlace
        defer { decidedPlaces = nil }
        for entry in entries {
            let isMonitored = entry.own.state != .unmonitored
            guard isMonitored != hasPlace.contains(entry.identifier) else { continue }
            if isMonitored {
                for subject in [entry.own] + entry.beacons { endVisit(of: subject, entry, reason: .removed) }
                (entry.beacons, entry.own.holds) = ([], [])
                if !isSupported(entry) {
                    change(entry.own, entry, to: .unmonitored, because: .conditionUnsupported)
                } else {
                    change(entry.own, entry, to: .unmonitored, because: .conditionLimitExceeded)
                }
            } else {
                (entry.own.visit, entry.own.holds) = (nil, entry.condition.isCircle ? [] : [newHold(by: nil)])
                change(entry.own, entry, to: .unknown)
            }
        }
    }

    private func restore(_ subject: Subject, _ saved: MonitorSnapshot.Subject) throws(MonitorError) {
        subject.state = saved.state
        subject.wasSatisfied = saved.wasSatisfied
        subject.previous = saved.previous
        if case .timeline(let seen)? = saved.lastSeen { subject.lastInside = seen }
        if let refresh = saved.lastRefresh, case .timeline(let time) = refresh.time {
            let adapter: Adapter
            if let known = adapters.first(where: { $0 !== source && $0.name == refresh.adapter }) {
                adapter = known
            } else {
                adapter = restoreAdapter(refresh.adapter, nil)
            }
            subject.lastRefresh = Sighting(
                time: time, adapter: adapter.id, beacon: refresh.beacon, measuredPower: refresh.measuredPower,
                rssi: refresh.rssi, address: refresh.address)
        }
        if let visit = saved.visit {
            var open = OpenVisit()
            if case .timeline(let arrival)? = visit.arrival { open.arrival = arrival }
            open.sightings = visit.refreshes
            if visit.refreshes > 0 { open.departure = subject.lastInside ?? subject.lastRefresh?.time }
            if let strength = visit.strength {
                // Any values that have this minimum, maximum and sum.
                open.strengths = ReferenceMonitor.strengths(strength)
            }
            subject.visit = open
        }
        guard subject.state == .satisfied || subject.state == .unknown else { return }
        for holder in saved.holders {
            // If no remaining line has the adapter as scanning, it does not hold anything.
            guard let adapter = adapters.first(where: { $0 !== source && $0.name == holder && $0.stopped != nil })
            else { continue }
            subject.holds.append(newHold(by: adapter))
        }
        if subject.holds.isEmpty { subject.holds = [newHold(by: nil)] }
    }

    private static func strengths(_ strength: Visit.Strength) -> [Int8] {
        var values = [Int8](repeating: strength.minimum, count: strength.count)
        var left = strength.sum - Int64(strength.minimum) * Int64(strength.count)
        for index in values.indices {
            let more = min(left, Int64(strength.maximum) - Int64(strength.minimum))
            values[index] += Int8(more)
            left -= more
        }
        // The maximum must be one of the values. The sum permits this, because the real values had it too.
        if !values.contains(strength.maximum), values.count > 1 {
            let index = values.count - 1
            let missing = Int64(strength.maximum) - Int64(values[index])
            values[index] = strength.maximum
            var take = missing
            for other in values.indices.dropLast() where take > 0 {
                let less = min(take, Int64(values[other]) - Int64(strength.minimum))
                values[other] -= Int8(less)
                take -= less
            }
        }
        return values
    }
}

/// The state after the lines that follow a snapshot, computed by a second implementation.
struct RestartMemory {
    var snapshot: MonitorSnapshot
    /// The time from which an adapter counts as stopped for rule L2, if this is not the time at which it stopped.
    var outages: [String: Instant] = [:]

    /// Applies an action; `adapter` is the name of the adapter of its sighting.
    mutating func apply(_ action: Action, adapter: String) {
        switch action {
        case .event(let event): apply(event, adapter)
        case .visit(let visit):
            edit(visit.identifier, visit.scope == .beacon ? visit.refinement : nil) { $0.visit = nil }
            if ![.exitTimeout, .left].contains(visit.reason), let beacon = visit.refinement,
                let place = place(visit.identifier)
            {
                snapshot.conditions[place].beacons.removeAll { $0.beacon == beacon }
            }
        case .condition(let change): apply(change)
        case .adapter(let change): apply(change)
        case .adapterNamed, .trackingLimitExceeded: break
        }
    }

    private func place(_ identifier: String) -> Int? {
        snapshot.conditions.firstIndex { $0.identifier.utf8.elementsEqual(identifier.utf8) }
    }

    private mutating func edit(
        _ identifier: String, _ beacon: BeaconIdentity?, _ body: (inout MonitorSnapshot.Subject) -> Void
    ) {
        guard let place = place(identifier) else { return }
        guard let beacon else { return body(&snapshot.conditions[place].own) }
        if let index = snapshot.conditions[place].beacons.firstIndex(where: { $0.beacon == beacon }) {
            body(&snapshot.conditions[place].beacons[index])
        }
    }

    /// Returns a condition of which only an event or a change of its settings is known.
    private static func unknown(
        _ identifier: String, _ monitor: String, _ condition: Condition
    ) -> MonitorSnapshot.Condition {
        MonitorSnapshot.Condition(
            monitor: monitor, identifier: identifier, condition: condition, settings: nil,
            own: MonitorSnapshot.Subject(state: .unknown))
    }

    private mutating func apply(_ change: ConditionChange) {
        let old = place(change.identifier)
        switch change.kind {
        case .changed:
            guard let old else { break }
            let known = snapshot.conditions[old]
            let isSame = known.settings == nil || known.settings?.perBeacon == change.settings.perBeacon
            if !isSame || known.condition != change.condition {
                snapshot.conditions[old] = Self.unknown(change.identifier, change.monitor, change.condition)
            }
            snapshot.conditions[old].settings = change.settings
        case .removed: if let old { snapshot.conditions.remove(at: old) }
        case .added, .replaced:
            var own = MonitorSnapshot.Subject(state: change.assumed!)
            if own.state == .satisfied {
                own.visit = MonitorSnapshot.OpenVisit(arrival: nil, refreshes: 0, strength: nil)
            }
            let new = MonitorSnapshot.Condition(
                monitor: change.monitor, identifier: change.identifier, condition: change.condition,
                settings: change.settings, own: own)
            if let old { snapshot.conditions[old] = new } else { snapshot.conditions.append(new) }
        }
    }

    private mutating func apply(_ change: AdapterChange) {
        // The adapter had another name when it was forgotten.
        if change.address != nil {
            let gateway = ReferenceMonitor.gateway(of: change.adapter)
            for former in snapshot.adapters
            where former.address == change.address && former.name != change.adapter
                && ReferenceMonitor.gateway(of: former.name) == gateway
            {
                snapshot.adapters.removeAll { $0.name == former.name }
                forget(former.name)
            }
        }
        let place = snapshot.adapters.firstIndex { $0.name == change.adapter }
        if let before = place.map({ snapshot.adapters[$0] }) {
            var isForgotten = before.address != nil && change.address != nil && before.address != change.address
            if change.state == .listening, case .timeline(let stopped)? = before.stopped,
                let longest = snapshot.monitors.map(\.settings.forgetAfter).max()
            {
                isForgotten = isForgotten || stopped + longest <= change.time
            }
            if isForgotten { forget(change.adapter) }
        }
        outages[change.adapter] = nil
        guard change.state != .gone else {
            if let place { snapshot.adapters.remove(at: place) }
            return forget(change.adapter)
        }
        let known = MonitorSnapshot.Adapter(
            name: change.adapter, address: change.address,
            stopped: change.state == .listening ? nil : .timeline(change.since))
        // A change does not move an adapter in the order in which adapters were first seen.
        if let place { snapshot.adapters[place] = known } else { snapshot.adapters.append(known) }
    }

    private mutating func forget(_ adapter: String) {
        for condition in snapshot.conditions.indices {
            snapshot.conditions[condition].own.holders.removeAll { $0 == adapter }
            for beacon in snapshot.conditions[condition].beacons.indices {
                snapshot.conditions[condition].beacons[beacon].holders.removeAll { $0 == adapter }
            }
        }
    }

    private func isOut(_ adapter: String, _ monitor: String, at time: Instant) -> Bool {
        guard let saved = snapshot.adapters.first(where: { $0.name == adapter }) else { return false }
        guard case .timeline(let stopped)? = saved.stopped else { return false }
        let timeout = snapshot.monitors.first { $0.name == monitor }?.settings.outageTimeout ?? .seconds(60)
        return (outages[adapter] ?? stopped) + timeout <= time
    }

    private mutating func apply(_ event: BeaconMonitor.Event, _ adapter: String) {
        // The line that added or replaced the condition can be lost.
        let new = Self.unknown(event.identifier, event.monitor, event.condition)
        if place(event.identifier) == nil { snapshot.conditions.append(new) }
        guard let place = place(event.identifier) else { return }
        if snapshot.conditions[place].condition != event.condition { snapshot.conditions[place] = new }
        if event.scope == .beacon, snapshot.conditions[place].settings?.perBeacon == false {
            snapshot.conditions[place].settings?.perBeacon = true
        }
        let beacon = event.scope == .beacon ? event.refinement : nil
        if let beacon, !snapshot.conditions[place].beacons.contains(where: { $0.beacon == beacon }) {
            snapshot.conditions[place].beacons.append(MonitorSnapshot.Subject(beacon: beacon, state: .unsatisfied))
            snapshot.conditions[place].beacons.sort { $0.beacon! < $1.beacon! }
        }
        let memory = self
        edit(event.identifier, beacon) { subject in
            subject.wasSatisfied = subject.state == .satisfied && event.state == .unknown
            if event.state == .unknown, subject.state != .satisfied { subject.holders = [] }
            subject.state = event.state
            subject.previous = BeaconMonitor.Event.Previous(state: event.state, date: event.date)
            if let sighting = event.sighting {
                subject.lastRefresh = MonitorSnapshot.Refresh(
                    time: .timeline(event.lastSeen!), beacon: sighting.beacon,
                    measuredPower: sighting.measuredPower, rssi: sighting.rssi, address: sighting.address,
                    adapter: adapter)
            }
            if event.condition.isCircle { subject.lastSeen = event.lastSeen.map { .timeline($0) } }
            switch event.state {
            case .satisfied:
                if event.sighting != nil {
                    subject.holders.removeAll { $0 == adapter || memory.isOut($0, event.monitor, at: event.time) }
                    subject.holders = (subject.holders + [adapter]).suffix(8)
                }
                var visit =
                    subject.visit
                    ?? MonitorSnapshot.OpenVisit(arrival: .timeline(event.time), refreshes: 0, strength: nil)
                visit.refreshes += 1
                if let rssi = event.sighting?.rssi?.dBm {
                    let old = visit.strength
                    visit.strength = Visit.Strength(
                        minimum: min(old?.minimum ?? rssi, rssi), sum: (old?.sum ?? 0) + Int64(rssi),
                        count: (old?.count ?? 0) + 1, maximum: max(old?.maximum ?? rssi, rssi))
                }
                subject.visit = visit
            case .unsatisfied: subject.holders = []
            case .unmonitored: (subject.holders, subject.visit) = ([], nil)
            case .unknown: break
            }
        }
        if let beacon, event.state == .unsatisfied {
            snapshot.conditions[place].beacons.removeAll { $0.beacon == beacon }
        }
    }
}
