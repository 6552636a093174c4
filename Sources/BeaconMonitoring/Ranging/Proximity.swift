/// How near a beacon is, in Core Location's words (`CLProximity`).
public enum Proximity: String, Sendable, Hashable, CaseIterable {
    /// Nearer than ``RangingSettings/immediateBelow``.
    case immediate
    /// Nearer than ``RangingSettings/nearBelow``.
    case near
    /// At ``RangingSettings/nearBelow``, or farther away.
    case far
    /// There is no distance: it was not heard lately, or without an RSSI.
    case unknown
}
