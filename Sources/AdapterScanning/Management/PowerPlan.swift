import BaseTypes

/// When the power of one adapter is switched: on if nothing else does it, and off and on for the watchdog.
struct PowerPlan: Sendable {
    private enum Cycle: Sendable {
        case switchingOff
        case switchingOn
    }

    /// The rfkill block of the adapter.
    private(set) var block: RFKillBlock
    /// When to switch the power on; `nil` if it is on or was never off.
    private(set) var deadline: Instant?
    private var cycle: Cycle?

    init(block: RFKillBlock) { self.block = block }

    /// Sets the rfkill block.
    ///
    /// - Returns: whether it has changed.
    mutating func set(_ block: RFKillBlock) -> Bool {
        guard self.block != block else { return false }
        self.block = block
        return true
    }

    /// Schedules switching the power on at `time`, or cancels it if `time` is `nil`.
    mutating func switchOn(at time: Instant?) { deadline = time }

    /// Switches the power off and on.
    mutating func startCycle() { cycle = .switchingOff }

    mutating func cancelCycle() { cycle = nil }

    /// Cancels a cycle that has not switched the power off yet.
    mutating func cancelSwitchingOff() {
        if cycle == .switchingOff { cycle = nil }
    }

    /// Records that a command to switch the power succeeded.
    mutating func switched(isOn: Bool) { cycle = isOn || cycle == nil ? nil : .switchingOn }

    /// Returns the next command for the power.
    ///
    /// - Parameters:
    ///   - settings: the present settings of the adapter.
    ///   - maySwitchOn: whether the power can be switched on without a cycle.
    ///   - now: the current time.
    /// - Returns: `nil` if there is nothing to do.
    mutating func next(_ settings: ControllerSettings, maySwitchOn: Bool, at now: Instant) -> ManagementCommand? {
        // A blocked adapter cannot be switched on. rfkill reports the end of the block.
        guard block == .none else {
            cycle = nil
            return nil
        }
        let isOn = settings.contains(.powered)
        switch cycle {
        case .switchingOff where isOn: return .setPowered(false)
        case .switchingOff, .switchingOn:
            cycle = isOn ? nil : .switchingOn
            if !isOn { return .setPowered(true) }
        case nil: break
        }
        guard maySwitchOn else { return nil }
        // A dual-mode controller without Low Energy accepts a monitor and reports nothing.
        if !settings.contains(.lowEnergy) { return .setLowEnergy }
        guard !isOn, let deadline, deadline <= now else { return nil }
        return .setPowered(true)
    }
}
