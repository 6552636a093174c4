/// The proximity of a beacon, with the names of Core Location's `CLProximity`.
public enum Proximity: String, Sendable, Hashable, CaseIterable {
    /// Nearer than ``RangingSettings/immediateBelow``.
    case immediate
    /// Nearer than ``RangingSettings/nearBelow``.
    case near
    /// At a distance of ``RangingSettings/nearBelow`` or more.
    case far
    /// The distance is unknown: no recent sighting, none with an RSSI, or the beacon's measured power is unknown.
    case unknown
}
