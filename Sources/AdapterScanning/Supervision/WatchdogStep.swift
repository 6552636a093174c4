/// A step of the ladder that is climbed while an adapter that should hear something hears nothing.
package enum WatchdogStep: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// Listen for more kinds of advertisement than before.
    case widen
    /// End the scan, and begin it anew.
    case restartScan
    /// Switch the adapter off and on.
    case powerCycle
    /// Reset the controller.
    case reset

    /// What came of a step.
    package enum Outcome: Sendable, Hashable {
        /// It was begun; its effect shows in what the scanner tells.
        case taken
        /// It can't be taken here; `reason` says why, for operators.
        case skipped(reason: String)
    }

    /// The one that comes earlier is the less.
    package static func < (left: WatchdogStep, right: WatchdogStep) -> Bool { left.rawValue < right.rawValue }
}
