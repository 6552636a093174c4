/// A problem with the input of a monitor that its caller should fix.
public enum MonitorRemark: Sendable, Hashable, CustomStringConvertible {
    /// The time of an input is that much after the monitor's clock, so the input counts as now. `count` is the number
    /// of such inputs so far.
    case inputFromFuture(by: Duration, count: Int)
    /// An input with an adapter of another monitor was dropped. `count` is the number of such inputs so far.
    case adapterForeign(count: Int)

    /// A text for operators: what happened, and what to do.
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
