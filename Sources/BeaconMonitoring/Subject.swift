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

/// Something that has a state: a condition, or one beacon under it.
struct Subject: Sendable {
    var state: State
    /// Whether it is one beacon under its condition.
    let isBeacon: Bool
    /// Rule L2 made it `unknown`, and it was `satisfied` before (rule L3).
    var wasSatisfied = false
    /// Whether a visit is open (rule P3).
    var isVisited = false
    /// Whether there was a refresh, ever: ``last`` is one then.
    var isRefreshed = false
    /// Whether it has had an event: ``previous`` is one then.
    var hasPrevious = false
    /// The place of its condition; −1 where the place is free.
    var condition: Int32
    /// The hold that was refreshed last, and whether there is any.
    var hold = Hold(adapter: 0, start: 0, queued: 0)
    var isHeld = false
    /// The other holds, the one refreshed longest ago first.
    var others: [Hold] = []
    /// The last refresh.
    var last: Sighting
    /// The visit's entering event; −1 where the entry was assumed.
    var arrival: Int64 = -1
    /// The visit's refreshes.
    var refreshes = 0
    var strengthSum: Int64 = 0
    var strengthCount = 0
    var strengthMinimum: Int8 = 0
    var strengthMaximum: Int8 = 0
    var previous = Event.Previous(state: .unknown, date: WallDate(microseconds: 0))
    /// The qualifying sightings on the way in, oldest first; at most one fewer than an entry needs (rule E1).
    var progress: [Int64] = []
    /// The last of them, of a beacon on its way in (rule P1).
    var lastQualifying: Int64 = 0

    init(condition: Int32, state: State, beacon: BeaconIdentity?) {
        self.condition = condition
        self.state = state
        isBeacon = beacon != nil
        last = Sighting(
            time: .earliest, adapter: AdapterID(index: 0),
            beacon: beacon ?? BeaconIdentity(uuid: ProximityUUID(high: 0, low: 0), major: 0, minor: 0),
            measuredPower: 0, rssi: nil)
    }

    /// The beacon that a beacon's own subject is about.
    var beacon: BeaconIdentity { last.beacon }

    /// A beacon under a condition that is neither present nor `unknown`: on its way in (rule P1).
    var isOnTheWayIn: Bool { isBeacon && state == .unsatisfied }

    /// Whether it leaves when its last hold runs out (rule X2).
    var canLeave: Bool { state == .satisfied || state == .unknown }

    /// Counts `sighting` as the last refresh, and in the visit.
    @inline(__always)
    mutating func refresh(by sighting: Sighting) {
        last = sighting
        isRefreshed = true
        refreshes &+= 1
        guard let strength = sighting.rssi?.dBm else { return }
        if strengthCount == 0 {
            strengthMinimum = strength
            strengthMaximum = strength
        } else {
            strengthMinimum = min(strengthMinimum, strength)
            strengthMaximum = max(strengthMaximum, strength)
        }
        strengthSum &+= Int64(strength)
        strengthCount &+= 1
    }

    /// Opens a visit; `arrival` is absent where the entry was assumed.
    mutating func openVisit(arrival: Int64?) {
        isVisited = true
        self.arrival = arrival ?? -1
        refreshes = 0
        strengthSum = 0
        strengthCount = 0
    }
}
