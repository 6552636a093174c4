import BaseTypes

extension DBusAdapter {
    /// Where it stands on the way to hearing.
    enum Phase: Sendable, Hashable {
        /// It is not there, not on, or not ours.
        case off
        /// Something went wrong; it is tried again then.
        case retrying(at: Instant)
        /// The monitor is being registered.
        case registering
        /// The monitor is registered; without a word of it by then, it goes on without.
        case awaitingActivation(until: Instant)
        /// Passive, and this bluetoothd has no monitors.
        case unable
        /// The discovery filter is being set.
        case settingFilter
        /// Discovery is being started.
        case starting
        /// Discovery was started for us; by then `Discovering` has to say so too.
        case started(confirmedBy: Instant)
        /// Passive: the monitor is all there is.
        case monitoring
        /// Discovery is being stopped, to be begun anew: at once, or after a while where starting it had failed.
        case stopping(isAtOnce: Bool)
        /// Power is being switched off by us.
        case switchingOff
        /// Power is being switched on by us.
        case switchingOn
        /// Power was to come on and did not; it is tried again then.
        case retryingPower(at: Instant)
    }

    /// What became of the advertisement monitor.
    enum Monitor: Sendable, Hashable {
        case none
        case registered
        /// bluetoothd has handed it to the kernel: reports are no longer thinned out by the controller.
        case active
        /// It was refused or taken back.
        case refused
    }

    // Register, GetManagedObjects and Activate took 20 ms in a slow virtual machine.
    static let activationMax: Duration = .seconds(3)
    // `Discovering` changes before StartDiscovery is answered, or right after it.
    static let confirmationMax: Duration = .seconds(5)

    /// Whether discovery was started for us.
    var isStarted: Bool { if case .started = phase { true } else { false } }

    /// Whether it was switched off by us and is not on again.
    var isSwitchingPower: Bool {
        switch phase {
        case .switchingOff, .switchingOn, .retryingPower: true
        default: false
        }
    }

    /// When something is to be done without anything having happened.
    var nextDeadline: Instant? {
        if let missingUntil { return missingUntil }
        return switch phase {
        case .retrying(let time), .awaitingActivation(let time), .retryingPower(let time): time
        case .started(let time): isDiscovering && !isStuck ? nil : time
        default: nil
        }
    }
}
