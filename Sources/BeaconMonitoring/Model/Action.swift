public import BaseTypes
public import BluetoothLE

/// What an engine wants done: it does nothing itself.
public enum Action: Sendable, Hashable {
    /// A subject has a new state.
    case event(BeaconMonitor.Event)
    /// A visit ended; follows its leaving event.
    case visit(Visit)
    /// A condition was added, replaced, changed or removed (rules C2, C3).
    case condition(ConditionChange)
    /// An adapter began or ceased to listen.
    case adapter(AdapterChange)
    /// The name of an adapter in the actions that follow (rule L7). It has no line of its own, and precedes the first event
    /// or adapter change after the adapter got the name.
    case adapterNamed(AdapterID, name: String)
    /// Beacons under this condition ran into a limit: once a condition and episode (rules P2, P4, P5).
    case trackingLimitExceeded(identifier: String, TrackingLimit)
}

/// What keeps a beacon from being tracked.
public enum TrackingLimit: Sendable, Hashable {
    /// As many as may be are held (rules P2, P4).
    case held
    /// As many as may have entered (rule P5).
    case new
}

/// What happened to a condition of a monitor.
public struct ConditionChange: Sendable, Hashable {
    /// What happened.
    public enum Kind: UInt8, Sendable, Hashable {
        /// There was none of that identifier before.
        case added
        /// Another identity under the same identifier: it starts afresh.
        case replaced
        /// Other settings; the state stays.
        case changed
        /// It is no longer monitored (rule C3).
        case removed
    }

    /// The monitor's name.
    public var monitor: String
    /// The condition's identifier.
    public var identifier: String
    /// What happened.
    public var kind: Kind
    /// When the condition changed, on the timeline.
    public var time: Instant
    /// The wall clock against the timeline then.
    public var clockOffset: ClockOffset
    /// The condition as it is from then on; the removed one.
    public var condition: Condition
    /// Its settings from then on; those of the removed one.
    public var settings: ConditionSettings
    /// The state that it started from, where it started.
    public var assumed: BeaconMonitor.Event.State?

    /// A change that an engine made, or that a line tells.
    package init(
        monitor: String, identifier: String, kind: Kind, time: Instant, clockOffset: ClockOffset,
        condition: Condition, settings: ConditionSettings, assumed: BeaconMonitor.Event.State?
    ) {
        self.monitor = monitor
        self.identifier = identifier
        self.kind = kind
        self.time = time
        self.clockOffset = clockOffset
        self.condition = condition
        self.settings = settings
        self.assumed = assumed
    }
}

/// What happened to an adapter.
public struct AdapterChange: Sendable, Hashable {
    /// What an adapter does.
    public enum State: UInt8, Sendable, Hashable {
        /// It gives reports.
        case listening
        /// It gave no report for so long that it is taken not to listen (rule L5).
        case deaf
        /// It stopped, as its source says.
        case off
        /// It was taken out.
        case gone
    }

    /// The name that lines give the adapter: `hci0`.
    public var adapter: String
    /// The controller's address, where it has one that is its own (rule L7).
    public var address: DeviceAddress?
    /// What it does now.
    public var state: State
    /// Since when that is so, on the timeline.
    public var since: Instant
    /// Why, in words; absent where the state says it all.
    public var reason: String?
    /// When it was established, on the timeline.
    public var time: Instant
    /// The wall clock against the timeline then.
    public var clockOffset: ClockOffset

    /// A change that an engine established, or that a line tells.
    package init(
        adapter: String, address: DeviceAddress? = nil, state: State, since: Instant, reason: String?,
        time: Instant,
        clockOffset: ClockOffset
    ) {
        self.adapter = adapter
        self.address = address
        self.state = state
        self.since = since
        self.reason = reason
        self.time = time
        self.clockOffset = clockOffset
    }
}

/// Where an engine puts its actions, in order, for whoever drives it to take.
///
/// Kept by the driver and used again for each input, so that an input which makes no action allocates nothing.
public struct ActionBuffer: Sendable {
    /// The actions since the last ``removeAll()``.
    public private(set) var actions: ContiguousArray<Action> = []

    /// An empty buffer.
    public init() {}

    /// Whether there is nothing to do.
    @inlinable public var isEmpty: Bool { actions.isEmpty }

    /// Forgets the actions and keeps their memory.
    public mutating func removeAll() { actions.removeAll(keepingCapacity: true) }

    mutating func append(_ action: Action) { actions.append(action) }
}
