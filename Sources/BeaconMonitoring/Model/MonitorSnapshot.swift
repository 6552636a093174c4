public import BaseTypes
public import BluetoothLE

/// The state that survives a restart (rule N4): the conditions with their states, holders and open visits, and the
/// times at which adapters stopped.
///
/// It does not contain qualifying sightings before an entry, beacons that have not entered, the episodes of rules P2
/// and P5, and the tokens of rule P5 (a start has all of them). The names of beacons are not part of it either, because
/// the configuration has them. Adapters have their names in lines. ``MonitorEngine/snapshot`` creates a snapshot, later
/// lines update it, and ``MonitorEngine/begin(_:naming:from:at:into:)`` restores it.
public struct MonitorSnapshot: Sendable, Hashable {
    /// The monitors, in the order of adding.
    public var monitors: [Monitor] = []
    /// The conditions of all monitors, in the order of adding (rule C4).
    public var conditions: [Condition] = []
    /// The adapters that have scanned and were not removed.
    public var adapters: [Adapter] = []

    /// Creates a snapshot without monitors.
    public init() {}

    /// A monitor: its name and its settings.
    public struct Monitor: Sendable, Hashable {
        /// The name of the monitor.
        public var name: String
        /// The settings for its conditions.
        public var settings: MonitorSettings

        /// Creates a monitor.
        public init(name: String, settings: MonitorSettings) {
            self.name = name
            self.settings = settings
        }
    }

    /// An adapter: its name, its address, and when it stopped.
    public struct Adapter: Sendable, Hashable {
        /// The name in lines and in ``Subject/holders``, unique in a snapshot.
        public var name: String
        /// The address of the controller; `nil` if it has none of its own, and in snapshots of earlier versions.
        public var address: DeviceAddress?
        /// The actual time at which it stopped scanning; `nil` while it scans.
        public var stopped: PastMoment?

        /// Creates an adapter. `stopped` is `nil` if it scans.
        public init(name: String, address: DeviceAddress? = nil, stopped: PastMoment?) {
            self.name = name
            self.address = address
            self.stopped = stopped
        }
    }

    /// A condition with its subjects.
    public struct Condition: Sendable, Hashable {
        /// The name of the monitor.
        public var monitor: String
        /// The identifier of the condition.
        public var identifier: String
        /// The beacons or the circle that are monitored.
        public var condition: BeaconMonitoring.Condition
        /// The thresholds and timeouts of entries and exits; `nil` if the lines with them are deleted. The
        /// configuration applies then.
        public var settings: ConditionSettings?
        /// The subject of the condition itself.
        public var own: Subject
        /// The beacons under the condition that are `satisfied` or `unknown` (rule P1), in order.
        public var beacons: [Subject] = []

        /// Creates a condition with its own subject and without beacons.
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

    /// The state of a condition or of one beacon.
    public struct Subject: Sendable, Hashable {
        /// The beacon; `nil` for a condition.
        public var beacon: BeaconIdentity?
        /// The state since the last event.
        public var state: BeaconMonitor.Event.State
        /// Whether it is `unknown` and was `satisfied` before (rule L3).
        public var wasSatisfied = false
        /// The last event; `nil` if there was none.
        public var previous: BeaconMonitor.Event.Previous?
        /// The last refresh; `nil` if there was none.
        public var lastRefresh: Refresh?
        /// The last fix inside a circle; `nil` if there was none (rule G3). A circle has no ``lastRefresh``.
        public var lastSeen: PastMoment?
        /// The adapters that hold it, the one with the oldest refresh first. If it is empty, all adapters together hold
        /// it, if it is held at all.
        public var holders: [String] = []
        /// The open visit; `nil` if the subject is not present.
        public var visit: OpenVisit?

        /// Creates a subject with only a state.
        public init(beacon: BeaconIdentity? = nil, state: BeaconMonitor.Event.State) {
            self.beacon = beacon
            self.state = state
        }
    }

    /// The last refresh of a subject.
    public struct Refresh: Sendable, Hashable {
        /// The time of the sighting.
        public var time: PastMoment
        /// The beacon.
        public var beacon: BeaconIdentity
        /// The RSSI at one metre that the frame declares, in dBm; `nil` if it is unknown. −128 counts as `nil`.
        public var measuredPower: Int8?
        /// The signal strength; `nil` if the controller did not report it.
        public var rssi: RSSI?
        /// The address of the advertiser; `nil` if the source did not report it.
        public var address: DeviceAddress?
        /// The name of the adapter.
        public var adapter: String

        /// Creates a refresh.
        public init(
            time: PastMoment, beacon: BeaconIdentity, measuredPower: Int8?, rssi: RSSI?, address: DeviceAddress?,
            adapter: String
        ) {
            self.time = time
            self.beacon = beacon
            self.measuredPower = IBeacon.knownPower(measuredPower)
            self.rssi = rssi
            self.address = address
            self.adapter = adapter
        }
    }

    /// A visit that has not ended (rule P3).
    public struct OpenVisit: Sendable, Hashable {
        /// The time of the entering event; `nil` if the entry was assumed.
        public var arrival: PastMoment?
        /// The number of sightings that refreshed the subject since the visit started.
        public var refreshes: Int
        /// The RSSI values of the refreshes; `nil` if none had one.
        public var strength: Visit.Strength?

        /// Creates a visit.
        public init(arrival: PastMoment?, refreshes: Int, strength: Visit.Strength?) {
            self.arrival = arrival
            self.refreshes = refreshes
            self.strength = strength
        }
    }
}

/// A moment from before a restart. The timeline continues when the process restarts, but not when the machine restarts.
public enum PastMoment: Sendable, Hashable {
    /// A time on the current timeline.
    case timeline(Instant)
    /// A date from a timeline that has ended.
    case date(WallDate)

    /// Converts the moment for the timeline after a restart of the machine.
    ///
    /// - Parameter offset: how far the wall clock is ahead of the old timeline.
    /// - Returns: the same moment as a date.
    public func afterReboot(offset: ClockOffset) -> PastMoment {
        switch self {
        case .timeline(let instant): .date(WallDate(instant, offset: offset))
        case .date: self
        }
    }
}

extension MonitorSnapshot {
    /// Converts the snapshot for the timeline after a restart of the machine.
    ///
    /// - Parameter offset: how far the wall clock is ahead of the old timeline.
    /// - Returns: the same snapshot with dates instead of times on the old timeline.
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
