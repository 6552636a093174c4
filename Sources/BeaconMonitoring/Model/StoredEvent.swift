/// An event in the form that a record store saves (rule N3).
public struct StoredEvent: Sendable, Hashable, Codable {
    /// The number of the event in its monitor, greater than those of all earlier events, also those before a restart.
    public var number: Int
    /// The event, or the placeholder with the initial state of a condition.
    public var event: BeaconMonitor.Event
    /// Whether it is an entry or an exit, which ``BeaconMonitor/Events/notifyOnEntry`` and
    /// ``BeaconMonitor/Events/notifyOnExit`` select.
    public var crossing: BeaconMonitor.Event.Crossing?
    /// Whether it is the initial state of a condition (rule C1). It is not delivered, and becomes the `lastEvent` of
    /// the record immediately.
    public var isPlaceholder: Bool

    /// Creates an event or a placeholder with a number.
    public init(
        number: Int, event: BeaconMonitor.Event, crossing: BeaconMonitor.Event.Crossing? = nil,
        isPlaceholder: Bool = false
    ) {
        self.number = number
        self.event = event
        self.crossing = crossing
        self.isPlaceholder = isPlaceholder
    }
}
