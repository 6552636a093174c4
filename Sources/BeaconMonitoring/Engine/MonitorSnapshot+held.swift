import BaseTypes

extension MonitorSnapshot {
    /// Creates the snapshot of an engine's current state that survives a restart (rule N4).
    init(_ held: HeldSubjects, clockOffset: ClockOffset) {
        monitors = held.monitors.all.map { monitor in
            var settings = MonitorSettings()
            settings.outageTimeout = .nanoseconds(monitor.outageTimeout)
            settings.forgetAfter = .nanoseconds(monitor.forgetAfter)
            return Monitor(name: monitor.name.text, settings: settings)
        }
        adapters = held.adapters.indices.dropFirst().compactMap { Adapter($0, of: held, clockOffset: clockOffset) }
        var places: [ConditionIndex: Int] = [:]
        for condition in held.conditions.inOrder {
            let state = held.conditions[condition]
            places[condition] = conditions.count
            conditions.append(
                Condition(
                    monitor: held.monitor(of: condition).name.text, identifier: state.identifier.text,
                    condition: state.condition, settings: state.settings,
                    own: Subject(held.conditions.match(condition).subject, of: held)))
        }
        for subject in held.subjects.indices(where: { $0.isBeacon && !$0.isCandidate }) {
            guard let place = places[held[subject].condition] else { continue }
            conditions[place].beacons.append(Subject(subject, of: held))
        }
        for place in conditions.indices where conditions[place].beacons.count > 1 {
            conditions[place].beacons.sort {
                guard let left = $0.beacon, let right = $1.beacon else { return false }
                return left < right
            }
        }
    }
}

extension MonitorSnapshot.Adapter {
    /// Creates the entry of an adapter; `nil` if it has not scanned since it was added, or if it is forgotten and holds
    /// no subject. The location source is never forgotten.
    fileprivate init?(_ adapter: AdapterIndex, of held: HeldSubjects, clockOffset: ClockOffset) {
        let state = held.adapters[adapter]
        guard state.hasListened else { return nil }
        if adapter != held.adapters.locationSource, held.holdCount(of: adapter) == 0,
            held.adapters.isForgotten(adapter, after: held.monitors.longestForgetting, at: held.present)
        {
            return nil
        }
        let isListening = held.adapters.clock(of: adapter).isListening
        self.init(
            name: state.name, address: state.address,
            stopped: isListening ? nil : PastMoment(place: state.silence.silentSince, offset: clockOffset))
    }
}

extension MonitorSnapshot.Subject {
    fileprivate init(_ index: SubjectIndex, of held: HeldSubjects) {
        let subject = held[index]
        self.init(beacon: subject.isBeacon ? held.beacon(of: index) : nil, state: subject.state)
        wasSatisfied = subject.wasSatisfied
        if subject.hasPrevious { previous = held[detailsOf: index].previous }
        if subject.isRefreshed, held.isCircle(index) {
            lastSeen = PackedMoment(subject.last.time).past
        } else if subject.isRefreshed {
            let sighting = subject.last.sighting(uuid: held.conditions[subject.condition].uuid)
            lastRefresh = MonitorSnapshot.Refresh(
                time: PackedMoment(subject.last.time).past, beacon: sighting.beacon,
                measuredPower: sighting.measuredPower, rssi: sighting.rssi, address: sighting.address,
                adapter: held.adapters[AdapterIndex(sighting.adapter)].name)
        }
        holders = (0..<subject.holdCount).map { subject.hold(at: $0).adapter }
            .filter { $0 != .together }.map { held.adapters[$0].name }
        if subject.isVisited {
            let arrival = held[detailsOf: index].arrival
            visit = MonitorSnapshot.OpenVisit(
                arrival: arrival == SubjectDetails.assumed ? nil : PackedMoment(arrival).past,
                refreshes: subject.refreshes, strength: subject.strength)
        }
    }
}
