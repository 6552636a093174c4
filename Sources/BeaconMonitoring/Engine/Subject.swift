import BluetoothLE

/// A hold: an adapter refreshed a subject, and has not scanned for the exit timeout since then.
struct Hold: Sendable {
    let adapter: AdapterIndex
    /// The reading of the adapter's scanning clock at the last refresh.
    var start: Int64
    /// The expiry in the adapter's queue. Entries of the queue with another expiry are outdated.
    var queued: Int64
}

/// A condition, or one beacon under a condition, with its state.
///
/// It has only the values that each refresh changes, so that many subjects fit in the cache. The rest is
/// ``SubjectDetails``.
struct Subject: Sendable {
    // First, the values that a refresh by the only holder reads or changes, next to each other.

    /// The adapter whose refreshes change only the values of a refresh, because it is the only holder and the subject
    /// is `satisfied`. ``AdapterIndex/together`` if that is not known: any change of these facts resets it, and
    /// ``noteLoneAdapter()`` sets it again.
    private var loneAdapter = AdapterIndex.together
    /// The weakest RSSI that refreshes the subject of a condition (rule X1), as in ``ConditionMatch``.
    var exitRSSI = ConditionMatch.anyRSSI
    private var strengthMinimum = Int8.max
    private var strengthMaximum = Int8.min
    private var holdAdapter = AdapterIndex.together
    private var holdStart: Int64 = 0
    /// The last refresh. Before the first refresh, only the major and minor of a beacon.
    private(set) var last: Refresh
    /// The number of refreshes in the visit.
    private(set) var refreshes = 0
    private var strengthSum: Int64 = 0

    // From here on, the other values.

    /// The number of refreshes without an RSSI.
    private var refreshesWithoutStrength = 0
    private(set) var state: BeaconMonitor.Event.State { didSet { loneAdapter = .together } }
    /// Whether it is one beacon under its condition.
    let isBeacon: Bool
    /// Whether rule L2 changed it from `satisfied` to `unknown` (rule L3).
    private(set) var wasSatisfied = false
    /// Whether a visit is open (rule P3).
    private(set) var isVisited = false
    /// Whether there has been a refresh, so that ``last`` is one.
    private(set) var isRefreshed = false
    /// Whether it has had an event, which is in its details.
    private(set) var hasPrevious = false
    /// Whether at least one adapter holds it.
    private(set) var isHeld = false { didSet { loneAdapter = .together } }
    /// Whether it is a beacon with a name (rule P4).
    var isNamed = false
    /// The position of its last refresh among the refreshes of all beacons, for refreshes of the same time (rule P4).
    /// It wraps.
    var order: UInt32 = 0
    /// Its condition; absent at a free index.
    let condition: ConditionIndex
    private var holdQueued: Int64 = 0
    /// The other holds, the one with the oldest refresh first.
    private var others: [Hold] = [] { didSet { loneAdapter = .together } }

    init(condition: ConditionIndex, state: BeaconMonitor.Event.State, beacon: BeaconIdentity?) {
        self.condition = condition
        self.state = state
        isBeacon = beacon != nil
        last = Refresh(major: beacon?.major ?? 0, minor: beacon?.minor ?? 0)
    }

    /// The value at a free index.
    static let none = Subject(condition: .absent, state: .unmonitored, beacon: nil)

    /// Whether it is a subject and not a free index.
    var exists: Bool { condition != .absent }

    // MARK: State

    /// Whether it is a beacon that has not entered yet (rule P1): neither present nor `unknown`.
    var isCandidate: Bool { isBeacon && state == .unsatisfied }

    /// Whether it is a beacon without a name that is present or `unknown`. It may be removed for a beacon with a name
    /// (rule P4).
    var isPresentUnnamed: Bool { isBeacon && !isNamed && state != .unsatisfied && exists }

    /// Whether it is a beacon without a name that has not entered yet. Such beacons are removed first (rule P2).
    var isUnnamedCandidate: Bool { isCandidate && !isNamed && exists }

    /// Whether it leaves when its last hold expires (rule X2).
    var canLeave: Bool { state == .satisfied || state == .unknown }

    /// Changes its state because of an event.
    mutating func become(_ new: BeaconMonitor.Event.State) {
        state = new
        wasSatisfied = false
        hasPrevious = true
    }

    /// Records that an outage changed it to `unknown` (rule L3).
    mutating func noteOutage(wasSatisfied: Bool) { self.wasSatisfied = wasSatisfied }

    /// Records that it had an event before a restart.
    mutating func restorePrevious() { hasPrevious = true }

    /// Restores its last refresh from before a restart.
    mutating func restore(_ refresh: Refresh) {
        last = refresh
        isRefreshed = true
    }

    /// Restores the last fix of a circle from before a restart.
    mutating func restoreLastSeen(_ time: Int64) {
        last.time = time
        isRefreshed = true
    }

    // MARK: Holds, from the oldest refresh to the latest

    /// The number of adapters that hold it.
    var holdCount: Int { isHeld ? others.count + 1 : 0 }

    func hold(at position: Int) -> Hold {
        position < others.count ? others[position] : Hold(adapter: holdAdapter, start: holdStart, queued: holdQueued)
    }

    /// Returns the position of an adapter's hold; `nil` if it does not hold the subject.
    @inline(__always)
    func hold(by adapter: AdapterIndex) -> Int? {
        guard isHeld else { return nil }
        return holdAdapter == adapter ? others.count : others.firstIndex { $0.adapter == adapter }
    }

    private mutating func setLatest(_ hold: Hold) {
        holdAdapter = hold.adapter
        holdStart = hold.start
        holdQueued = hold.queued
        isHeld = true
    }

    /// Adds the hold of an adapter that has none. It becomes the latest.
    mutating func add(_ hold: Hold) {
        if isHeld { others.append(self.hold(at: others.count)) }
        setLatest(hold)
    }

    mutating func removeHold(at position: Int) {
        if position < others.count {
            others.remove(at: position)
        } else if let previous = others.popLast() {
            setLatest(previous)
        } else {
            isHeld = false
        }
    }

    /// Restarts a hold without changing its position.
    mutating func restartHold(at position: Int, clock: Int64) {
        if position < others.count {
            others[position].start = clock
        } else {
            holdStart = clock
            loneAdapter = .together
        }
    }

    /// Records the expiry of a hold in its adapter's queue.
    mutating func noteQueued(at position: Int, _ expiry: Int64) {
        if position < others.count { others[position].queued = expiry } else { holdQueued = expiry }
    }

    /// Restarts a hold and makes it the latest.
    mutating func refreshHold(at position: Int, clock: Int64) {
        guard position < others.count else { return restartHold(at: position, clock: clock) }
        var mine = others.remove(at: position)
        mine.start = clock
        add(mine)
    }

    /// Restarts the only hold, if it is the hold of this adapter.
    /// - Returns: whether it is.
    @inline(__always)
    mutating func refreshOnlyHold(by adapter: AdapterIndex, clock: Int64) -> Bool {
        guard holdAdapter == adapter, isHeld, others.isEmpty else { return false }
        holdStart = clock
        loneAdapter = .together
        return true
    }

    /// Sets the adapter whose refreshes change only the values of a refresh.
    mutating func noteLoneAdapter() {
        let isLone = state == .satisfied && isHeld && isRefreshed && others.isEmpty
        loneAdapter = isLone ? holdAdapter : .together
    }

    // MARK: Refreshes

    /// Counts a refresh, also for the visit. `strength` is its RSSI, or ``ConditionMatch/absentRSSI``.
    @inline(__always)
    mutating func refresh(by refresh: Refresh, _ strength: Int16) {
        isRefreshed = true
        count(refresh, strength)
    }

    @inline(__always)
    private mutating func count(_ refresh: Refresh, _ strength: Int16) {
        last = refresh
        refreshes &+= 1
        guard strength != ConditionMatch.absentRSSI else {
            refreshesWithoutStrength &+= 1
            return
        }
        let strength = Int8(truncatingIfNeeded: strength)
        if strength < strengthMinimum { strengthMinimum = strength }
        if strength > strengthMaximum { strengthMaximum = strength }
        strengthSum &+= Int64(strength)
    }

    /// Refreshes the subject if that changes neither its state nor its holds: it is `satisfied`, and `adapter` is its
    /// only holder.
    ///
    /// - Returns: whether the sighting has been handled completely.
    @inline(__always)
    mutating func refreshAlone(
        by refresh: Refresh, _ strength: Int16, _ adapter: AdapterIndex, _ clock: Int64
    ) -> Bool {
        guard loneAdapter == adapter else { return false }
        guard strength >= exitRSSI else { return true }
        holdStart = clock
        count(refresh, strength)
        return true
    }

    // MARK: Visits (rule P3)

    /// The RSSI values of the visit's refreshes; `nil` if none has an RSSI.
    var strength: Visit.Strength? {
        let count = refreshes - refreshesWithoutStrength
        guard count > 0 else { return nil }
        return Visit.Strength(minimum: strengthMinimum, sum: strengthSum, count: count, maximum: strengthMaximum)
    }

    /// Starts to count a visit.
    mutating func openVisit() {
        isVisited = true
        refreshes = 0
        strengthSum = 0
        refreshesWithoutStrength = 0
        strengthMinimum = .max
        strengthMaximum = .min
    }

    /// Continues to count a visit that was open before a restart.
    mutating func resumeVisit(refreshes count: Int, _ strength: Visit.Strength?) {
        openVisit()
        refreshes = max(count, 0)
        refreshesWithoutStrength = refreshes
        guard let strength, strength.count > 0 else { return }
        strengthMinimum = strength.minimum
        strengthMaximum = strength.maximum
        strengthSum = strength.sum
        refreshesWithoutStrength -= min(strength.count, refreshes)
    }

    mutating func closeVisit() { isVisited = false }
}

/// The values of a subject that are needed only for events, visits and entries.
struct SubjectDetails: Sendable {
    /// The value of ``arrival`` if the entry was assumed.
    static let assumed: Int64 = -1

    /// The time of the entering event of the open visit; ``assumed`` if there was none.
    var arrival = Self.assumed
    /// The last event; meaningful if `hasPrevious`.
    var previous = BeaconMonitor.Event.Previous(state: .unknown, date: WallDate(microseconds: 0))
    /// The qualifying sightings before the entry.
    var progress = EntryProgress()
}
