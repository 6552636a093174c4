public import BluetoothLE
import HeapModule

/// The monitor as a value: sightings and time in, actions out.
///
/// It holds the conditions of all monitors of a gateway and decides what `docs/monitor.md` says, exactly, and nothing else:
/// it has no clock, no task and no file. Every input carries its time; what became due before it is handled first
/// (rule T3), so nothing depends on how often it is woken (rule T4).
public struct MonitorEngine: Sendable {
    /// The most adapters that are told apart.
    public static let adaptersMax = 255
    /// The most adapters that hold one subject.
    public static let holdersMax = 8

    /// What holds for all monitors.
    public let settings: EngineSettings
    /// How far the wall clock is ahead of the timeline: what the dates of actions from now on are printed with.
    public var clockOffset: ClockOffset
    /// The flags that the world outside raises, on every event from now on.
    public var ambientDiagnostics: Diagnostics = []
    /// Whether an adapter that reports nothing goes deaf (rule L5), where ``EngineSettings/deafAfter`` is set at all.
    public var takesSilenceForDeafness = true {
        // What is due next may come earlier now: look at the next occasion.
        didSet { wake = min(wake, present) }
    }
    /// How many inputs were stamped earlier than the engine's now (rule T2).
    public private(set) var lateInputs = 0
    /// How often an adapter got a name: who keeps ``name(of:)`` asks again where it has changed (rule L7).
    public internal(set) var adapterNamings = 0
    /// How many beacons under conditions did not fit (rule P2).
    public internal(set) var untrackedBeacons = 0
    /// How many beacons under conditions lost their place to a named one (rule P4).
    public internal(set) var displacedBeacons = 0
    /// How many times a beacon without a name had all it takes to enter, and no token was left (rule P5).
    public internal(set) var refusedBeacons = 0
    /// The beacons that have a name (rule P4).
    public internal(set) var namedBeacons: Set<BeaconIdentity> = []

    // Nanoseconds on the timeline.
    var present: Int64
    /// Nothing is due before it; something may be from then on.
    var wake: Int64 = .max
    let deafAfter: Int64?

    var monitors: [MonitorState] = []
    /// The monitors' outage timeouts and forget_after, the shortest first, each with the monitor's place.
    var outages: [(timeout: Int64, monitor: UInt16)] = []
    var forgettings: [(timeout: Int64, monitor: UInt16)] = []
    /// The first stands for all together.
    var adapters: [AdapterState]
    /// Which of them a controller is (rule L7).
    var directory = AdapterDirectory()
    var listeningCount = 0
    /// Adapters that are there and do not listen.
    var silentCount = 0

    var conditions: ContiguousArray<ConditionState> = []
    var matches: ContiguousArray<ConditionMatch> = []
    var freeConditions: [Int32] = []
    var conditionPlaces: [Identifier: Int32] = [:]
    var placesGiven = 0
    var limitedCount = 0
    var monitoredCount = 0
    var ranksValid = true
    /// UUID → place in ``uuids``, and UUID with major, or both → the first of the conditions.
    var conditionTable = IdentityTable()
    /// What look-ups came to, for the beacons heard lately.
    var memo = MatchMemo()
    var uuids: ContiguousArray<UUIDEntry> = []
    var freeUUIDs: [Int32] = []
    /// The circles that are monitored, by identifier where that is known to be so.
    var circles: [Int32] = []
    var circlesSorted = true
    /// The place of the location source among the adapters; 0: there is none.
    let locationPlace: Int

    var subjects: ContiguousArray<Subject> = []
    /// The rest of each subject, at the same place.
    var details: ContiguousArray<SubjectDetails> = []
    var freeSubjects: [Int32] = []
    /// UUID with condition, major and minor → subject.
    var beaconTable = IdentityTable()
    /// How many beacons under conditions are held (rule P2).
    var beaconCount = 0
    var overflowingCount = 0
    /// Where the next beacon without a name may enter (rule P5).
    var tokens: NewBeaconTokens
    var refusingCount = 0
    /// When a beacon was refused last.
    var lastRefusal: Int64 = 0
    /// How many refreshes beacons under conditions have had; it wraps.
    var refreshOrder: UInt32 = 0
    /// Those on their way in, by when they are forgotten.
    var wayIn = Heap<WayInEntry>()
    var wayInCount = 0
    /// And by when they were last seen: made when there is no room for one more, and kept while the ranks stay.
    var giveWay = Heap<GiveWayEntry>()
    var giveWayValid = false
    /// Beacons without a name that are present, by their last refresh: made when a named one needs a place, and kept up
    /// while that may happen again.
    var displaceable = Heap<DisplaceableEntry>()
    var displaceableValid = false

    /// Kept for the work of one input, so that it is allocated once.
    var scratch: [Int32] = []

    /// An engine without monitors, adapters or conditions.
    ///
    /// - Parameters:
    ///   - settings: what holds for all monitors.
    ///   - start: the timeline's present; where nothing ever listens, outages count from it (rule L2).
    ///   - clockOffset: how far the wall clock is ahead of the timeline.
    public init(settings: EngineSettings = EngineSettings(), start: Instant, clockOffset: ClockOffset = .zero) {
        self.settings = settings
        self.clockOffset = clockOffset
        present = start.nanoseconds
        tokens = NewBeaconTokens(most: settings.maxNewBeacons, start: start.nanoseconds)
        deafAfter = settings.deafAfter?.nanoseconds
        adapters = [AdapterState(name: "", start: start.nanoseconds)]
        locationPlace = settings.locationSource == nil ? 0 : 1
        guard let name = settings.locationSource else { return }
        var source = AdapterState(name: name, start: start.nanoseconds)
        source.isLocation = true
        adapters.append(source)
    }

    /// The time of the latest input, or of what was due last.
    public var now: Instant { Instant(nanoseconds: present) }

    /// When the engine next wants ``advance(to:into:)``: never later than something becomes due, at times earlier.
    public var nextDeadline: Instant? { wake == .max ? nil : Instant(nanoseconds: max(wake, present)) }

    /// Handles what is due at or before `time`.
    public mutating func advance(to time: Instant, into actions: inout ActionBuffer) {
        enter(time, into: &actions)
    }

    /// An adapter gave a report, of whatever kind: it listens (rules L4, L5).
    public mutating func heard(_ adapter: AdapterID, at time: Instant, into actions: inout ActionBuffer) {
        enter(time, into: &actions)
        hear(adapter, into: &actions)
    }

    /// An adapter gave a report with an iBeacon in it.
    public mutating func sighted(_ sighting: Sighting, into actions: inout ActionBuffer) {
        enter(sighting.time, into: &actions)
        hear(sighting.adapter, into: &actions)
        match(sighting.beacon.uuid, Refresh(sighting, at: present), sighting.strength, into: &actions)
    }

    /// An iBeacon of a report that ``heard(_:at:into:)`` was told of last: the same as ``sighted(_:into:)`` of it, with
    /// nothing done twice.
    package mutating func sighted(_ frame: BeaconFrame, by adapter: AdapterID, into actions: inout ActionBuffer) {
        match(frame.uuid, Refresh(frame, by: adapter, at: present), frame.strength, into: &actions)
    }

    /// An adapter began or ceased to listen, or was taken out.
    public mutating func listening(_ change: ListeningChange, at time: Instant, into actions: inout ActionBuffer) {
        enter(time, into: &actions)
        apply(change, into: &actions)
        settleNow(into: &actions)
    }

    /// Counts an input that comes late, which is one at now (rule T2), and handles what is due at or before it (rule T3).
    @inline(__always)
    mutating func enter(_ time: Instant, into actions: inout ActionBuffer) {
        var time = time.nanoseconds
        if time < present {
            lateInputs &+= 1
            time = present
        }
        if time >= wake { handleDue(until: time, into: &actions) }
        present = time
    }

    /// Handles at once what an input made due.
    mutating func settleNow(into actions: inout ActionBuffer) {
        handleDue(until: present, into: &actions)
    }

    @inline(__always)
    mutating func hear(_ adapter: AdapterID, into actions: inout ActionBuffer) {
        let place = Int(adapter.index)
        if adapters[place].isListening {
            adapters[place].lastReport = present
        } else {
            start(place, reason: nil, into: &actions)
            rearm()
        }
    }
}

/// The conditions on one UUID.
struct UUIDEntry: Sendable {
    /// The first of those on the UUID alone; −1 where there is none.
    var first: Int32 = -1
    /// How many there are on the UUID alone, with a major, with both.
    var counts: InlineArray<3, Int32> = [0, 0, 0]
}

/// When a beacon on its way in is forgotten (rule P1), as it was when the entry was made.
struct WayInEntry: Comparable, Sendable {
    let time: Int64
    let subject: Int32

    static func < (left: WayInEntry, right: WayInEntry) -> Bool { left.time < right.time }
}

/// When a beacon on its way in was last seen, as it was when the entry was made; ties in rule T3's order (rule P2).
struct GiveWayEntry: Comparable, Sendable {
    let time: Int64
    let rank: Int32
    let beacon: BeaconIdentity
    let subject: Int32

    static func < (left: GiveWayEntry, right: GiveWayEntry) -> Bool {
        guard left.time == right.time else { return left.time < right.time }
        return left.rank != right.rank ? left.rank < right.rank : left.beacon < right.beacon
    }
}
