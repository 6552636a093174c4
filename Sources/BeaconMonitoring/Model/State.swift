extension BeaconMonitor.Event {
    /// The state of a condition or a beacon (Apple: `CLMonitor.Event.State`).
    public enum State: UInt8, Sendable, Hashable, CaseIterable {
        /// There is no observation yet, or the last one is too old.
        case unknown
        /// The condition is satisfied: the beacon is present, or the gateway is inside the circle.
        case satisfied
        /// The condition is not satisfied.
        case unsatisfied
        /// The condition is not evaluated (rules C4, C5).
        case unmonitored
    }
}
