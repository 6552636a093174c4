import BluetoothLE

/// That an adapter refreshed a subject and has not yet been listening for the exit timeout since.
struct Hold: Sendable {
    let adapter: AdapterIndex
    /// What the adapter's listening clock showed at the last refresh.
    var start: Int64
    /// The expiry under which the hold stands in its adapter's queue; what stands there under another is stale.
    var queued: Int64
}

/// Something that has a state: a condition, or one beacon under it.
///
/// What each refresh changes, and no more, so that many stay in the cache; the rest is a ``SubjectDetails``.
struct Subject: Sendable {
    // What a refresh by the only adapter that holds it touches, side by side.

    /// The adapter whose refreshes change nothing but the refresh: it alone holds the subject, which is satisfied. All
    /// together where that is not known to be so: it is forgotten by each change of what it follows from, and noted again
    /// by ``noteLoneAdapter()``.
    private var loneAdapter = AdapterIndex.together
    /// What a sighting needs to refresh a condition's own subject (rule X1), as ``ConditionMatch`` has it.
    var exitRSSI = ConditionMatch.anyRSSI
    private var strengthMinimum = Int8.max
    private var strengthMaximum = Int8.min
    private var holdAdapter = AdapterIndex.together
    private var holdStart: Int64 = 0
    /// The last refresh; before there was one, only a beacon's own major and minor.
    private(set) var last: Refresh
    /// The visit's refreshes.
    private(set) var refreshes = 0
    private var strengthSum: Int64 = 0

    // And the rest.

    /// The refreshes without an RSSI.
    private var refreshesWithoutStrength = 0
    private(set) var state: BeaconMonitor.Event.State { didSet { loneAdapter = .together } }
    /// Whether it is one beacon under its condition.
    let isBeacon: Bool
    /// Rule L2 made it `unknown`, and it was `satisfied` before (rule L3).
    private(set) var wasSatisfied = false
    /// Whether a visit is open (rule P3).
    private(set) var isVisited = false
    /// Whether there was a refresh, ever: ``last`` is one then.
    private(set) var isRefreshed = false
    /// Whether it has had an event, which its details keep.
    private(set) var hasPrevious = false
    /// Whether there is a hold.
    private(set) var isHeld = false { didSet { loneAdapter = .together } }
    /// Whether it is a beacon that has a name (rule P4).
    var isNamed = false
    /// Which of the beacons' refreshes its last one was: tells those of one time apart (rule P4). It wraps.
    var order: UInt32 = 0
    /// Its condition; absent where there is no subject at the index.
    let condition: ConditionIndex
    private var holdQueued: Int64 = 0
    /// The other holds, the one refreshed longest ago first.
    private var others: [Hold] = [] { didSet { loneAdapter = .together } }

    init(condition: ConditionIndex, state: BeaconMonitor.Event.State, beacon: BeaconIdentity?) {
        self.condition = condition
        self.state = state
        isBeacon = beacon != nil
        last = Refresh(major: beacon?.major ?? 0, minor: beacon?.minor ?? 0)
    }

    /// What stands at an index that is free.
    static let none = Subject(condition: .absent, state: .unmonitored, beacon: nil)

    /// Whether it is one, and not what stands at an index that is free.
    var exists: Bool { condition != .absent }

    // MARK: State

    /// A beacon under a condition that is neither present nor `unknown`: on its way in (rule P1).
    var isOnTheWayIn: Bool { isBeacon && state == .unsatisfied }

    /// A beacon under a condition that is present or `unknown`, and has no name: it may have to go for one that has (rule P4).
    var isPresentStranger: Bool { isBeacon && !isNamed && state != .unsatisfied && exists }

    /// A beacon that is on its way in and has no name: it gives way first (rule P2).
    var isStrangerOnTheWayIn: Bool { isOnTheWayIn && !isNamed && exists }

    /// Whether it leaves when its last hold runs out (rule X2).
    var canLeave: Bool { state == .satisfied || state == .unknown }

    /// Gives it another state, by an event.
    mutating func become(_ new: BeaconMonitor.Event.State) {
        state = new
        wasSatisfied = false
        hasPrevious = true
    }

    /// Notes that an outage made it `unknown` (rule L3).
    mutating func noteOutage(wasSatisfied: Bool) { self.wasSatisfied = wasSatisfied }

    /// Notes that it had an event before a restart.
    mutating func restorePrevious() { hasPrevious = true }

    /// Takes over its last refresh from before a restart.
    mutating func restore(_ refresh: Refresh) {
        last = refresh
        isRefreshed = true
    }

    /// Takes over a circle's last fix from before a restart.
    mutating func restoreLastSeen(_ time: Int64) {
        last.time = time
        isRefreshed = true
    }

    // MARK: Holds, from the one that was refreshed longest ago to the latest

    /// How many adapters hold it.
    var holdCount: Int { isHeld ? others.count + 1 : 0 }

    func hold(at position: Int) -> Hold {
        position < others.count ? others[position] : Hold(adapter: holdAdapter, start: holdStart, queued: holdQueued)
    }

    /// The position of an adapter's hold; `nil` where it does not hold the subject.
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

    /// Adds a hold by an adapter that has none, as the latest.
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

    /// Lets a hold begin anew, where it is.
    mutating func restartHold(at position: Int, clock: Int64) {
        if position < others.count {
            others[position].start = clock
        } else {
            holdStart = clock
            loneAdapter = .together
        }
    }

    /// Notes under which expiry a hold stands in its adapter's queue.
    mutating func noteQueued(at position: Int, _ expiry: Int64) {
        if position < others.count { others[position].queued = expiry } else { holdQueued = expiry }
    }

    /// Lets a hold begin anew, as the latest; those behind it move up.
    mutating func refreshHold(at position: Int, clock: Int64) {
        guard position < others.count else { return restartHold(at: position, clock: clock) }
        var mine = others.remove(at: position)
        mine.start = clock
        add(mine)
    }

    /// Lets the only hold begin anew, where it is this adapter's.
    /// - Returns: whether it is.
    @inline(__always)
    mutating func refreshOnlyHold(by adapter: AdapterIndex, clock: Int64) -> Bool {
        guard holdAdapter == adapter, isHeld, others.isEmpty else { return false }
        holdStart = clock
        loneAdapter = .together
        return true
    }

    /// Notes which adapter's refreshes change nothing but the refresh.
    mutating func noteLoneAdapter() {
        let isLone = state == .satisfied && isHeld && isRefreshed && others.isEmpty
        loneAdapter = isLone ? holdAdapter : .together
    }

    // MARK: Refreshes

    /// Counts a refresh, and in the visit; `strength` is its RSSI, or ``ConditionMatch/absentRSSI``.
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

    /// Refreshes the subject where its state and its only hold stay: it is satisfied, and held by `adapter` alone.
    ///
    /// - Returns: whether that was all that the sighting does to it.
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

    /// RSSI over the visit's refreshes that have one.
    var strength: Visit.Strength? {
        let count = refreshes - refreshesWithoutStrength
        guard count > 0 else { return nil }
        return Visit.Strength(minimum: strengthMinimum, sum: strengthSum, count: count, maximum: strengthMaximum)
    }

    /// Begins to count a visit.
    mutating func openVisit() {
        isVisited = true
        refreshes = 0
        strengthSum = 0
        refreshesWithoutStrength = 0
        strengthMinimum = .max
        strengthMaximum = .min
    }

    /// Goes on to count a visit that was open before a restart.
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

/// What only an event, a visit or an entry needs of a subject.
struct SubjectDetails: Sendable {
    /// What stands for the arrival of an entry that was assumed.
    static let assumed: Int64 = -1

    /// The open visit's entering event; ``assumed`` where there was none.
    var arrival = Self.assumed
    /// The last event, where there was one.
    var previous = BeaconMonitor.Event.Previous(state: .unknown, date: WallDate(microseconds: 0))
    /// What has been seen of it on its way in.
    var progress = EntryProgress()
}
