/// A problem with the use of a monitor that its program should fix.
///
///     await monitor.onRemark { remark in print("site: \(remark)") }
public enum MonitorRemark: Sendable, Hashable, CustomStringConvertible {
    /// The time of an input is that much after the monitor's clock, so the input counts as now. `count` is the number
    /// of such inputs so far.
    case inputFromFuture(by: Duration, count: Int)
    /// An input with an adapter of another monitor was dropped. `count` is the number of such inputs so far.
    case adapterForeign(count: Int)
    /// The program waits for events of the monitor, or reads its records or states, but has not called
    /// ``BeaconMonitor/run()`` for 5 s.
    ///
    ///     await monitor.onRemark { remark in if remark == .notRunning { assertionFailure("\(remark)") } }
    case notRunning

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
        case .notRunning:
            """
            run() has not been called, so the monitor does not scan, and exits wait for the next input; call it in a \
            task, for example with `async let running: Void = monitor.run()`
            """
        }
    }
}
