/// The steps of the watchdog's ladder, taken while an adapter should receive reports but does not.
package enum WatchdogStep: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// Receive more kinds of advertisements than before.
    case widen
    /// Stop and restart the scan.
    case restartScan
    /// Switch the adapter off and on.
    case powerCycle
    /// Reset the controller.
    case reset

    /// The result of a step.
    package enum Outcome: Sendable, Hashable {
        /// The step was started. Its effect is visible in the scanner's reports.
        case taken
        /// The step cannot be taken here; `reason` explains it for operators.
        case skipped(reason: String)
    }

    /// Earlier steps are less.
    package static func < (left: WatchdogStep, right: WatchdogStep) -> Bool { left.rawValue < right.rawValue }
}
