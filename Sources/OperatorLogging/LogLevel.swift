/// The severity of a log message. The raw value is that of syslog(3).
public enum LogLevel: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// The gateway cannot do its task.
    case error = 3
    /// The gateway does its task, but there is a problem.
    case warning = 4
    /// A change that an operator should know.
    case notice = 5
    /// Details of the operation, for a closer examination.
    case info = 6
    /// Details that are useful only for developers.
    case debug = 7

    /// Returns whether `left` is more urgent. More urgent levels are smaller, as in syslog.
    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}
