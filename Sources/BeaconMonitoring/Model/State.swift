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

/// Whether an event tells of a condition as a whole or of one beacon under it (rule P1).
public enum Scope: UInt8, Sendable, Hashable {
    case condition
    case beacon
}
