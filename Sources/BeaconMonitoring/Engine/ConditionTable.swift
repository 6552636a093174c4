import BaseTypes
import BluetoothLE

/// The values of a condition that each sighting reads. It is small, so that many fit in the cache.
struct ConditionMatch: Sendable {
    /// The subject of the condition itself; absent before it starts and after it has ended.
    fileprivate(set) var subject = SubjectIndex.absent
    let monitor: MonitorIndex
    /// The weakest RSSI that refreshes; less than every RSSI if there is no threshold (rule X1).
    fileprivate(set) var exitRSSI = Self.anyRSSI
    /// Whether each beacon is a subject of its own (rule P1).
    fileprivate(set) var perBeacon = false
    /// Whether sightings of beacons without a name are ignored (rule P4).
    fileprivate(set) var refusesUnnamed = false
    /// The exit timeout in nanoseconds.
    fileprivate(set) var exitTimeout: Int64 = 0

    fileprivate init(monitor: MonitorIndex) { self.monitor = monitor }

    /// A value below every RSSI, also below an absent one.
    static let anyRSSI = Int16.min
    /// The value of an absent RSSI: below every threshold (rule E2).
    static let absentRSSI = Int16.min + 1
}

/// The other values of a condition.
struct ConditionState: Sendable {
    let identifier: Identifier
    fileprivate(set) var condition: Condition
    fileprivate(set) var settings: ConditionSettings
    /// The position of the condition in the order of adding (rule C4).
    let ordinal: Int
    /// The position of the condition in the order of identifiers, if the ranks of the table are valid.
    fileprivate(set) var rank: Int32 = 0
    /// Whether the limit of conditions prevents monitoring (rule C4).
    var isLimited = false
    /// The number of beacons under the condition that are in memory.
    var beacons = 0

    /// The UUID of the condition; zero for a circle.
    var uuid: ProximityUUID {
        guard case .beacon(let identity) = condition else { return ProximityUUID(high: 0, low: 0) }
        return identity.uuid
    }

    var enterRSSI: Int16 { settings.enterRSSI.map { Int16($0.dBm) } ?? ConditionMatch.anyRSSI }
    var enterWindow: Int64 { settings.enterWindow.nanoseconds }
}

/// The conditions of all monitors: their values, their order, and which of them a sighting or a fix concerns.
struct ConditionTable: Sendable {
    /// Finds the conditions that match a beacon.
    private(set) var lookup = ConditionLookup()
    private(set) var reversed = ReversedUUIDs()
    private var states: ContiguousArray<ConditionState> = []
    private var matches: ContiguousArray<ConditionMatch> = []
    private var free: [ConditionIndex] = []
    private var indices: [Identifier: ConditionIndex] = [:]
    private var ranksValid = true
    /// The monitored circles; in the order of identifiers if ``circlesSorted``.
    private var circles: [ConditionIndex] = []
    private var circlesSorted = true

    // MARK: Access

    subscript(condition: ConditionIndex) -> ConditionState {
        get { states[condition.offset] }
        _modify { yield &states[condition.offset] }
    }

    /// Returns the values of a condition that each sighting reads.
    @inline(__always)
    func match(_ condition: ConditionIndex) -> ConditionMatch { matches[condition.offset] }

    func index(of identifier: Identifier) -> ConditionIndex? { indices[identifier] }

    /// All conditions in the order in which they were added (rule C4).
    var inOrder: [ConditionIndex] { indices.values.sorted { self[$0].ordinal < self[$1].ordinal } }

    /// All conditions, in no particular order.
    var all: some Collection<ConditionIndex> { indices.values }

    /// Returns the subjects of the conditions of a monitor, in no particular order.
    func subjects(in monitor: MonitorIndex) -> [SubjectIndex] {
        matches.lazy.filter { $0.monitor == monitor && $0.subject != .absent }.map(\.subject)
    }

    /// Returns the conditions with these positions in the order of adding, in this order.
    func indices(ofOrdinals ordinals: [Int]) -> [ConditionIndex] {
        let ordinals = Set(ordinals)
        return indices.values.filter { ordinals.contains(self[$0].ordinal) }
            .sorted { self[$0].ordinal < self[$1].ordinal }
    }

    // MARK: Changes

    /// Adds a condition, which does not have a subject yet. `ordinal` is its position in the order of adding.
    mutating func add(
        _ condition: Condition, _ identifier: Identifier, in monitor: MonitorIndex, _ settings: ConditionSettings,
        ordinal: Int
    ) -> ConditionIndex {
        ranksValid = false
        let state = ConditionState(
            identifier: identifier, condition: condition, settings: settings, ordinal: ordinal)
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

    /// Removes a condition whose subjects have ended.
    mutating func remove(_ condition: ConditionIndex) {
        indices[states[condition.offset].identifier] = nil
        matches[condition.offset].subject = .absent
        free.append(condition)
        ranksValid = false
    }

    /// Replaces the condition and its settings. The identifier stays.
    mutating func replace(_ condition: ConditionIndex, by new: Condition, _ settings: ConditionSettings) {
        states[condition.offset].condition = new
        states[condition.offset].settings = settings
    }

    /// Sets the subject of a condition, and copies its settings to ``ConditionMatch``.
    mutating func begin(_ condition: ConditionIndex, as subject: SubjectIndex) {
        matches[condition.offset].subject = subject
        set(condition, states[condition.offset].settings)
    }

    /// Changes the settings of a condition from now on.
    mutating func set(_ condition: ConditionIndex, _ settings: ConditionSettings) {
        lookup.forgetFound()
        let offset = condition.offset
        states[offset].settings = settings
        matches[offset].exitRSSI = settings.exitRSSI.map { Int16($0.dBm) } ?? ConditionMatch.anyRSSI
        matches[offset].perBeacon = settings.perBeacon
        matches[offset].refusesUnnamed = settings.perBeacon && settings.unnamed == .refuse
        matches[offset].exitTimeout = settings.exitTimeout.nanoseconds
    }

    // MARK: Links for sightings and fixes

    /// Makes a condition visible for sightings or fixes.
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

    /// Makes a condition invisible for sightings or fixes.
    mutating func unlink(_ condition: ConditionIndex) {
        switch states[condition.offset].condition {
        case .beacon(let identity):
            reversed.removeAll()
            lookup.remove(condition, on: identity)
        case .circle: circles.removeAll { $0 == condition }
        }
    }

    /// Whether any circle is monitored.
    var hasCircles: Bool { !circles.isEmpty }

    /// Returns the subjects of the circles of a monitor, in no particular order.
    func circleSubjects(in monitor: MonitorIndex) -> [SubjectIndex] {
        circles.compactMap { circle in
            let match = matches[circle.offset]
            return match.monitor == monitor ? match.subject : nil
        }
    }

    /// Returns the monitored circles in the order of their identifiers.
    mutating func sortedCircles() -> [ConditionIndex] {
        if !circlesSorted {
            circles = circles.sorted { precedes($0, $1) }
            circlesSorted = true
        }
        return circles
    }

    /// Caches the subjects of the conditions that match a beacon, unless there are too many or a condition has a
    /// subject for each beacon.
    /// - Returns: whether they were cached.
    mutating func remember(_ found: [ConditionIndex], for beacon: BeaconIdentity, hash: UInt64) -> Bool {
        guard found.count <= MatchCache.conditionsMax, !found.contains(where: { matches[$0.offset].perBeacon }) else {
            return false
        }
        var entry = MatchCache.Entry()
        entry.count = Int32(truncatingIfNeeded: found.count)
        for (number, condition) in found.enumerated() { entry.subjects[number] = matches[condition.offset].subject }
        lookup.remember(entry, for: beacon, hash: hash)
        return true
    }

    /// Records the conditions that a beacon without a condition would match if the bytes of its UUID were reversed.
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

    /// Returns whether the identifier of `left` is before that of `right`.
    func precedes(_ left: ConditionIndex, _ right: ConditionIndex) -> Bool {
        ranksValid
            ? states[left.offset].rank < states[right.offset].rank
            : states[left.offset].identifier < states[right.offset].identifier
    }

    /// Computes the rank of every condition in the order of identifiers, if the ranks are not valid.
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
