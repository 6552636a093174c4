import BluetoothLE

/// That an adapter refreshed a subject and has not yet been listening for the exit timeout since.
struct Hold: Sendable {
    /// The adapter's place in the engine's table; 0 stands for all together.
    var adapter: UInt16
    /// What the adapter's listening clock showed at the last refresh.
    var start: Int64
    /// The expiry under which the hold stands in its adapter's heap; what stands there under another is stale.
    var queued: Int64
}

/// The last refresh of a subject: a sighting without what its condition says already, in three words.
struct Refresh: Sendable {
    var time: Int64 = 0
    /// The address as a word, as a sighting has it.
    var packedAddress: UInt64 = 0
    // Major, minor, adapter, RSSI, measured power, from the low end: written in one piece, as it is for each sighting.
    private var packed: UInt64

    init(major: UInt16, minor: UInt16) { packed = UInt64(major) | UInt64(minor) << 16 }

    @inline(__always)
    init(_ sighting: Sighting, at time: Int64) {
        self.time = time
        packedAddress = sighting.packedAddress
        packed =
            UInt64(sighting.beacon.major) | UInt64(sighting.beacon.minor) << 16
            | UInt64(sighting.adapter.index) << 32 | UInt64(RSSI.octet(sighting.rssi)) << 48
            | UInt64(UInt8(bitPattern: sighting.measuredPower)) << 56
    }

    /// A frame in words, which stand in it as they do here but for the adapter.
    @inline(__always)
    init(_ frame: BeaconFrame, by adapter: AdapterID, at time: Int64) {
        self.time = time
        packedAddress = frame.packedAddress
        packed = frame.packed | UInt64(adapter.index) << 32
    }

    /// Minor and major, which the memo knows a beacon by beside its UUID.
    var number: UInt32 { UInt32(truncatingIfNeeded: packed) }
    var adapter: UInt16 { UInt16(truncatingIfNeeded: packed >> 32) }
    var major: UInt16 { UInt16(truncatingIfNeeded: packed) }
    var minor: UInt16 { UInt16(truncatingIfNeeded: packed >> 16) }

    func beacon(uuid: ProximityUUID) -> BeaconIdentity { BeaconIdentity(uuid: uuid, major: major, minor: minor) }

    /// The sighting again; its UUID is its condition's.
    func sighting(uuid: ProximityUUID) -> Sighting {
        var sighting = Sighting(
            time: Instant(nanoseconds: time), adapter: AdapterID(index: Int(packed >> 32 & 0xFFFF)),
            beacon: beacon(uuid: uuid),
            measuredPower: Int8(truncatingIfNeeded: packed >> 56),
            rssi: RSSI(reported: UInt8(truncatingIfNeeded: packed >> 48)))
        sighting.packedAddress = packedAddress
        return sighting
    }
}

/// Something that has a state: a condition, or one beacon under it.
///
/// What each refresh changes, and no more, so that many stay in the cache; the rest is a ``SubjectDetails``.
struct Subject: Sendable {
    // What a refresh by the only adapter that holds it touches, side by side.

    /// The adapter whose refreshes change nothing but the refresh: it alone holds the subject, which is satisfied. 0 where
    /// that is not known to be so: it is forgotten by each change of what it follows from, and noted again by
    /// ``noteLoneAdapter()``.
    private var loneAdapter: UInt16 = 0
    /// What a sighting needs to refresh a condition's own subject (rule X1), as ``ConditionMatch`` has it.
    var exitRSSI = ConditionMatch.anyRSSI
    var strengthMinimum = Int8.max
    var strengthMaximum = Int8.min
    private var holdAdapter: UInt16 = 0
    private var holdStart: Int64 = 0
    /// The last refresh; before there was one, only a beacon's own major and minor.
    var last: Refresh
    /// The visit's refreshes.
    var refreshes = 0
    var strengthSum: Int64 = 0

    // And the rest.

    /// The refreshes without an RSSI.
    var refreshesWithoutStrength = 0
    var state: BeaconMonitor.Event.State { didSet { loneAdapter = 0 } }
    /// Whether it is one beacon under its condition.
    let isBeacon: Bool
    /// Rule L2 made it `unknown`, and it was `satisfied` before (rule L3).
    var wasSatisfied = false
    /// Whether a visit is open (rule P3).
    var isVisited = false
    /// Whether there was a refresh, ever: ``last`` is one then.
    var isRefreshed = false
    /// Whether it has had an event, which its details keep.
    var hasPrevious = false
    /// Whether there is a hold: ``hold`` is the one that was refreshed last.
    var isHeld = false { didSet { loneAdapter = 0 } }
    /// Whether it is a beacon that has a name (rule P4).
    var isNamed = false
    /// Which of the beacons' refreshes its last one was: tells those of one time apart (rule P4). It wraps.
    var order: UInt32 = 0
    /// The place of its condition; −1 where the place is free.
    var condition: Int32
    /// The ``Hold/queued`` of ``hold``.
    var holdQueued: Int64 = 0
    /// The other holds, the one refreshed longest ago first.
    var others: [Hold] = [] { didSet { loneAdapter = 0 } }

    init(condition: Int32, state: BeaconMonitor.Event.State, beacon: BeaconIdentity?) {
        self.condition = condition
        self.state = state
        isBeacon = beacon != nil
        last = Refresh(major: beacon?.major ?? 0, minor: beacon?.minor ?? 0)
    }

    /// A beacon under a condition that is neither present nor `unknown`: on its way in (rule P1).
    var isOnTheWayIn: Bool { isBeacon && state == .unsatisfied }

    /// A beacon under a condition that is present or `unknown`, and has no name: it may have to go for one that has (rule P4).
    var isPresentStranger: Bool { isBeacon && !isNamed && state != .unsatisfied && condition >= 0 }

    /// Whether it leaves when its last hold runs out (rule X2).
    var canLeave: Bool { state == .satisfied || state == .unknown }

    /// The hold that was refreshed last, where there is one.
    var hold: Hold {
        get { Hold(adapter: holdAdapter, start: holdStart, queued: holdQueued) }
        set {
            holdAdapter = newValue.adapter
            holdStart = newValue.start
            holdQueued = newValue.queued
            loneAdapter = 0
        }
    }

    /// The visit's refreshes that have an RSSI.
    var strengthCount: Int { refreshes - refreshesWithoutStrength }

    /// Notes which adapter's refreshes change nothing but the refresh.
    mutating func noteLoneAdapter() {
        let isLone = state == .satisfied && isHeld && isRefreshed && others.isEmpty
        loneAdapter = isLone ? holdAdapter : 0
    }

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
        by refresh: Refresh, _ strength: Int16, _ adapter: UInt16, _ clock: Int64
    ) -> Bool {
        guard loneAdapter == adapter else { return false }
        guard strength >= exitRSSI else { return true }
        holdStart = clock
        count(refresh, strength)
        return true
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
}

/// What only an event, a visit or an entry needs of a subject.
struct SubjectDetails: Sendable {
    /// The open visit's entering event; −1 where the entry was assumed.
    var arrival: Int64 = -1
    /// The last event, where there was one.
    var previous = BeaconMonitor.Event.Previous(state: .unknown, date: WallDate(microseconds: 0))
    /// The qualifying sightings on the way in, oldest first; at most one fewer than an entry needs (rule E1).
    var progress: [Int64] = []
    /// The last of them, of a beacon on its way in (rule P1).
    var lastQualifying: Int64 = 0
}
