public import BaseTypes
public import BluetoothLE

/// What survives a restart (rule N4): the conditions with their states, holders and open visits, and when adapters stopped.
///
/// Not in it is what begins anew: qualifying sightings on the way in, beacons on their way in, the episodes of rules P2
/// and P5, and the tokens of rule P5, since a start begins with all. Nor are names: they are the configuration's.
/// Adapters are named as lines name them. An engine gives one (``MonitorEngine/snapshot``), and the lines that follow bring it up
/// to date; an engine that starts takes it (``MonitorEngine/begin(_:naming:from:at:into:)``).
public struct MonitorSnapshot: Sendable, Hashable {
    /// The monitors, in the order in which they were made known.
    public var monitors: [Monitor] = []
    /// The conditions of all of them, in the order in which they were added (rule C4).
    public var conditions: [Condition] = []
    /// The adapters that ever listened and were not taken out.
    public var adapters: [Adapter] = []

    /// What survives where nothing was monitored.
    public init() {}

    /// A monitor: its name, and what holds for its conditions.
    public struct Monitor: Sendable, Hashable {
        /// The monitor's name.
        public var name: String
        /// What holds for its conditions.
        public var settings: MonitorSettings

        /// A monitor of that name, with its settings.
        public init(name: String, settings: MonitorSettings) {
            self.name = name
            self.settings = settings
        }
    }

    /// An adapter: its name, who it is, and when it stopped.
    public struct Adapter: Sendable, Hashable {
        /// What lines call it, and ``Subject/holders``: no two have one name.
        public var name: String
        /// The controller's address; absent where it has none that is its own, and in what a version before wrote.
        public var address: DeviceAddress?
        /// When it really stopped listening; absent while it listens.
        public var stopped: PastMoment?

        /// An adapter that stopped listening then, or, without a moment, listens.
        public init(name: String, address: DeviceAddress? = nil, stopped: PastMoment?) {
            self.name = name
            self.address = address
            self.stopped = stopped
        }
    }

    /// A condition with its subjects.
    public struct Condition: Sendable, Hashable {
        /// The monitor's name.
        public var monitor: String
        /// The condition's identifier.
        public var identifier: String
        /// What is monitored.
        public var condition: BeaconMonitoring.Condition
        /// How it is entered and left; absent where the lines that said it are gone, and the configuration's hold.
        public var settings: ConditionSettings?
        /// What is known of the condition itself, beside its beacons.
        public var own: Subject
        /// The beacons under it that are `satisfied` or `unknown` (rule P1), in order.
        public var beacons: [Subject] = []

        /// A condition with its own subject; beacons are added later.
        public init(
            monitor: String, identifier: String, condition: BeaconMonitoring.Condition, settings: ConditionSettings?,
            own: Subject
        ) {
            self.monitor = monitor
            self.identifier = identifier
            self.condition = condition
            self.settings = settings
            self.own = own
        }
    }

    /// What is known of a subject.
    public struct Subject: Sendable, Hashable {
        /// The beacon; absent in a condition's own.
        public var beacon: BeaconIdentity?
        /// The state that the last event began.
        public var state: BeaconMonitor.Event.State
        /// Whether it is `unknown` and was `satisfied` before (rule L3).
        public var wasSatisfied = false
        /// Its last event, where there was one.
        public var previous: BeaconMonitor.Event.Previous?
        /// Its last refresh, where there was one.
        public var lastRefresh: Refresh?
        /// A circle's last fix inside, where there was one (rule G3); it has no ``lastRefresh``.
        public var lastSeen: PastMoment?
        /// The adapters that hold it, the one that refreshed it longest ago first; none: all together, where it is held.
        public var holders: [String] = []
        /// The visit that goes on; absent where nobody is present.
        public var visit: OpenVisit?

        /// A subject of which nothing but the state is known.
        public init(beacon: BeaconIdentity? = nil, state: BeaconMonitor.Event.State) {
            self.beacon = beacon
            self.state = state
        }
    }

    /// A subject's last refresh.
    public struct Refresh: Sendable, Hashable {
        /// When the beacon was heard.
        public var time: PastMoment
        /// The beacon that was heard.
        public var beacon: BeaconIdentity
        /// The RSSI one metre away that its frame claimed, in dBm.
        public var measuredPower: Int8
        /// How strong it was; absent where the controller did not know.
        public var rssi: RSSI?
        /// The advertiser's address, where the source told it.
        public var address: DeviceAddress?
        /// The adapter that heard it.
        public var adapter: String

        /// A refresh of a beacon, as an adapter heard it.
        public init(
            time: PastMoment, beacon: BeaconIdentity, measuredPower: Int8, rssi: RSSI?, address: DeviceAddress?,
            adapter: String
        ) {
            self.time = time
            self.beacon = beacon
            self.measuredPower = measuredPower
            self.rssi = rssi
            self.address = address
            self.adapter = adapter
        }
    }

    /// A visit that has not ended (rule P3).
    public struct OpenVisit: Sendable, Hashable {
        /// The entering event's time; absent where the entry was assumed.
        public var arrival: PastMoment?
        /// How many sightings refreshed the subject since the visit began.
        public var refreshes: Int
        /// RSSI over those that had one.
        public var strength: Visit.Strength?

        /// A visit with what has been counted of it.
        public init(arrival: PastMoment?, refreshes: Int, strength: Visit.Strength?) {
            self.arrival = arrival
            self.refreshes = refreshes
            self.strength = strength
        }
    }
}

/// A moment that is remembered over a restart: the timeline goes on over one of the process, not over one of the machine.
public enum PastMoment: Sendable, Hashable {
    /// A place on the present timeline.
    case timeline(Instant)
    /// A date as it was printed, on a timeline that has ended.
    case date(WallDate)

    /// The same for somebody on another timeline: where it stood on the one that ended, as a date.
    public func afterReboot(offset: ClockOffset) -> PastMoment {
        switch self {
        case .timeline(let instant): .date(WallDate(instant, offset: offset))
        case .date: self
        }
    }
}

extension MonitorSnapshot {
    /// The same for a machine that was started anew, whose timeline has begun again: places on the old one become dates.
    ///
    /// - Parameter offset: how far the wall clock was ahead of the old timeline.
    /// - Returns: the snapshot for the new timeline.
    public func afterReboot(offset: ClockOffset) -> MonitorSnapshot {
        var snapshot = self
        for index in snapshot.adapters.indices {
            snapshot.adapters[index].stopped = snapshot.adapters[index].stopped?.afterReboot(offset: offset)
        }
        for index in snapshot.conditions.indices {
            snapshot.conditions[index].own.moveOver(offset)
            for beacon in snapshot.conditions[index].beacons.indices {
                snapshot.conditions[index].beacons[beacon].moveOver(offset)
            }
        }
        return snapshot
    }
}

extension MonitorSnapshot.Subject {
    fileprivate mutating func moveOver(_ offset: ClockOffset) {
        lastSeen = lastSeen?.afterReboot(offset: offset)
        if let refresh = lastRefresh { lastRefresh?.time = refresh.time.afterReboot(offset: offset) }
        if let arrival = visit?.arrival { visit?.arrival = arrival.afterReboot(offset: offset) }
    }
}
