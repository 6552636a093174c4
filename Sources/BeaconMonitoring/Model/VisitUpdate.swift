public import BaseTypes
public import BluetoothLE

/// A stay, as far as it is known: at the arrival, and again when it has ended (Apple: `CLVisit`).
public struct VisitUpdate: Sendable, Hashable {
    /// The monitor's name.
    public let monitor: String
    /// The condition's identifier.
    public let identifier: String
    /// Whether it is a stay under the condition as a whole, or one beacon's under it.
    public let scope: Scope
    /// What is monitored.
    public let condition: Condition
    /// The beacon, in a beacon's own stays.
    public let refinement: BeaconIdentity?
    /// When it began: the entering event's time; absent where the entry was assumed (`CLVisit` has `distantPast` there).
    public let arrival: Instant?
    /// When it ended: the last refresh; absent while it goes on (`CLVisit` has `distantFuture` there), and where nothing
    /// but an assumption ever said that it was one.
    public let departure: Instant?
    /// What else is known of it once it has ended; absent while it goes on.
    public let ended: Visit?
    /// The wall clock against the timeline when this was made: its dates are printed with it (rule T1).
    public let clockOffset: ClockOffset

    /// Whether it goes on.
    public var isOpen: Bool { ended == nil }
    /// ``arrival``, on the wall clock.
    public var arrivalDate: WallDate? { arrival.map { WallDate($0, offset: clockOffset) } }
    /// ``departure``, on the wall clock.
    public var departureDate: WallDate? { departure.map { WallDate($0, offset: clockOffset) } }

    /// A stay of the kind that a monitor tells of: for tests, and for whoever reads stays back.
    public init(
        monitor: String, identifier: String, scope: Scope, condition: Condition, refinement: BeaconIdentity?,
        arrival: Instant?, departure: Instant?, ended: Visit?, clockOffset: ClockOffset
    ) {
        self.monitor = monitor
        self.identifier = identifier
        self.scope = scope
        self.condition = condition
        self.refinement = refinement
        self.arrival = arrival
        self.departure = departure
        self.ended = ended
        self.clockOffset = clockOffset
    }

    /// A stay that begins by an entering event.
    init(arrival event: BeaconMonitor.Event) {
        monitor = event.monitor
        identifier = event.identifier
        scope = event.scope
        condition = event.condition
        refinement = event.scope == .beacon ? event.refinement : nil
        arrival = event.time
        departure = nil
        ended = nil
        clockOffset = event.clockOffset
    }

    /// A stay that has ended.
    init(ended visit: Visit) {
        monitor = visit.monitor
        identifier = visit.identifier
        scope = visit.scope
        condition = visit.condition
        refinement = visit.refinement
        arrival = visit.arrival
        departure = visit.departure
        ended = visit
        clockOffset = visit.clockOffset
    }
}
