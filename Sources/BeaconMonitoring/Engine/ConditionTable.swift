import BaseTypes
import BluetoothLE

/// What the path of a sighting reads of a condition: small, so that many stay in the cache.
struct ConditionMatch: Sendable {
    /// The condition's own subject; absent before it begins and once it has ended.
    fileprivate(set) var subject = SubjectIndex.absent
    let monitor: MonitorIndex
    /// What a sighting needs to refresh; below every RSSI where any will do (rule X1).
    fileprivate(set) var exitRSSI = Self.anyRSSI
    /// Whether its beacons are subjects (rule P1).
    fileprivate(set) var perBeacon = false
    /// Whether a sighting of a beacon without a name is none (rule P4).
    fileprivate(set) var refusesStrangers = false
    /// The exit timeout in nanoseconds.
    fileprivate(set) var exitTimeout: Int64 = 0

    fileprivate init(monitor: MonitorIndex) { self.monitor = monitor }

    /// Below every RSSI, an absent one included.
    static let anyRSSI = Int16.min
    /// Where an absent RSSI stands: below every threshold (rule E2).
    static let absentRSSI = Int16.min + 1
}

/// The rest of a condition.
struct ConditionState: Sendable {
    let identifier: Identifier
    fileprivate(set) var condition: Condition
    fileprivate(set) var settings: ConditionSettings
    /// Its number among all that were ever added (rule C4).
    let ordinal: Int
    /// Its order among all by identifier, where the table's ranks are valid.
    fileprivate(set) var rank: Int32 = 0
    /// The limit of conditions keeps it from being monitored (rule C4).
    var isLimited = false
    /// How many beacons under it are held.
    var beacons = 0

    /// The UUID of the beacons that it is on; zero where it is a circle.
    var uuid: ProximityUUID {
        guard case .beacon(let identity) = condition else { return ProximityUUID(high: 0, low: 0) }
        return identity.uuid
    }

    var enterRSSI: Int16 { settings.enterRSSI.map { Int16($0.dBm) } ?? ConditionMatch.anyRSSI }
    var enterWindow: Int64 { settings.enterWindow.nanoseconds }
}

/// The conditions of all monitors: what they are, in which order, and which of them a sighting or a fix concerns.
struct ConditionTable: Sendable {
    /// Finds those that a beacon matches.
    private(set) var lookup = ConditionLookup()
    private(set) var reversed = ReversedUUIDs()
    private var states: ContiguousArray<ConditionState> = []
    private var matches: ContiguousArray<ConditionMatch> = []
    private var free: [ConditionIndex] = []
    private var indices: [Identifier: ConditionIndex] = [:]
    private var added = 0
    private var ranksValid = true
    /// The circles that are monitored, by identifier where that is known to be so.
    private var circles: [ConditionIndex] = []
    private var circlesSorted = true

    // MARK: One of them

    subscript(condition: ConditionIndex) -> ConditionState {
        get { states[condition.offset] }
        _modify { yield &states[condition.offset] }
    }

    /// What the path of a sighting reads.
    @inline(__always)
    func match(_ condition: ConditionIndex) -> ConditionMatch { matches[condition.offset] }

    func index(of identifier: Identifier) -> ConditionIndex? { indices[identifier] }

    /// In the order in which they were added (rule C4).
    var inOrder: [ConditionIndex] { indices.values.sorted { self[$0].ordinal < self[$1].ordinal } }

    /// In no order.
    var all: some Collection<ConditionIndex> { indices.values }

    /// The subjects of a monitor's conditions, in no order.
    func subjects(in monitor: MonitorIndex) -> [SubjectIndex] {
        matches.lazy.filter { $0.monitor == monitor && $0.subject != .absent }.map(\.subject)
    }

    /// The first of those that the limit keeps from being monitored.
    var firstLimited: ConditionIndex? {
        indices.values.filter { self[$0].isLimited }.min { self[$0].ordinal < self[$1].ordinal }
    }

    // MARK: Changes

    /// Adds a condition, which has no subject yet.
    mutating func add(
        _ condition: Condition, _ identifier: Identifier, in monitor: MonitorIndex, _ settings: ConditionSettings
    ) -> ConditionIndex {
        added += 1
        ranksValid = false
        let state = ConditionState(
            identifier: identifier, condition: condition, settings: settings, ordinal: added)
        let match = ConditionMatch(monitor: monitor)
        let index: ConditionIndex
        if let freed = free.popLast() {
            states[freed.offset] = state
            matches[freed.offset] = match
            index = freed
        } else {
            states.append(state)
            matches.append(match)
            index = ConditionIndex(states.count - 1)
        }
        indices[identifier] = index
        return index
    }

    /// Takes a condition out whose subjects have ended.
    mutating func remove(_ condition: ConditionIndex) {
        indices[states[condition.offset].identifier] = nil
        matches[condition.offset].subject = .absent
        free.append(condition)
        ranksValid = false
    }

    /// Makes it another condition under the same identifier.
    mutating func replace(_ condition: ConditionIndex, by new: Condition, _ settings: ConditionSettings) {
        states[condition.offset].condition = new
        states[condition.offset].settings = settings
    }

    /// Gives a condition its own subject, and its settings to where the path of a sighting reads them.
    mutating func begin(_ condition: ConditionIndex, as subject: SubjectIndex) {
        matches[condition.offset].subject = subject
        set(condition, states[condition.offset].settings)
    }

    /// Gives a condition settings, which hold from now on.
    mutating func set(_ condition: ConditionIndex, _ settings: ConditionSettings) {
        lookup.forgetFound()
        let offset = condition.offset
        states[offset].settings = settings
        matches[offset].exitRSSI = settings.exitRSSI.map { Int16($0.dBm) } ?? ConditionMatch.anyRSSI
        matches[offset].perBeacon = settings.perBeacon
        matches[offset].refusesStrangers = settings.perBeacon && settings.strangers == .refuse
        matches[offset].exitTimeout = settings.exitTimeout.nanoseconds
    }

    // MARK: Who is found

    /// Puts a condition where sightings or fixes find it.
    mutating func link(_ condition: ConditionIndex) {
        switch states[condition.offset].condition {
        case .beacon(let identity):
            reversed.removeAll()
            lookup.insert(condition, on: identity)
        case .circle:
            circles.append(condition)
            circlesSorted = false
        }
    }

    /// Takes a condition away from where sightings or fixes find it.
    mutating func unlink(_ condition: ConditionIndex) {
        switch states[condition.offset].condition {
        case .beacon(let identity):
            reversed.removeAll()
            lookup.remove(condition, on: identity)
        case .circle: circles.removeAll { $0 == condition }
        }
    }

    /// Whether circles are monitored.
    var hasCircles: Bool { !circles.isEmpty }

    /// The subjects of a monitor's circles, in no order.
    func circleSubjects(in monitor: MonitorIndex) -> [SubjectIndex] {
        circles.compactMap { circle in
            let match = matches[circle.offset]
            return match.monitor == monitor ? match.subject : nil
        }
    }

    /// The circles that are monitored, in the order of their identifiers.
    mutating func sortedCircles() -> [ConditionIndex] {
        if !circlesSorted {
            circles = circles.sorted { precedes($0, $1) }
            circlesSorted = true
        }
        return circles
    }

    /// Remembers the subjects of the conditions that a beacon was found to match, unless they are too many or one follows
    /// each beacon.
    /// - Returns: whether they are remembered.
    mutating func remember(_ found: [ConditionIndex], for beacon: BeaconIdentity, hash: UInt64) -> Bool {
        guard found.count <= MatchMemo.conditionsMax, !found.contains(where: { matches[$0.offset].perBeacon }) else {
            return false
        }
        var entry = MatchMemo.Entry()
        entry.count = Int32(truncatingIfNeeded: found.count)
        for (number, condition) in found.enumerated() { entry.subjects[number] = matches[condition.offset].subject }
        lookup.remember(entry, for: beacon, hash: hash)
        return true
    }

    /// Notes the conditions that a beacon without a condition would match if the bytes of its UUID were reversed.
    ///
    /// It is called when a beacon is looked up, not for each sighting.
    @inline(never)
    mutating func noteReversed(_ beacon: BeaconIdentity) {
        let uuid = beacon.uuid.byteReversed
        var found: [ConditionIndex] = []
        let other = BeaconIdentity(uuid: uuid, major: beacon.major, minor: beacon.minor)
        lookup.find(other, hash: lookup.hash(uuid), into: &found)
        for condition in found.sorted(by: { precedes($0, $1) }) {
            reversed.insert(ReversedUUID(identifier: self[condition].identifier.text, received: beacon.uuid))
        }
    }

    // MARK: Order (rule T3)

    /// Whether the identifier of one comes before that of another.
    func precedes(_ left: ConditionIndex, _ right: ConditionIndex) -> Bool {
        ranksValid
            ? states[left.offset].rank < states[right.offset].rank
            : states[left.offset].identifier < states[right.offset].identifier
    }

    /// Gives every condition its rank in the order of identifiers, where they do not have theirs.
    /// - Returns: whether ranks changed.
    @discardableResult
    mutating func makeRanks() -> Bool {
        guard !ranksValid else { return false }
        let order = indices.values.sorted { states[$0.offset].identifier < states[$1.offset].identifier }
        for (rank, condition) in order.enumerated() { states[condition.offset].rank = Int32(truncatingIfNeeded: rank) }
        ranksValid = true
        return true
    }
}
