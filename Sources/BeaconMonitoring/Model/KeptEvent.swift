/// An event as a record store keeps it (rule N3).
public struct KeptEvent: Sendable, Hashable, Codable {
    /// The monitor's number for it: greater than those of all before it, over restarts too.
    public var number: Int
    /// The event; what a condition began with, where it is no event but a placeholder.
    public var event: BeaconMonitor.Event
    /// Whether somebody came or left by it: what ``BeaconMonitor/Events/notifyOnEntry`` and
    /// ``BeaconMonitor/Events/notifyOnExit`` go by.
    public var crossing: BeaconMonitor.Event.Crossing?
    /// Whether it is what a condition began with (rule C1): delivered to nobody, and its record's `lastEvent` at once.
    public var isPlaceholder: Bool

    /// An event, or a placeholder, under a number.
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
