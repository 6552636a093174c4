import BaseTypes

extension ManagedAdapter {
    /// Begins a step of the watchdog's, where it can be taken here.
    mutating func take(_ step: WatchdogStep, at now: Instant) -> WatchdogStep.Outcome {
        guard information != nil else { return .skipped(reason: "the kernel has told nothing of it yet") }
        switch step {
        case .widen:
            guard features?.isOffloaded == true else {
                return .skipped(reason: "the controller does not match patterns: all advertisements come already")
            }
            guard monitor != nil else { return .skipped(reason: "it has no monitor yet") }
            wideUntil = now + Self.wideningLength
            return .taken
        case .restartScan:
            guard monitor != nil else { return .skipped(reason: "it has no monitor yet") }
            restarts = true
            return .taken
        case .powerCycle:
            guard block == .none else { return .skipped(reason: "rfkill blocks it") }
            guard settings.contains(.powered) else { return .skipped(reason: "it is off") }
            cycle = .switchingOff
            return .taken
        case .reset:
            return .skipped(
                reason: "the management socket resets a controller only with the power; plug it out and in, or restart")
        }
    }
}
