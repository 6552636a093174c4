public import BaseTypes
public import BluetoothLE

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
        didSet { timeline.expect(timeline.present) }
    }
    /// The beacons that have a name (rule P4).
    public private(set) var namedBeacons: Set<BeaconIdentity> = []
    /// How many beacons under conditions did not fit (rule P2).
    public internal(set) var untrackedBeacons = 0
    /// How many beacons under conditions lost their place to a named one (rule P4).
    public internal(set) var displacedBeacons = 0
    /// How many times a beacon without a name had all it takes to enter, and no token was left (rule P5).
    public internal(set) var refusedBeacons = 0

    /// ``EngineSettings/deafAfter`` in nanoseconds.
    let deafAfter: Int64?

    // What it knows, each part guarding its own; the extensions are the rules that bring them together.
    var timeline: Timeline
    var monitors = MonitorTable()
    var adapters: AdapterTable
    var conditions = ConditionTable()
    var limit: ConditionLimit
    var subjects = SubjectTable()
    var wayIn = WayIn()
    var strangers = PresentStrangers()
    var tokens: NewBeaconTokens
    var episodes = TrackingEpisodes()
    // Kept for the work of one input, so that they are allocated once; empty in between.
    var dueScratch: [SubjectIndex] = []
    var foundScratch: [ConditionIndex] = []

    /// An engine without monitors, adapters or conditions.
    ///
    /// - Parameters:
    ///   - settings: what holds for all monitors.
    ///   - start: the timeline's present; where nothing ever listens, outages count from it (rule L2).
    ///   - clockOffset: how far the wall clock is ahead of the timeline.
    public init(settings: EngineSettings = EngineSettings(), start: Instant, clockOffset: ClockOffset = .zero) {
        self.settings = settings
        self.clockOffset = clockOffset
        deafAfter = settings.deafAfter?.nanoseconds
        timeline = Timeline(start: start.nanoseconds)
        adapters = AdapterTable(locationSource: settings.locationSource, start: start.nanoseconds)
        limit = ConditionLimit(settings.conditionLimit)
        tokens = NewBeaconTokens(most: settings.maxNewBeacons, start: start.nanoseconds)
    }

    // MARK: What it says of itself

    /// The time of the latest input, or of what was due last.
    public var now: Instant { Instant(nanoseconds: present) }

    /// Nanoseconds on the timeline.
    @inline(__always)
    var present: Int64 { timeline.present }

    /// When the engine next wants ``advance(to:into:)``: never later than something becomes due, at times earlier.
    public var nextDeadline: Instant? {
        timeline.wake == .max ? nil : Instant(nanoseconds: max(timeline.wake, present))
    }

    /// How many inputs were stamped earlier than the engine's now (rule T2).
    public var lateInputs: Int { timeline.lateInputs }

    /// How many beacons without a name could enter now; absent where any number can (rule P5).
    public var newBeaconsLeft: Int? { tokens.left(at: present) }

    /// The conditions whose UUID has the bytes of a received beacon's UUID in reverse order, if the beacon matches no
    /// condition: at most 16, since conditions changed last.
    package var reversedUUIDs: [ReversedUUID] { conditions.reversed.found }

    /// The flags that hold now, whatever becomes of whom: those that the world outside raises, and
    /// `trackingLimitExceeded` while a limit is run into (rules P2, P4, P5).
    public var presentDiagnostics: Diagnostics {
        episodes.areUnderWay(at: present) ? ambientDiagnostics.union(.trackingLimitExceeded) : ambientDiagnostics
    }

    // MARK: Inputs

    /// Handles what is due at or before `time`.
    public mutating func advance(to time: Instant, into actions: inout ActionBuffer) {
        enter(time, into: &actions)
    }

    /// An adapter gave a report, of whatever kind: it listens (rules L4, L5).
    public mutating func heard(_ adapter: AdapterID, at time: Instant, into actions: inout ActionBuffer) {
        enter(time, into: &actions)
        hear(AdapterIndex(adapter), into: &actions)
    }

    /// An adapter gave a report with an iBeacon in it.
    public mutating func sighted(_ sighting: Sighting, into actions: inout ActionBuffer) {
        enter(sighting.time, into: &actions)
        hear(AdapterIndex(sighting.adapter), into: &actions)
        match(sighting.beacon.uuid, Refresh(sighting, at: present), sighting.strength, into: &actions)
    }

    /// An iBeacon of a report that ``heard(_:at:into:)`` was told of last: the same as ``sighted(_:into:)`` of it, with
    /// nothing done twice.
    package mutating func sighted(_ frame: BeaconFrame, by adapter: AdapterID, into actions: inout ActionBuffer) {
        match(frame.uuid, Refresh(frame, by: AdapterIndex(adapter), at: present), frame.strength, into: &actions)
    }

    /// An adapter began or ceased to listen, or was taken out.
    public mutating func listening(_ change: ListeningChange, at time: Instant, into actions: inout ActionBuffer) {
        enter(time, into: &actions)
        apply(change, into: &actions)
        handleDueNow(into: &actions)
    }

    /// Counts an input that comes late, which is one at now (rule T2), and handles what is due at or before it (rule T3).
    @inline(__always)
    mutating func enter(_ time: Instant, into actions: inout ActionBuffer) {
        let time = timeline.admit(time.nanoseconds)
        if time >= timeline.wake { handleDue(until: time, into: &actions) }
        timeline.advance(to: time)
    }

    /// Handles at once what an input made due.
    mutating func handleDueNow(into actions: inout ActionBuffer) {
        handleDue(until: present, into: &actions)
    }

    @inline(__always)
    mutating func hear(_ adapter: AdapterIndex, into actions: inout ActionBuffer) {
        if adapters.clock(of: adapter).isListening {
            adapters.hear(adapter, at: present)
        } else {
            start(adapter, reason: nil, into: &actions)
            rearm()
        }
    }

    /// Takes names over, and leaves it to ``removeStrangers(into:)`` what follows.
    mutating func setNames(_ beacons: Set<BeaconIdentity>) {
        namedBeacons = beacons
        for subject in subjects.indices(where: { $0.exists && $0.isBeacon }) {
            subjects[subject].isNamed = beacons.contains(subjects.beacon(of: subject, conditions))
        }
        wayIn.forgetOrder()
        strangers.forgetOrder()
    }
}
