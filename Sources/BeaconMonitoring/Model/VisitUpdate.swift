public import BaseTypes
public import BluetoothLE

/// A visit as far as it is known: at the arrival, and again after its end (Apple: `CLVisit`).
public struct VisitUpdate: Sendable, Hashable {
    /// The name of the monitor.
    public let monitor: String
    /// The identifier of the condition.
    public let identifier: String
    /// Whether the visit is of the condition as a whole or of one beacon under it.
    public let scope: Scope
    /// The beacons or the circle that are monitored.
    public let condition: Condition
    /// The beacon, in visits of a beacon.
    public let refinement: BeaconIdentity?
    /// The time of the entering event; `nil` if the entry was assumed (`CLVisit` uses `distantPast`).
    public let arrival: Instant?
    /// The time of the last refresh; `nil` while the visit is open (`CLVisit` uses `distantFuture`), and if the entry
    /// was assumed and never refreshed.
    public let departure: Instant?
    /// The complete visit after its end; `nil` while it is open.
    public let ended: Visit?
    /// How far the wall clock is ahead of the timeline when this update was made. Its dates are computed with it (rule
    /// T1).
    public let clockOffset: ClockOffset

    /// Whether the visit has not ended.
    public var isOpen: Bool { ended == nil }
    /// ``arrival``, on the wall clock.
    public var arrivalDate: WallDate? { arrival.map { WallDate($0, offset: clockOffset) } }
    /// ``departure``, on the wall clock.
    public var departureDate: WallDate? { departure.map { WallDate($0, offset: clockOffset) } }

    /// Creates an update like those of a monitor, for tests and for programs that read stored visits.
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

    /// Creates the update of a visit that starts with an entering event.
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

    /// Creates the update of a visit that has ended.
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
