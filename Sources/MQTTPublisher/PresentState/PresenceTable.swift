import BeaconMonitoring
import BluetoothLE

/// The present states of a gateway's conditions and beacons, within limits.
///
/// A value: states from lines or from the engine are the input. Each change of a retained topic is stored with whether
/// the topic still has a message. ``takeChanges()`` returns the changes in order.
struct PresenceTable: Sendable {
    /// A topic whose message has changed.
    struct Change: Sendable {
        let topic: PresentTopic
        /// Whether the topic has a message. If not, it must be cleared.
        let exists: Bool
    }

    /// A beacon that has exited. The queue of these values has the order in which trackers are deleted.
    private struct AwayTracker: Sendable {
        var identifier: Identifier
        var beacon: BeaconIdentity
        /// The date at which it exited. A beacon that exited again has another date.
        var date: WallDate?
    }

    // Trackers of beacons that returned stay in the queue. If it has more entries than twice the number of trackers
    // plus this number, they are removed.
    private static let slack = 1024

    private let conditionsMax: Int
    private let beaconsMax: Int
    private let trackersMax: Int
    /// Whether beacons that have exited keep a tracker.
    private var keepsTrackers: Bool
    /// The conditions with their beacons.
    private(set) var conditions: [Identifier: ConditionPresence] = [:]
    /// The number of beacons that are present or unknown, under all conditions.
    private(set) var beaconCount = 0
    /// The number of beacons that have exited and have a tracker.
    private(set) var awayCount = 0
    private var awayQueue: [AwayTracker] = []
    private var changes: [Change] = []
    /// The number of changes of conditions that did not fit.
    private(set) var conditionsLeftOut = 0
    /// The number of changes of beacons that did not fit.
    private(set) var beaconsLeftOut = 0
    /// The number of trackers that were deleted because later ones needed the space.
    private(set) var trackersGivenUp = 0

    /// Creates an empty table with the limits of `options`.
    init(_ options: PresentStateOptions) {
        conditionsMax = options.conditionsMax
        beaconsMax = options.beaconsMax
        trackersMax = options.trackersMax
        keepsTrackers = options.homeAssistant != nil
    }

    /// The length of the queue of trackers, including those of beacons that returned.
    var awayQueueLength: Int { awayQueue.count }

    /// Returns the changes since the last call, in order.
    mutating func takeChanges() -> [Change] {
        var taken: [Change] = []
        swap(&taken, &changes)
        return taken
    }

    /// Returns whether a topic of a condition or beacon has a message.
    func exists(_ topic: PresentTopic) -> Bool {
        switch topic {
        case .condition(let identifier): conditions[identifier] != nil
        case .beacon(let identifier, let beacon): conditions[identifier]?.beacons[beacon] != nil
        case .tracker(let identifier, let beacon), .trackerEntity(let identifier, let beacon):
            keepsTrackers && tracked(beacon, under: identifier) != nil
        case .conditionEntity(let identifier): keepsTrackers && conditions[identifier] != nil
        case .healthEntity, .leftBehind: false
        }
    }

    /// Returns the state that a beacon's tracker shows; `nil` if the beacon has no tracker.
    func tracked(_ beacon: BeaconIdentity, under identifier: Identifier) -> SubjectPresence? {
        guard let presence = conditions[identifier] else { return nil }
        return presence.beacons[beacon] ?? presence.away[beacon]
    }

    /// Returns all topics that have a message: the states, and the entities of Home Assistant. Both are in the order of
    /// the identifiers and beacons.
    func liveTopics() -> (states: [PresentTopic], entities: [PresentTopic]) {
        var (states, entities): ([PresentTopic], [PresentTopic]) = ([], [])
        for identifier in conditions.keys.sorted() {
            guard let presence = conditions[identifier] else { continue }
            states.append(.condition(identifier))
            let inView = presence.beacons.keys.sorted()
            for beacon in inView { states.append(.beacon(identifier, beacon)) }
            guard keepsTrackers else { continue }
            entities.append(.conditionEntity(identifier))
            for beacon in inView + presence.away.keys.sorted() {
                states.append(.tracker(identifier, beacon))
                entities.append(.trackerEntity(identifier, beacon))
            }
        }
        return (states, entities)
    }

    private mutating func touch(_ topic: PresentTopic) {
        if keepsTrackers || !topic.isForHomeAssistant { changes.append(Change(topic: topic, exists: exists(topic))) }
    }
}

// MARK: - Changes

extension PresenceTable {
    /// Sets the state of a condition, or adds the condition.
    mutating func put(_ identifier: Identifier, _ monitor: String, _ condition: Condition, _ own: SubjectPresence) {
        guard conditions[identifier] == nil else {
            conditions[identifier]?.monitor = monitor
            conditions[identifier]?.condition = condition
            conditions[identifier]?.own = own
            return touch(.condition(identifier))
        }
        guard conditions.count < conditionsMax else {
            conditionsLeftOut += 1
            return
        }
        conditions[identifier] = ConditionPresence(monitor: monitor, condition: condition, own: own)
        // The state is published before the entity, so that an entity always has a state.
        touch(.condition(identifier))
        touch(.conditionEntity(identifier))
    }

    /// Sets the state of a beacon under a condition of the table.
    mutating func put(_ beacon: BeaconIdentity, under identifier: Identifier, _ presence: SubjectPresence) {
        let wasInView = conditions[identifier]?.beacons[beacon] != nil
        let wasAway = conditions[identifier]?.away[beacon] != nil
        if presence.state == .unsatisfied {
            if wasInView {
                conditions[identifier]?.beacons[beacon] = nil
                beaconCount -= 1
                touch(.beacon(identifier, beacon))
            }
            guard keepsTrackers else { return }
            if !wasAway { awayCount += 1 }
            conditions[identifier]?.away[beacon] = presence
            noteAway(AwayTracker(identifier: identifier, beacon: beacon, date: presence.date))
        } else {
            guard wasInView || beaconCount < beaconsMax else {
                beaconsLeftOut += 1
                // Otherwise the tracker would continue to show this beacon as absent, although it is not.
                if wasAway { giveUp(AwayTracker(identifier: identifier, beacon: beacon)) }
                return
            }
            if !wasInView { beaconCount += 1 }
            conditions[identifier]?.beacons[beacon] = presence
            touch(.beacon(identifier, beacon))
            guard keepsTrackers else { return }
            if wasAway {
                conditions[identifier]?.away[beacon] = nil
                awayCount -= 1
            }
        }
        touch(.tracker(identifier, beacon))
        if !wasInView, !wasAway { touch(.trackerEntity(identifier, beacon)) }
        deleteSurplusTrackers()
    }

    /// Removes a condition with its beacons.
    mutating func remove(_ identifier: Identifier) {
        guard conditions[identifier] != nil else { return }
        forgetBeacons(of: identifier)
        conditions[identifier] = nil
        // The entity is cleared before the state, so that an entity always has a state.
        touch(.conditionEntity(identifier))
        touch(.condition(identifier))
    }

    /// Removes all beacons under a condition with their trackers.
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

    /// Removes an erased beacon from all conditions, and from the states that name it.
    mutating func forget(_ beacon: BeaconIdentity) {
        for identifier in conditions.keys.sorted() {
            forget(beacon, under: identifier)
            guard conditions[identifier]?.own.refinement == beacon else { continue }
            conditions[identifier]?.own.refinement = nil
            touch(.condition(identifier))
        }
    }

    /// Removes a beacon under a condition with its tracker.
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

    /// Changes every state to `unknown`, because lines are missing.
    mutating func doubtAll(since date: WallDate, sequence: Int) {
        for (identifier, var presence) in conditions {
            presence.own = presence.own.doubted(since: date, sequence: sequence, isBeacon: false)
            presence.beacons = presence.beacons.mapValues {
                $0.doubted(since: date, sequence: sequence, isBeacon: true)
            }
            presence.away = presence.away.mapValues { $0.doubted(since: date, sequence: sequence, isBeacon: true) }
            conditions[identifier] = presence
        }
        sortAwayQueue()
        for topic in liveTopics().states { touch(topic) }
    }

    /// Marks the messages of beacons as changed if their names are different now.
    ///
    /// - Parameter isRenamed: returns whether a beacon has another name now.
    mutating func touchRenamed(_ isRenamed: (BeaconIdentity) -> Bool) {
        for (identifier, presence) in conditions.sorted(by: { $0.key < $1.key }) {
            if let beacon = presence.own.refinement, isRenamed(beacon) { touch(.condition(identifier)) }
            for beacon in presence.beacons.keys.sorted() + presence.away.keys.sorted() where isRenamed(beacon) {
                if presence.beacons[beacon] != nil { touch(.beacon(identifier, beacon)) }
                touch(.tracker(identifier, beacon))
                touch(.trackerEntity(identifier, beacon))
            }
        }
    }

    /// Starts or stops keeping trackers of beacons that have exited. It stores no change.
    mutating func setKeepsTrackers(_ keepsTrackers: Bool) {
        self.keepsTrackers = keepsTrackers
        guard !keepsTrackers else { return }
        for identifier in conditions.keys { conditions[identifier]?.away = [:] }
        (awayCount, awayQueue) = (0, [])
    }

    /// Adds a condition as it was stored. It stores no change. After the last one, the caller must call
    /// ``sortAwayQueue()``.
    ///
    /// - Returns: `false` if the condition is in the table already.
    mutating func restore(_ identifier: Identifier, _ presence: ConditionPresence) -> Bool {
        guard conditions[identifier] == nil else { return false }
        beaconCount += presence.beacons.count
        awayCount += presence.away.count
        conditions[identifier] = presence
        return true
    }

    /// Sorts the trackers by the dates at which their beacons exited.
    mutating func sortAwayQueue() {
        var trackers: [AwayTracker] = []
        for (identifier, presence) in conditions {
            for (beacon, away) in presence.away {
                trackers.append(AwayTracker(identifier: identifier, beacon: beacon, date: away.date))
            }
        }
        awayQueue = trackers.sorted {
            if $0.date != $1.date {
                guard let left = $0.date else { return true }
                guard let right = $1.date else { return false }
                return left < right
            }
            return $0.identifier != $1.identifier ? $0.identifier < $1.identifier : $0.beacon < $1.beacon
        }
    }

    private mutating func noteAway(_ tracker: AwayTracker) {
        awayQueue.append(tracker)
        if awayQueue.count > 2 * awayCount + Self.slack { awayQueue = awayQueue.filter { isAway($0) } }
    }

    private func isAway(_ tracker: AwayTracker) -> Bool {
        conditions[tracker.identifier]?.away[tracker.beacon].map { $0.date == tracker.date } ?? false
    }

    // The beacon that exited first loses its tracker first.
    private mutating func deleteSurplusTrackers() {
        guard awayCount > trackersMax else { return }
        var taken = 0
        while awayCount > trackersMax, taken < awayQueue.count {
            let tracker = awayQueue[taken]
            taken += 1
            if isAway(tracker) { giveUp(tracker) }
        }
        awayQueue.removeFirst(taken)
    }

    private mutating func giveUp(_ tracker: AwayTracker) {
        guard conditions[tracker.identifier]?.away.removeValue(forKey: tracker.beacon) != nil else { return }
        awayCount -= 1
        trackersGivenUp += 1
        touch(.trackerEntity(tracker.identifier, tracker.beacon))
        touch(.tracker(tracker.identifier, tracker.beacon))
    }
}

// MARK: - The engine's state

extension PresenceTable {
    /// Changes the table to the engine's state. Conditions and beacons that the engine does not have are removed.
    ///
    /// - Parameters:
    ///   - snapshot: the engine's state.
    ///   - offset: how far the wall clock is ahead of the snapshot's timeline.
    /// - Returns: the number of conditions that were ignored because their names cannot be part of a topic.
    mutating func adopt(_ snapshot: MonitorSnapshot, offset: ClockOffset) -> Int {
        var ignored = 0
        var present: Set<Identifier> = []
        for saved in snapshot.conditions {
            guard let identifier = try? Identifier(saved.identifier), (try? Identifier(saved.monitor)) != nil else {
                ignored += 1
                continue
            }
            present.insert(identifier)
            adopt(saved, as: identifier, offset)
        }
        for identifier in conditions.keys.sorted() where !present.contains(identifier) { remove(identifier) }
        return ignored
    }

    private mutating func adopt(_ saved: MonitorSnapshot.Condition, as identifier: Identifier, _ offset: ClockOffset) {
        if let held = conditions[identifier], held.condition != saved.condition { forgetBeacons(of: identifier) }
        let own = SubjectPresence(saved.own, offset)
        let held = conditions[identifier]
        if held?.monitor != saved.monitor || held?.condition != saved.condition || !own.agrees(with: held?.own) {
            put(identifier, saved.monitor, saved.condition, own)
        }
        var inView: Set<BeaconIdentity> = []
        for subject in saved.beacons {
            guard let beacon = subject.beacon, subject.state == .satisfied || subject.state == .unknown else {
                continue
            }
            inView.insert(beacon)
            let presence = SubjectPresence(subject, offset)
            if !presence.agrees(with: conditions[identifier]?.beacons[beacon]), conditions[identifier] != nil {
                put(beacon, under: identifier, presence)
            }
        }
        // The engine has every beacon that is present or unknown. All others have exited at an unknown time.
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
}

extension SubjectPresence {
    /// Creates the presence of a subject of the engine.
    fileprivate init(_ subject: MonitorSnapshot.Subject, _ offset: ClockOffset) {
        self.init(state: subject.state)
        // The date of the last event is valid only if that event led to this state.
        if let previous = subject.previous, previous.state == subject.state { date = previous.date }
        let isKnown = subject.state == .satisfied || subject.state == .unsatisfied
        isAssumed = subject.beacon == nil && subject.previous == nil && isKnown
        if let refresh = subject.lastRefresh {
            switch refresh.time {
            case .date(let date): lastSeen = date
            case .timeline(let instant): lastSeen = WallDate(instant, offset: offset)
            }
            if subject.beacon == nil, subject.state == .satisfied { refinement = refresh.beacon }
        }
        if let beacon = subject.beacon { refinement = beacon }
    }

    /// Returns whether `held` has the same state, and also the same date unless this value has no date.
    fileprivate func agrees(with held: SubjectPresence?) -> Bool {
        guard let held, held.state == state else { return false }
        guard let left = held.date, let right = date else { return date == nil }
        return left == right
    }
}
