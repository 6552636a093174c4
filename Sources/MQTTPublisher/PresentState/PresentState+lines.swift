import BeaconMonitoring
package import BluetoothLE
import EventLog
import JSON

/// A beacon that has left, in the order in which they did.
struct AwayTracker: Sendable {
    var identifier: Identifier
    var beacon: BeaconIdentity
    /// When it left, as the line said: what tells whether it is this one still.
    var date: WallDate?
}

// What the lines of each type change. Each gives whether it was understood.
extension PresentState {
    /// A `condition` line: added, replaced, changed or removed (rules C2, C3).
    mutating func takeChange() -> Bool {
        guard let (identifier, monitor, condition) = subject(),
            let change = parser.text.find("change", in: parser.payload)
        else { return false }
        if parser.text.isText("removed", at: change) {
            remove(identifier)
        } else if parser.text.isText("added", at: change) || parser.text.isText("replaced", at: change) {
            let settings = parser.text.find("settings", in: parser.payload)
            let assumed = settings.flatMap { parser.text.state(parser.text.find("assuming", in: $0)) } ?? .unknown
            var own = SubjectPresence(state: assumed, date: parser.head.date, sequence: sequence)
            own.isAssumed = assumed != .unknown
            if conditions[identifier] != nil { forgetBeacons(of: identifier) }
            put(identifier, monitor, condition, own)
        } else if parser.text.isText("changed", at: change) {
            // What it is monitored by has changed, not what it is; of one that nobody told of, nothing is known.
            guard conditions[identifier] == nil else { return true }
            put(
                identifier, monitor, condition,
                SubjectPresence(state: .unknown, date: parser.head.date, sequence: sequence))
        } else {
            return false
        }
        return true
    }

    /// An `event` line: a condition's, or a beacon's under it (rule P1).
    mutating func takeEvent() -> Bool {
        guard let (identifier, monitor, condition) = subject(),
            let state = parser.text.state(parser.text.find("state", in: parser.payload))
        else { return false }
        let scope = parser.text.find("scope", in: parser.payload)
        let presence = SubjectPresence(
            state: state, date: parser.head.date, sequence: sequence,
            refinement: parser.text.beacon(parser.text.find("refinement", in: parser.payload)),
            lastSeen: parser.text.date(parser.text.find("lastSeen", in: parser.payload)),
            diagnostics: parser.text.diagnostics(parser.text.find("diagnostics", in: parser.payload)))
        if parser.text.isText("condition", at: scope) {
            put(identifier, monitor, condition, presence)
            return true
        }
        guard parser.text.isText("beacon", at: scope), let beacon = presence.refinement, state != .unmonitored else {
            return false
        }
        if conditions[identifier] == nil {
            put(
                identifier, monitor, condition,
                SubjectPresence(state: .unknown, date: parser.head.date, sequence: sequence))
            guard conditions[identifier] != nil else { return true }
        }
        put(beacon, under: identifier, presence)
        return true
    }

    /// A `visit` line. One that no leaving event ended is the last word on its beacon: what was said of that is cleared
    /// (rules C3, P4).
    mutating func takeVisit() -> Bool {
        guard let (identifier, _, _) = subject(), let reason = parser.text.find("reason", in: parser.payload) else {
            return false
        }
        guard parser.text.isText("beacon", at: parser.text.find("scope", in: parser.payload)),
            !parser.text.isText("exitTimeout", at: reason), !parser.text.isText("left", at: reason)
        else { return true }
        guard let beacon = parser.text.beacon(parser.text.find("refinement", in: parser.payload)) else { return false }
        forget(beacon, under: identifier)
        return true
    }

    /// Whom the line is about.
    private func subject() -> (identifier: Identifier, monitor: String, condition: Condition)? {
        guard let text = parser.text.string(parser.text.find("identifier", in: parser.payload)),
            let identifier = try? Identifier(text),
            let monitor = parser.text.string(parser.text.find("monitor", in: parser.payload)),
            (try? Identifier(monitor)) != nil,
            let condition = parser.text.condition(parser.text.find("condition", in: parser.payload))
        else { return nil }
        return (identifier, monitor, condition)
    }
}

// How that is put in place.
extension PresentState {
    /// A condition is so.
    mutating func put(_ identifier: Identifier, _ monitor: String, _ condition: Condition, _ own: SubjectPresence) {
        let isNew = conditions[identifier] == nil
        guard isNew else {
            conditions[identifier]?.monitor = monitor
            conditions[identifier]?.condition = condition
            conditions[identifier]?.own = own
            return touch(.condition(identifier))
        }
        guard conditions.count < options.conditionsMax else {
            counts.conditionsLeftOut += 1
            return
        }
        conditions[identifier] = ConditionPresence(monitor: monitor, condition: condition, own: own)
        // First what is so, then that there is something: an entity never stands without a state.
        touch(.condition(identifier))
        if homeAssistant != nil { touch(.conditionEntity(identifier)) }
    }

    /// A beacon under a condition that is held is so.
    mutating func put(_ beacon: BeaconIdentity, under identifier: Identifier, _ presence: SubjectPresence) {
        let wasInView = conditions[identifier]?.beacons[beacon] != nil
        let wasAway = conditions[identifier]?.away[beacon] != nil
        if presence.state == .unsatisfied {
            if wasInView {
                conditions[identifier]?.beacons[beacon] = nil
                beaconCount -= 1
                touch(.beacon(identifier, beacon))
            }
            guard homeAssistant != nil else { return }
            if !wasAway { awayCount += 1 }
            conditions[identifier]?.away[beacon] = presence
            noteAway(AwayTracker(identifier: identifier, beacon: beacon, date: presence.date))
        } else {
            guard wasInView || beaconCount < options.beaconsMax else {
                counts.beaconsLeftOut += 1
                // Its tracker must not go on saying that it is away.
                if wasAway { giveUp(AwayTracker(identifier: identifier, beacon: beacon)) }
                return
            }
            if !wasInView { beaconCount += 1 }
            conditions[identifier]?.beacons[beacon] = presence
            touch(.beacon(identifier, beacon))
            guard homeAssistant != nil else { return }
            if wasAway {
                conditions[identifier]?.away[beacon] = nil
                awayCount -= 1
            }
        }
        touch(.tracker(identifier, beacon))
        if !wasInView, !wasAway { touch(.trackerEntity(identifier, beacon)) }
        makeRoom()
    }

    /// A condition is no more, and nothing under it.
    mutating func remove(_ identifier: Identifier) {
        guard conditions[identifier] != nil else { return }
        forgetBeacons(of: identifier)
        conditions[identifier] = nil
        // First that there is nothing, then that nothing is so: the entity goes as it was.
        touch(.conditionEntity(identifier))
        touch(.condition(identifier))
    }

    /// All beacons under a condition are no more, trackers included.
    mutating func forgetBeacons(of identifier: Identifier) {
        guard let presence = conditions[identifier] else { return }
        let (inView, away) = (presence.beacons.keys.sorted(), presence.away.keys.sorted())
        conditions[identifier]?.beacons = [:]
        conditions[identifier]?.away = [:]
        beaconCount -= inView.count
        awayCount -= away.count
        for beacon in inView + away { touch(.trackerEntity(identifier, beacon)) }
        for beacon in inView + away { touch(.tracker(identifier, beacon)) }
        for beacon in inView { touch(.beacon(identifier, beacon)) }
    }

    /// A beacon was erased: nothing is said of it any more, and what was said is taken back.
    package mutating func forget(_ beacon: BeaconIdentity) {
        for identifier in conditions.keys.sorted() {
            forget(beacon, under: identifier)
            guard conditions[identifier]?.own.refinement == beacon else { continue }
            conditions[identifier]?.own.refinement = nil
            touch(.condition(identifier))
        }
    }

    /// A beacon under a condition is no more, its tracker included.
    mutating func forget(_ beacon: BeaconIdentity, under identifier: Identifier) {
        let wasInView = conditions[identifier]?.beacons.removeValue(forKey: beacon) != nil
        let wasAway = conditions[identifier]?.away.removeValue(forKey: beacon) != nil
        guard wasInView || wasAway else { return }
        if wasInView { beaconCount -= 1 }
        if wasAway { awayCount -= 1 }
        touch(.trackerEntity(identifier, beacon))
        touch(.tracker(identifier, beacon))
        if wasInView { touch(.beacon(identifier, beacon)) }
    }

    /// A beacon forgotten, its tracker with it.
    private mutating func giveUp(_ tracker: AwayTracker) {
        guard conditions[tracker.identifier]?.away.removeValue(forKey: tracker.beacon) != nil else { return }
        awayCount -= 1
        counts.trackersGivenUp += 1
        touch(.trackerEntity(tracker.identifier, tracker.beacon))
        touch(.tracker(tracker.identifier, tracker.beacon))
    }

    private mutating func noteAway(_ tracker: AwayTracker) {
        awayQueue.append(tracker)
        // Those that came back, and left again, stand in it beside those that are away.
        if awayQueue.count > 2 * awayCount + 1024 { awayQueue = awayQueue.filter { isAway($0) } }
    }

    private func isAway(_ tracker: AwayTracker) -> Bool {
        conditions[tracker.identifier]?.away[tracker.beacon].map { $0.date == tracker.date } ?? false
    }

    /// Lets the trackers of those go that left first, where there are more than fit.
    mutating func makeRoom() {
        guard awayCount > options.trackersMax else { return }
        var taken = 0
        while awayCount > options.trackersMax, taken < awayQueue.count {
            let tracker = awayQueue[taken]
            taken += 1
            if isAway(tracker) { giveUp(tracker) }
        }
        awayQueue.removeFirst(taken)
    }

    /// Who is away, the one that left first at the beginning.
    func sortedAway() -> [AwayTracker] {
        var trackers: [AwayTracker] = []
        for (identifier, presence) in conditions {
            for (beacon, away) in presence.away {
                trackers.append(AwayTracker(identifier: identifier, beacon: beacon, date: away.date))
            }
        }
        return trackers.sorted {
            if $0.date != $1.date {
                guard let left = $0.date else { return true }
                guard let right = $1.date else { return false }
                return left < right
            }
            return $0.identifier != $1.identifier ? $0.identifier < $1.identifier : $0.beacon < $1.beacon
        }
    }
}
