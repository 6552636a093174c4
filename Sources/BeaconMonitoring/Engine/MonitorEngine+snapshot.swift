import BluetoothLE

// What an engine hands to the one that comes after it (rule N4).
extension MonitorEngine {
    /// What survives a restart, as it is now.
    public var snapshot: MonitorSnapshot {
        var snapshot = MonitorSnapshot()
        snapshot.monitors = monitors.map { monitor in
            var settings = MonitorSettings()
            settings.outageTimeout = .nanoseconds(monitor.outageTimeout)
            settings.forgetAfter = .nanoseconds(monitor.forgetAfter)
            return MonitorSnapshot.Monitor(name: monitor.name.text, settings: settings)
        }
        for (place, adapter) in adapters.enumerated().dropFirst() where adapter.hasListened {
            if place > locationPlace, adapter.holdCount == 0, isForgotten(entry: place - locationPlace - 1) { continue }
            let stopped = adapter.isListening ? nil : past(adapter.silentSince)
            snapshot.adapters.append(
                MonitorSnapshot.Adapter(name: adapter.name, address: adapter.address, stopped: stopped))
        }
        let order = conditionPlaces.values.sorted { conditions[Int($0)].place < conditions[Int($1)].place }
        var places: [Int32: Int] = [:]
        for condition in order {
            let state = conditions[Int(condition)]
            let match = matches[Int(condition)]
            places[condition] = snapshot.conditions.count
            snapshot.conditions.append(
                MonitorSnapshot.Condition(
                    monitor: monitors[Int(match.monitor)].name.text, identifier: state.identifier.text,
                    condition: state.condition, settings: state.settings, own: subjectSnapshot(Int(match.subject))))
        }
        for subject in subjects.indices where subjects[subject].isBeacon && !subjects[subject].isOnTheWayIn {
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

    private func subjectSnapshot(_ place: Int) -> MonitorSnapshot.Subject {
        let subject = subjects[place]
        var snapshot = MonitorSnapshot.Subject(
            beacon: subject.isBeacon ? beacon(of: place) : nil, state: subject.state)
        snapshot.wasSatisfied = subject.wasSatisfied
        if subject.hasPrevious { snapshot.previous = details[place].previous }
        if subject.isRefreshed, isCircle(place) {
            snapshot.lastSeen = past(subject.last.time)
        } else if subject.isRefreshed {
            let sighting = subject.last.sighting(uuid: uuid(of: Int(subject.condition)))
            snapshot.lastRefresh = MonitorSnapshot.Refresh(
                time: past(subject.last.time), beacon: sighting.beacon, measuredPower: sighting.measuredPower,
                rssi: sighting.rssi, address: sighting.address, adapter: name(of: sighting.adapter))
        }
        if subject.isHeld {
            let holds = subject.others + [subject.hold]
            snapshot.holders = holds.filter { $0.adapter != 0 }.map { adapters[Int($0.adapter)].name }
        }
        if subject.isVisited {
            let arrival = details[place].arrival
            let strength = Visit.Strength(
                minimum: subject.strengthMinimum, sum: subject.strengthSum, count: subject.strengthCount,
                maximum: subject.strengthMaximum)
            snapshot.visit = MonitorSnapshot.OpenVisit(
                arrival: arrival == SubjectDetails.assumed ? nil : past(arrival), refreshes: subject.refreshes,
                strength: subject.strengthCount > 0 ? strength : nil)
        }
        return snapshot
    }

    // MARK: Moments

    // A time that an engine keeps is a place on its timeline; one that was remembered over a restart of the machine is
    // a date: microseconds counted from the smallest number there is, so that it is below any place.

    /// What the engine keeps for a moment that is remembered.
    func kept(_ moment: PastMoment) -> Int64 {
        switch moment {
        case .timeline(let instant): min(max(instant.nanoseconds, 0), present)
        case .date(let date): Int64.min + min(max(date.microseconds, 0), 9_000_000_000_000_000)
        }
    }

    /// The moment that was kept.
    func past(_ kept: Int64) -> PastMoment {
        kept < 0 ? .date(WallDate(microseconds: kept - Int64.min)) : .timeline(Instant(nanoseconds: kept))
    }

    /// A moment that was kept, on the timeline, where the present offset prints it as the date that it was.
    func moment(_ kept: Int64) -> Instant {
        guard kept < 0 else { return Instant(nanoseconds: kept) }
        let (nanoseconds, overflow) = ((kept - Int64.min) * 1000).subtractingReportingOverflow(clockOffset.nanoseconds)
        return Instant(remembered: overflow ? .max : nanoseconds)
    }
}

extension SubjectDetails {
    /// What stands for the arrival of an entry that was assumed.
    static let assumed: Int64 = -1
}
