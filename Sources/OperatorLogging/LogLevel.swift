/// How much a line of the log matters, as syslog(3) ranks it; the raw value is syslog's.
public enum LogLevel: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// The gateway can't do what it is there for.
    case error = 3
    /// It does, and something is not as it should be.
    case warning = 4
    /// Something changed that an operator wants to know.
    case notice = 5
    /// What happened, for who looks closely.
    case info = 6
    /// What only its makers want to know.
    case debug = 7

    /// The more urgent is the less, as in syslog.
    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}
