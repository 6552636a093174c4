import BaseTypes

extension DBusAdapter {
    /// Takes a step of the watchdog's ladder.
    mutating func take(
        _ step: WatchdogStep, at now: Instant, into actions: inout [DBusAction]
    ) -> WatchdogStep.Outcome {
        guard isThere else { return .skipped(reason: "bluetoothd does not have this adapter") }
        if step == .reset {
            return .skipped(reason: "a controller can't be reset over D-Bus; unplug it and plug it in again")
        }
        if isSwitchingPower { return .skipped(reason: "it is being switched off and on") }
        guard isPowered else { return .skipped(reason: "the adapter is off") }
        switch step {
        case .widen: return widen(at: now, into: &actions)
        case .restartScan: return restart(at: now, into: &actions)
        case .powerCycle: return powerCycle(at: now, into: &actions)
        case .reset: return .skipped(reason: "a controller can't be reset over D-Bus")
        }
    }

    private mutating func widen(at now: Instant, into actions: inout [DBusAction]) -> WatchdogStep.Outcome {
        if !wantsDiscovery {
            wantsDiscovery = true
            begin(at: now, into: &actions)
            return .taken
        }
        guard offersMonitors else {
            return .skipped(
                reason: "discovery tells of every advertiser already, and bluetoothd offers no advertisement monitors")
        }
        guard monitor != .active else {
            return .skipped(reason: "discovery tells of every advertiser already, and the monitor is active")
        }
        monitor = .none
        switch phase {
        case .started: stopDiscovery("listening is widened", at: now, into: &actions)
        case .retrying: begin(at: now, into: &actions)
        // It comes to the monitor on its way.
        default: break
        }
        return .taken
    }

    private mutating func restart(at now: Instant, into actions: inout [DBusAction]) -> WatchdogStep.Outcome {
        // That is under way already, and keeps the watchdog from what helps.
        guard !isStuck else {
            return .skipped(reason: "discovery can't be stopped; that is tried again and again")
        }
        switch phase {
        case .started: stopDiscovery("discovery is begun anew", at: now, into: &actions)
        case .retrying, .off: begin(at: now, into: &actions)
        case .monitoring, .unable:
            return .skipped(reason: "this adapter does not discover; the monitor scans by itself")
        default: return .skipped(reason: "discovery is being started already")
        }
        return .taken
    }

    private mutating func powerCycle(at now: Instant, into actions: inout [DBusAction]) -> WatchdogStep.Outcome {
        guard mayPowerCycle else { return .skipped(reason: "switching the adapter off and on is not allowed") }
        guard !isPowerDenied else {
            return .skipped(reason: "the policy of the system bus does not let this user switch the adapter off and on")
        }
        phase = .switchingOff
        updateListening("the adapter is switched off and on", at: now, into: &actions)
        request(.setPowered(false), into: &actions)
        return .taken
    }

    /// Ends discovery, to begin it anew at once.
    mutating func stopDiscovery(_ reason: String, at now: Instant, into actions: inout [DBusAction]) {
        phase = .stopping(isAtOnce: true)
        updateListening(reason, at: now, into: &actions)
        request(.stopDiscovery, into: &actions)
    }

    /// What has to be said before the connection is closed, so that nothing of ours stays.
    var farewell: [DBusRequest.AdapterRequest] {
        var requests: [DBusRequest.AdapterRequest] = []
        switch phase {
        case .starting, .started: requests.append(.stopDiscovery)
        case _ where isSwitchingPower: requests.append(.setPowered(true))
        default: break
        }
        if monitor == .registered || monitor == .active || phase == .registering { requests.append(.unregisterMonitor) }
        return requests
    }
}
