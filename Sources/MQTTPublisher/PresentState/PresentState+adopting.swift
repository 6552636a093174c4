package import BeaconMonitoring
import BluetoothLE

// What the engine itself knows, where it is at hand.
extension PresentState {
    /// Makes what it says what the engine's state says: conditions that are not in it are no more, beacons likewise.
    ///
    /// For when the lines don't tell all: the oldest were deleted before anybody asked for retained topics, or some were
    /// lost. What is the same stays as it is and is not said again. Take the lines that are there first: beacons that came
    /// and went meanwhile are known by them alone.
    ///
    /// - Parameters:
    ///   - snapshot: the engine's state.
    ///   - number: the number of the last line that made it so.
    ///   - offset: how far the wall clock is ahead of the snapshot's timeline.
    /// - Returns: whether it was: not where this one stands at a later line.
    @discardableResult
    package mutating func adopt(_ snapshot: MonitorSnapshot, at number: Int, offset: ClockOffset) -> Bool {
        guard number >= sequence else { return false }
        sequence = number
        var isThere: Set<Identifier> = []
        for saved in snapshot.conditions {
            guard let identifier = try? Identifier(saved.identifier), (try? Identifier(saved.monitor)) != nil else {
                counts.linesIgnored += 1
                continue
            }
            isThere.insert(identifier)
            adopt(saved, as: identifier, offset)
        }
        for identifier in conditions.keys.sorted() where !isThere.contains(identifier) { remove(identifier) }
        return true
    }

    private mutating func adopt(_ saved: MonitorSnapshot.Condition, as identifier: Identifier, _ offset: ClockOffset) {
        if let held = conditions[identifier], held.condition != saved.condition { forgetBeacons(of: identifier) }
        let own = presence(of: saved.own, offset)
        let held = conditions[identifier]
        if held?.monitor != saved.monitor || held?.condition != saved.condition || !isSame(held?.own, own) {
            put(identifier, saved.monitor, saved.condition, own)
        }
        var inView: Set<BeaconIdentity> = []
        for subject in saved.beacons {
            guard let beacon = subject.beacon, subject.state == .satisfied || subject.state == .unknown else {
                continue
            }
            inView.insert(beacon)
            let presence = presence(of: subject, offset)
            if !isSame(conditions[identifier]?.beacons[beacon], presence), conditions[identifier] != nil {
                put(beacon, under: identifier, presence)
            }
        }
        // The engine holds every beacon that is not gone: the rest left, when nobody knows.
        let now = conditions[identifier]
        let gone = (now?.beacons.keys.sorted() ?? []).filter { !inView.contains($0) }
        let doubted = (now?.away.filter { $0.value.state != .unsatisfied }.keys.sorted() ?? [])
        for beacon in gone + doubted {
            let lastSeen = (now?.beacons[beacon] ?? now?.away[beacon])?.lastSeen
            put(
                beacon, under: identifier,
                SubjectPresence(state: .unsatisfied, refinement: beacon, lastSeen: lastSeen))
        }
    }

    private func presence(of subject: MonitorSnapshot.Subject, _ offset: ClockOffset) -> SubjectPresence {
        var presence = SubjectPresence(state: subject.state)
        // Its last event's, where that made it what it is.
        if let previous = subject.previous, previous.state == subject.state { presence.date = previous.date }
        presence.isAssumed = subject.beacon == nil && subject.previous == nil && subject.state.isPresence
        if let refresh = subject.lastRefresh {
            switch refresh.time {
            case .date(let date): presence.lastSeen = date
            case .timeline(let instant): presence.lastSeen = WallDate(instant, offset: offset)
            }
            if subject.beacon == nil, subject.state == .satisfied { presence.refinement = refresh.beacon }
        }
        if let beacon = subject.beacon { presence.refinement = beacon }
        return presence
    }

    /// Whether both say the same: what is so, and since when where both tell.
    private func isSame(_ held: SubjectPresence?, _ other: SubjectPresence) -> Bool {
        guard let held, held.state == other.state else { return false }
        guard let left = held.date, let right = other.date else { return other.date == nil }
        return left == right
    }
}

extension BeaconMonitor.Event.State {
    /// Whether it says of somebody that he is there or is not.
    fileprivate var isPresence: Bool { self == .satisfied || self == .unsatisfied }
}
