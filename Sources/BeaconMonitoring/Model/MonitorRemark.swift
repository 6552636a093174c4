/// Something about what is handed to a monitor that whoever hands it over wants to know.
public enum MonitorRemark: Sendable, Hashable, CustomStringConvertible {
    /// An input was stamped that much later than the monitor's clock shows, and taken as of now; how many have been.
    case inputFromFuture(by: Duration, count: Int)
    /// An input named an adapter of another monitor, and was dropped; how many have been.
    case adapterForeign(count: Int)

    /// What happened, and what to do.
    public var description: String {
        switch self {
        case .inputFromFuture(let lead, let count):
            """
            an input has a time that is \(lead) after the monitor's clock, and counts as now (\(count) so far); \
            use times of the clock that the monitor was created with
            """
        case .adapterForeign(let count):
            """
            an input named an adapter of another monitor, or of one that has ended, and was dropped (\(count) so far); \
            get the adapter from this monitor with adapter(named:)
            """
        }
    }
}
