import BaseTypes

/// One adapter of bluetoothd's, from its coming to its going, and what is done to have it discover.
///
/// A value: what happened goes in, what is to be done comes out. bluetoothd never resumes a discovery by itself, so this
/// begins one whenever the adapter is there, on and not discovering for us. At most one request is under way.
struct DBusAdapter {
    // An adapter that listened this long had no part in what then went wrong.
    private static let steadyAfter: Duration = .seconds(10)

    /// The kernel's number of it.
    let index: Int
    /// Whether bluetoothd has it, and it has been told to be there.
    private(set) var isThere = false
    // What bluetoothd said of it.
    private var known = DBusAdapterProperties()
    /// Whether bluetoothd said last that the controller's power is on; off before it has said.
    var isPowered: Bool { known.isPowered ?? false }
    /// Whether it discovers, for whomever.
    var isDiscovering: Bool { known.isDiscovering ?? false }
    /// Whether rfkill blocks it, as far as bluetoothd tells: what is on is not blocked.
    var isBlocked: Bool { !isPowered && known.isBlocked ?? false }
    /// Whether monitors can be registered.
    private(set) var offersMonitors = false
    /// Whether the last attempt was refused by a policy.
    private(set) var isDenied = false
    /// Whether switching power was refused.
    private(set) var isPowerDenied = false
    /// Whether our discovery filter holds, so that each report is told with all its data.
    private(set) var isFilterSet = false
    /// Whether it listens.
    private(set) var isListening = false
    /// Whether it did not do as it was told, and nothing has proved since then that it obeys.
    ///
    /// A discovery that could not be stopped goes on in bluetoothd's mind alone: the next start is answered at once, and
    /// nobody asks the controller (bluez src/adapter.c, update_discovery_filter; the kernel, too, takes it for ending for
    /// ever). Only its power, a discovery that ends, or a report puts that right.
    private(set) var isStuck = false
    var phase = Phase.off
    var monitor = Monitor.none
    /// The last thing that went wrong, for operators.
    private(set) var lastFailure: String?
    /// Until when a bluetoothd that was just started may not have it yet; then it is gone.
    var missingUntil: Instant?
    /// Whether reports look thinned out.
    var cadence = DBusCadence()

    var wantsDiscovery: Bool
    /// Whether it may be switched off and on.
    let mayPowerCycle: Bool
    // What the bluetoothd that is gone may have left.
    private var orphan = OrphanedDiscovery()
    private var pending: PendingRequest
    /// Since when it listens, where it does.
    private(set) var listeningSince = Instant.earliest
    private var backOff = BackOff.bluetoothd

    /// An adapter that nothing is known of yet.
    ///
    /// Its `generation` is another for each that is made, so that answers to what an earlier adapter of the same number
    /// asked are told apart.
    init(index: Int, isPassive: Bool, mayPowerCycle: Bool, generation: UInt64) {
        self.index = index
        self.mayPowerCycle = mayPowerCycle
        pending = PendingRequest(generation: generation)
        wantsDiscovery = !isPassive
    }
}

// MARK: - What happens

extension DBusAdapter {
    /// bluetoothd says that it has the adapter, and what it is like; all of it, or what changed.
    mutating func told(
        _ properties: DBusAdapterProperties, offersMonitors offers: Bool?, isWhole: Bool, at now: Instant,
        into actions: inout [DBusAction]
    ) {
        if isThere, isWhole, let address = properties.deviceAddress, let before = known.deviceAddress, address != before
        {
            // The adapters changed places while bluetoothd was away: the name is another controller's now (rule L7).
            removed(at: now, into: &actions)
        }
        if !isThere {
            guard isWhole else { return }
            isThere = true
            monitor = .none
            backOff.reset()
            let name = [properties.address, properties.name].compactMap { $0 }.joined(separator: " ")
            actions.append(
                .change(
                    .appeared(
                        adapter: index, controller: name.isEmpty ? "unknown" : name, address: properties.deviceAddress))
            )
        }
        if isWhole { missingUntil = nil }
        let wasPowered = isPowered
        let wasDiscovering = isDiscovering
        // What a whole description leaves out is not so.
        known = isWhole ? properties : known.changed(by: properties)
        if let offers {
            offersMonitors = offers
            if !offers { monitor = .none }
        }
        if wasPowered != isPowered { powerChanged(at: now, into: &actions) }
        if isPowered, wasDiscovering, !isDiscovering { discoveryEnded(at: now, into: &actions) }
        proceed(at: now, into: &actions)
    }

    /// Monitors can be registered now, or no longer.
    mutating func monitorsChanged(isOffered: Bool, at now: Instant, into actions: inout [DBusAction]) {
        offersMonitors = isOffered
        if !isOffered { monitor = .none }
        if isOffered, phase == .unable { phase = .off }
        proceed(at: now, into: &actions)
    }

    /// bluetoothd no longer has the adapter.
    mutating func removed(at now: Instant, into actions: inout [DBusAction]) {
        guard isThere else { return }
        lost(reason: "bluetoothd no longer has the adapter", bluetoothdEnded: false, at: now, into: &actions)
        isThere = false
        known = DBusAdapterProperties()
        actions.append(.change(.disappeared(adapter: index)))
    }

    /// Whoever could tell of it is gone: bluetoothd, or the bus. Whether it is still there shows when they come back.
    /// `bluetoothdEnded` says whether it is certain that it is bluetoothd that is gone, with what it led.
    mutating func lost(
        reason: String, bluetoothdEnded: Bool, at now: Instant, into actions: inout [DBusAction]
    ) {
        if isDiscovering || phase == .starting || isStarted, bluetoothdEnded { orphan.left(at: now) }
        reset()
        missingUntil = nil
        known.forgetState()
        offersMonitors = false
        monitor = .none
        updateListening(reason, at: now, into: &actions)
    }

    /// bluetoothd has handed the monitor to the kernel.
    mutating func monitorActivated(at now: Instant, into actions: inout [DBusAction]) {
        guard isThere else { return }
        monitor = .active
        cadence.reset()
        if case .awaitingActivation = phase { listen(at: now, into: &actions) }
        updateListening("an advertisement monitor is active", at: now, into: &actions)
    }

    /// bluetoothd has taken the monitor back.
    mutating func monitorReleased(at now: Instant, into actions: inout [DBusAction]) {
        guard isThere, monitor != .none else { return }
        monitor = .refused
        switch phase {
        case .awaitingActivation: listen(at: now, into: &actions)
        case .monitoring:
            monitor = .none
            retry(at: now)
        default: break
        }
        updateListening("bluetoothd released the advertisement monitor", at: now, into: &actions)
    }

    /// A report of its came: whatever it was told, it hears.
    mutating func heard(at now: Instant, into actions: inout [DBusAction]) {
        unstick()
        updateListening("a report came", at: now, into: &actions)
    }

    /// A request was answered.
    mutating func answered(
        _ request: DBusRequest.AdapterRequest, token: UInt64, failure: BusFailure?, at now: Instant,
        into actions: inout [DBusAction]
    ) {
        // What was asked before the adapter went, or went off, has nothing to say any more.
        guard pending.isAnswered(by: token) else { return }
        lastFailure = failure?.text ?? lastFailure
        switch request {
        case .registerMonitor: monitorAnswered(failure, at: now, into: &actions)
        case .unregisterMonitor: break
        case .setFilter: filterAnswered(failure, at: now, into: &actions)
        case .startDiscovery: startAnswered(failure, at: now, into: &actions)
        case .stopDiscovery: stopAnswered(failure, at: now, into: &actions)
        case .setPowered(let isOn): powerAnswered(isOn, failure, at: now, into: &actions)
        }
        proceed(at: now, into: &actions)
    }

    /// Time has come to `now`.
    mutating func advance(to now: Instant, into actions: inout [DBusAction]) {
        guard let time = nextDeadline, time <= now else { return }
        switch phase {
        case .retrying: begin(at: now, into: &actions)
        // Discovery alone hears too, if less; the monitor may still come.
        case .awaitingActivation: listen(at: now, into: &actions)
        case .retryingPower:
            phase = .switchingOn
            request(.setPowered(true), into: &actions)
        case .started:
            if !isStuck { lastFailure = "StartDiscovery was answered, but the adapter is not discovering" }
            phase = .stopping(isAtOnce: isStuck)
            request(.stopDiscovery, into: &actions)
        default: break
        }
        updateListening("bluetoothd did not begin to discover", at: now, into: &actions)
    }
}

// MARK: - The way to hearing

extension DBusAdapter {
    private mutating func powerChanged(at now: Instant, into actions: inout [DBusAction]) {
        if isPowered {
            // A controller that was off may do what it refused before.
            if monitor == .refused { monitor = .none }
            reset()
        } else {
            known.isDiscovering = false
            orphan.end()
            // Else we owe it that it comes on again.
            if !isSwitchingPower { reset() }
            updateListening("the adapter was switched off", at: now, into: &actions)
        }
    }

    private mutating func discoveryEnded(at now: Instant, into actions: inout [DBusAction]) {
        unstick()
        guard case .started = phase else { return }
        let listened = isListening ? now - listeningSince : .zero
        updateListening("bluetoothd stopped discovering", at: now, into: &actions)
        if listened >= Self.steadyAfter { backOff.reset() }
        retry(at: now)
    }

    private mutating func proceed(at now: Instant, into actions: inout [DBusAction]) {
        if isThere, isPowered, phase == .off { begin(at: now, into: &actions) }
        // bluetoothd offers monitors a moment after the adapter. One more round, and their reports are no longer thinned.
        if case .started = phase, offersMonitors, monitor == .none {
            stopDiscovery("an advertisement monitor is registered first", at: now, into: &actions)
        }
        updateListening("bluetoothd discovers for us", at: now, into: &actions)
    }

    /// Goes the way to hearing from its start.
    mutating func begin(at now: Instant, into actions: inout [DBusAction]) {
        guard isThere, isPowered else { return reset() }
        guard offersMonitors, monitor == .none else { return listen(at: now, into: &actions) }
        phase = .registering
        request(.registerMonitor, into: &actions)
    }

    /// Goes on once the monitor is there, or there is none to be had.
    private mutating func listen(at now: Instant, into actions: inout [DBusAction]) {
        if wantsDiscovery {
            phase = .settingFilter
            request(.setFilter, into: &actions)
        } else if monitor == .registered || monitor == .active {
            phase = .monitoring
            isDenied = false
        } else if offersMonitors {
            monitor = .none
            retry(at: now)
        } else {
            phase = .unable
        }
    }

    private mutating func monitorAnswered(
        _ failure: BusFailure?, at now: Instant, into actions: inout [DBusAction]
    ) {
        switch failure?.kind {
        case nil:
            guard monitor != .active else { return listen(at: now, into: &actions) }
            monitor = .registered
            phase = .awaitingActivation(until: now + Self.activationMax)
        case .alreadyExists:
            // The answer to an earlier attempt got lost.
            if monitor != .active { monitor = .registered }
            listen(at: now, into: &actions)
        default:
            monitor = .refused
            if !wantsDiscovery, failure?.kind == .denied { isDenied = true }
            listen(at: now, into: &actions)
        }
    }

    private mutating func filterAnswered(_ failure: BusFailure?, at now: Instant, into actions: inout [DBusAction]) {
        switch failure?.kind {
        case nil, .other, .inProgress, .alreadyExists:
            // Without the filter discovery hears less, but it hears.
            isFilterSet = failure == nil
            phase = .starting
            request(.startDiscovery, into: &actions)
        case let kind:
            isDenied = kind == .denied
            retry(at: now)
        }
    }

    private mutating func startAnswered(_ failure: BusFailure?, at now: Instant, into actions: inout [DBusAction]) {
        isDenied = failure?.kind == .denied
        switch failure?.kind {
        case nil:
            orphan.end()
            cadence.reset()
            // Where it is stuck, that it discovers says nothing: stopping is tried again.
            phase = .started(confirmedBy: now + (isStuck ? backOff.next() : Self.confirmationMax))
        case .inProgress, .timeout:
            // Either we have one of which we know nothing, or the controller hangs: stopping helps with the former, and
            // does no harm with the latter.
            if failure?.kind == .timeout { orphan.end() }
            phase = .stopping(isAtOnce: false)
            request(.stopDiscovery, into: &actions)
        default: retry(at: now)
        }
    }

    private mutating func stopAnswered(_ failure: BusFailure?, at now: Instant, into actions: inout [DBusAction]) {
        switch failure?.kind {
        case nil: unstick()
        // What the kernel answers to bluetoothd, whatever it is, comes as InProgress (bluez src/adapter.c,
        // discovery_complete); Failed only says that we were not discovering, which is as good as stopped.
        case .inProgress, .timeout: isStuck = true
        case .denied: isDenied = true
        case .other where phase == .stopping(isAtOnce: false): nothingToStop(at: now, into: &actions)
        default: break
        }
        if phase == .stopping(isAtOnce: true) { begin(at: now, into: &actions) } else { retry(at: now) }
    }

    // Starting was refused, and there was nothing to stop.
    private mutating func nothingToStop(at now: Instant, into actions: inout [DBusAction]) {
        // Where power can't be switched, it ends by itself: nothing is asked of the watchdog that it can't do. Else it is
        // asked each time: it may have had something in its way.
        guard orphan.isPossible(at: now), mayPowerCycle, !isPowerDenied else { return }
        let reason = "the kernel still discovers for the bluetoothd that is gone, and refuses this one's discovery"
        actions.append(.change(.needs(adapter: index, step: .powerCycle, reason: reason)))
    }

    private mutating func powerAnswered(
        _ isOn: Bool, _ failure: BusFailure?, at now: Instant, into actions: inout [DBusAction]
    ) {
        if failure?.kind == .denied { isPowerDenied = true }
        switch (isOn, failure) {
        case (false, .some(let failure)) where isPowered:
            if failure.kind != .denied { isStuck = true }
            begin(at: now, into: &actions)
        case (false, _):
            phase = .switchingOn
            request(.setPowered(true), into: &actions)
        case (true, nil) where isPowered: begin(at: now, into: &actions)
        case (true, nil): phase = .retryingPower(at: now + Self.confirmationMax)
        case (true, .some): phase = .retryingPower(at: now + backOff.next())
        }
    }

    private mutating func retry(at now: Instant) {
        pending.drop()
        let wait = backOff.next()
        phase = .retrying(at: now + (orphan.isPossible(at: now) ? min(wait, .seconds(1)) : wait))
    }

    private mutating func reset() {
        pending.drop()
        phase = .off
        isFilterSet = false
        unstick()
    }

    private mutating func unstick() {
        guard isStuck else { return }
        isStuck = false
        // What failed before says nothing of what comes.
        backOff.reset()
    }

    mutating func request(_ request: DBusRequest.AdapterRequest, into actions: inout [DBusAction]) {
        actions.append(.call(.adapter(index, request, token: pending.next())))
    }

    mutating func updateListening(_ reason: String, at now: Instant, into actions: inout [DBusAction]) {
        let listens: Bool
        switch phase {
        case .started: listens = isThere && isPowered && isDiscovering && !isStuck
        case .monitoring: listens = isThere && isPowered && monitor == .active && !isStuck
        default: listens = false
        }
        guard listens != isListening else { return }
        isListening = listens
        if listens {
            listeningSince = now
            actions.append(.change(.listening(adapter: index, reason: reason)))
        } else {
            if now - listeningSince >= Self.steadyAfter { backOff.reset() }
            cadence.reset()
            actions.append(.change(.stopped(adapter: index, since: now, reason: reason)))
        }
    }
}
