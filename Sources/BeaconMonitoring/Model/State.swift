extension BeaconMonitor.Event {
    /// What is known of a subject (Apple: `CLMonitor.Event.State`).
    public enum State: UInt8, Sendable, Hashable, CaseIterable {
        /// Nothing has been observed yet, or what was observed is too old to hold.
        case unknown
        /// The condition holds.
        case satisfied
        /// The condition does not hold.
        case unsatisfied
        /// The condition is not evaluated (rules C4, C5).
        case unmonitored
    }
}
