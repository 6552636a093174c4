public import BaseTypes
public import BluetoothLE

/// An output of the engine, which the caller must carry out.
public enum Action: Sendable, Hashable {
    /// A subject has a new state.
    case event(BeaconMonitor.Event)
    /// A visit ended. It follows the event of the exit.
    case visit(Visit)
    /// A condition was added, replaced, changed or removed (rules C2, C3).
    case condition(ConditionChange)
    /// An adapter started or stopped scanning.
    case adapter(AdapterChange)
    /// An adapter has a new name in the actions that follow (rule L7). It has no line of its own, and precedes the
    /// first event or adapter change, of any adapter, after the adapter got the name.
    case adapterNamed(AdapterID, name: String)
    /// Beacons under this condition exceed a limit. It is reported once per condition and episode (rules P2, P4, P5).
    case trackingLimitExceeded(identifier: String, TrackingLimit)
}

/// A limit that prevents tracking of a beacon.
public enum TrackingLimit: Sendable, Hashable {
    /// The number of tracked beacons (rules P2, P4).
    case held
    /// The rate of new beacons (rule P5).
    case new
}

/// A change of a condition of a monitor.
public struct ConditionChange: Sendable, Hashable {
    /// The kinds of changes.
    public enum Kind: UInt8, Sendable, Hashable {
        /// A condition with a new identifier was added.
        case added
        /// The condition of the identifier was replaced by one with other beacons, another circle or another
        /// `perBeacon`. It starts again.
        case replaced
        /// The settings changed; the state stays.
        case changed
        /// The condition is no longer monitored (rule C3).
        case removed
    }

    /// The name of the monitor.
    public var monitor: String
    /// The identifier of the condition.
    public var identifier: String
    /// The kind of change.
    public var kind: Kind
    /// The time of the change, on the timeline.
    public var time: Instant
    /// How far the wall clock is ahead of the timeline at that time.
    public var clockOffset: ClockOffset
    /// The condition after the change, or the removed one.
    public var condition: Condition
    /// The settings after the change, or those of the removed one.
    public var settings: ConditionSettings
    /// The assumed state at the start, for changes that start a condition.
    public var assumed: BeaconMonitor.Event.State?

    /// Creates a change from an engine or from a line.
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

/// A change of an adapter.
public struct AdapterChange: Sendable, Hashable {
    /// The states of an adapter.
    public enum State: UInt8, Sendable, Hashable {
        /// The adapter scans.
        case listening
        /// The adapter delivered no report for `deaf_after`, so it counts as not scanning (rule L5).
        case deaf
        /// The adapter stopped; its source reported it.
        case off
        /// The adapter was removed.
        case gone
    }

    /// The name of the adapter in lines: `hci0`.
    public var adapter: String
    /// The address of the controller; `nil` if it has none of its own (rule L7).
    public var address: DeviceAddress?
    /// The new state.
    public var state: State
    /// The start of that state, on the timeline.
    public var since: Instant
    /// The reason as a text; `nil` if the state says everything.
    public var reason: String?
    /// The time at which the change was detected, on the timeline.
    public var time: Instant
    /// How far the wall clock is ahead of the timeline at that time.
    public var clockOffset: ClockOffset

    /// Creates a change from an engine or from a line.
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

/// Receives the actions of an engine, in order.
///
/// The caller should use one buffer for all inputs, so that an input without actions allocates nothing.
public struct ActionBuffer: Sendable {
    /// The actions since the last ``removeAll()``.
    public private(set) var actions: ContiguousArray<Action> = []

    /// Creates an empty buffer.
    public init() {}

    /// Whether there are no actions.
    @inlinable public var isEmpty: Bool { actions.isEmpty }

    /// Removes all actions without releasing their memory.
    public mutating func removeAll() { actions.removeAll(keepingCapacity: true) }

    mutating func append(_ action: Action) { actions.append(action) }
}
