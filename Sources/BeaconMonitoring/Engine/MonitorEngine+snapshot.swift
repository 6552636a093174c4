// What an engine hands to the one that comes after it (rule N4).
extension MonitorEngine {
    /// What survives a restart, as it is now.
    public var snapshot: MonitorSnapshot {
        var snapshot = MonitorSnapshot()
        snapshot.monitors = monitors.all.map { monitor in
            var settings = MonitorSettings()
            settings.outageTimeout = .nanoseconds(monitor.outageTimeout)
            settings.forgetAfter = .nanoseconds(monitor.forgetAfter)
            return MonitorSnapshot.Monitor(name: monitor.name.text, settings: settings)
        }
        for adapter in adapters.indices.dropFirst() {
            if let adapter = adapterSnapshot(adapter) { snapshot.adapters.append(adapter) }
        }
        var places: [ConditionIndex: Int] = [:]
        for condition in conditions.inOrder {
            let state = conditions[condition]
            places[condition] = snapshot.conditions.count
            snapshot.conditions.append(
                MonitorSnapshot.Condition(
                    monitor: monitor(of: condition).name.text, identifier: state.identifier.text,
                    condition: state.condition, settings: state.settings,
                    own: subjectSnapshot(conditions.match(condition).subject)))
        }
        for subject in subjects.indices(where: { $0.isBeacon && !$0.isOnTheWayIn }) {
            guard let place = places[subjects[subject].condition] else { continue }
            snapshot.conditions[place].beacons.append(subjectSnapshot(subject))
        }
        for place in snapshot.conditions.indices where snapshot.conditions[place].beacons.count > 1 {
            snapshot.conditions[place].beacons.sort {
                guard let left = $0.beacon, let right = $1.beacon else { return false }
                return left < right
            }
        }
        return snapshot
    }

    /// An adapter that ever listened; absent where it is forgotten and holds nothing.
    private func adapterSnapshot(_ adapter: AdapterIndex) -> MonitorSnapshot.Adapter? {
        let state = adapters[adapter]
        guard state.hasListened else { return nil }
        if adapter != adapters.locationSource, adapters[holdsOf: adapter].count == 0,
            adapters.isForgotten(adapter, after: monitors.longestForgetting, at: present)
        {
            return nil
        }
        let isListening = adapters.clock(of: adapter).isListening
        return MonitorSnapshot.Adapter(
            name: state.name, address: state.address,
            stopped: isListening ? nil : PastMoment(place: state.silence.silentSince, offset: clockOffset))
    }

    private func subjectSnapshot(_ index: SubjectIndex) -> MonitorSnapshot.Subject {
        let subject = subjects[index]
        var snapshot = MonitorSnapshot.Subject(
            beacon: subject.isBeacon ? subjects.beacon(of: index, conditions) : nil, state: subject.state)
        snapshot.wasSatisfied = subject.wasSatisfied
        if subject.hasPrevious { snapshot.previous = subjects[detailsOf: index].previous }
        if subject.isRefreshed, isCircle(index) {
            snapshot.lastSeen = KeptMoment(subject.last.time).past
        } else if subject.isRefreshed {
            let sighting = subject.last.sighting(uuid: conditions[subject.condition].uuid)
            snapshot.lastRefresh = MonitorSnapshot.Refresh(
                time: KeptMoment(subject.last.time).past, beacon: sighting.beacon,
                measuredPower: sighting.measuredPower, rssi: sighting.rssi, address: sighting.address,
                adapter: name(of: sighting.adapter))
        }
        let holders = (0..<subject.holdCount).map { subject.hold(at: $0).adapter }
        snapshot.holders = holders.filter { $0 != .together }.map { adapters[$0].name }
        if subject.isVisited {
            let arrival = subjects[detailsOf: index].arrival
            snapshot.visit = MonitorSnapshot.OpenVisit(
                arrival: arrival == SubjectDetails.assumed ? nil : KeptMoment(arrival).past,
                refreshes: subject.refreshes, strength: subject.strength)
        }
        return snapshot
    }
}
