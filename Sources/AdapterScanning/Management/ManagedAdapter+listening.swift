import BaseTypes

extension ManagedAdapter {
    /// Takes the adapter's settings as they are now; `reason` is why, where it went off.
    mutating func update(
        _ settings: ControllerSettings, at now: Instant, _ reason: String, into actions: inout [ManagementAction]
    ) {
        let was = self.settings
        self.settings = settings
        if settings.contains(.powered) {
            powerAt = nil
            if !was.contains(.powered), monitor != nil { expectProof(at: now) }
        } else if was.contains(.powered) {
            // A discovery ends with the power.
            discovering = false
            powerAt = now + options.powerOffGrace
        }
        updateListening(at: now, settings.contains(.powered) ? "its settings changed" : reason, into: &actions)
    }

    /// Takes what rfkill says of it.
    mutating func update(_ block: RFKillBlock, at now: Instant) {
        guard self.block != block else { return }
        self.block = block
        if block == .none, information != nil, !settings.contains(.powered) {
            powerAt = now + options.powerGrace
            retryAt = nil
        }
    }

    /// Takes that somebody's discovery began or ended.
    mutating func update(discovering: Bool, at now: Instant, into actions: inout [ManagementAction]) {
        self.discovering = discovering
        if discovering, let believedAt, now - believedAt < Self.discoveryLag, monitor != nil {
            expectProof(at: now)
            updateListening(at: now, "somebody began to discover at the same moment", into: &actions)
        }
        // The scan that comes after it was begun with the monitor in place: unfiltered.
        if !discovering, monitor != nil { prove(at: now, into: &actions) }
    }

    /// Takes that the machine is about to sleep, or awake again.
    mutating func update(suspended: Bool, at now: Instant, into actions: inout [ManagementAction]) {
        isSuspended = suspended
        updateListening(at: now, "the machine goes to sleep", into: &actions)
    }

    /// Takes a monitor that was put up.
    mutating func added(
        _ kind: MonitorKind, _ handle: UInt16, at now: Instant, into actions: inout [ManagementAction]
    ) {
        actions.append(.record)
        switch kind {
        case .flags: wideMonitor = handle
        case .beacons:
            monitor = handle
            // Asked for while this was under way, so for as long as the controller did not answer. It does, and begins to
            // scan: the watchdog asks again if that is silent too.
            if cycle == .switchingOff { cycle = nil }
            expectProof(at: now)
            believedAt = isProven ? now : nil
            updateListening(at: now, "", into: &actions)
        }
    }

    /// Takes that a monitor is gone; 0 is all of them.
    mutating func removed(
        _ handle: UInt16, _ reason: String, at now: Instant, into actions: inout [ManagementAction]
    ) {
        let before = changes
        leftovers.removeAll { handle == 0 || $0 == handle }
        if handle == 0 || handle == wideMonitor {
            wideMonitor = nil
            if let wideUntil, wideUntil <= now { self.wideUntil = nil }
        }
        if handle == 0 {
            // A bluetoothd that starts; it may have set the adapter up anew.
            questions.insert(.configuration)
        }
        if handle == 0 || handle == monitor {
            monitor = nil
            isProven = false
            proofAt = nil
            updateListening(at: now, reason, into: &actions)
        }
        if changes != before { actions.append(.record) }
    }

    /// Takes a report; whether it is handed over.
    ///
    /// What comes before the adapter listens is not: it is what somebody else's scan lets through, and would be taken for
    /// a proof that all comes through.
    mutating func heard(_ isMonitors: Bool, at time: Instant, into actions: inout [ManagementAction]) -> Bool {
        if isMonitors, monitor != nil {
            believedAt = nil
            if !isListening {
                isSuspended = false
                prove(at: time, into: &actions)
            }
        }
        guard isListening else { return false }
        lastHeard = time
        return true
    }

    // The scan in which the monitor counts is one that begins from now on. Where somebody discovers, or may be doing so,
    // the present one may filter; its end is told, and a report of the passive scan shows it too.
    private mutating func expectProof(at now: Instant) {
        // One that was there before us would have ended, or begun anew, by now, and either is told.
        if discovering == nil, let metAt, now - metAt >= Self.discoveryMax { discovering = false }
        isProven = discovering == false
        proofAt = isProven ? nil : now + Self.discoveryMax
    }

    mutating func prove(at now: Instant, into actions: inout [ManagementAction]) {
        isProven = true
        proofAt = nil
        updateListening(at: now, "", into: &actions)
    }

    private mutating func updateListening(at now: Instant, _ reason: String, into actions: inout [ManagementAction]) {
        let hears =
            monitor != nil && isProven && !isSuspended && settings.isSuperset(of: [.powered, .lowEnergy])
        guard hears != isListening else { return }
        isListening = hears
        if hears {
            lastHeard = now
            lastSure = now
            let reason = "it scans for advertisement monitor \(monitor ?? 0)"
            actions.append(.tell(.listening(adapter: number, reason: reason)))
        } else {
            actions.append(.tell(.stopped(adapter: number, since: now, reason: reason)))
        }
    }

    /// Takes that the adapter is gone.
    mutating func vanish(at now: Instant, into actions: inout [ManagementAction]) {
        settings = []
        updateListening(at: now, "it was unplugged", into: &actions)
        if isWanted { actions.append(.tell(.disappeared(adapter: number))) }
        if changes != nil { actions.append(.record) }
    }
}
