/// Whether an event is of a condition as a whole or of one beacon under it (rule P1).
public enum Scope: UInt8, Sendable, Hashable, CaseIterable {
    case condition
    case beacon
}
