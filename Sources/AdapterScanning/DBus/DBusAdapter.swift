import BaseTypes

/// An adapter of bluetoothd, from its appearance to its removal, and the requests that keep its discovery running.
///
/// A value without side effects: events are passed in, actions are returned. bluetoothd never resumes a discovery by
/// itself. So this value starts one whenever the adapter is present, powered and not discovering for this program. At
/// most one request is pending.
struct DBusAdapter {
    /// The step that the adapter has reached on the way from being off to listening.
    enum Phase: Sendable, Hashable {
        /// The adapter is missing, is off, or is not selected.
        case off
        /// A request failed; it is repeated at this time.
        case retrying(at: Instant)
        /// The advertisement monitor is being registered.
        case registering
        /// The monitor is registered; if bluetoothd does not activate it by this time, discovery starts without it.
        case awaitingActivation(until: Instant)
        /// The adapter is passive, and this bluetoothd has no advertisement monitors.
        case unable
        /// The discovery filter is being set.
        case settingFilter
        /// Discovery is being started.
        case starting
        /// StartDiscovery succeeded; the property `Discovering` has to be true by this time.
        case started(confirmedBy: Instant)
        /// The adapter is passive and scans only because of the monitor.
        case monitoring
        /// Discovery is being stopped and then started again: at once, or with a delay if starting it had failed.
        case stopping(isAtOnce: Bool)
        /// The power is being switched off.
        case switchingOff
        /// The power is being switched on.
        case switchingOn
        /// The power did not come on; switching it on is repeated at this time.
        case retryingPower(at: Instant)
    }

    /// The state of the advertisement monitor.
    enum Monitor: Sendable, Hashable {
        case none
        case registered
        /// bluetoothd has passed the monitor to the kernel: the controller no longer filters reports.
        case active
        /// bluetoothd refused or released the monitor.
        case refused
    }

    // Register, GetManagedObjects and Activate took 20 ms in a slow virtual machine.
    static let activationMax: Duration = .seconds(3)
    // `Discovering` changes before StartDiscovery is answered, or right after it.
    static let confirmationMax: Duration = .seconds(5)
    // If an adapter listened this long, a later failure is a new one and the waits start again with the shortest.
    private static let steadyAfter: Duration = .seconds(10)

    /// The kernel's number of the adapter.
    let index: Int
    /// Whether bluetoothd has the adapter, and the handler was notified that it appeared.
    private(set) var isThere = false
    // The properties that bluetoothd reported.
    private var known = DBusAdapterProperties()
    /// Whether bluetoothd last reported that the controller is powered; `false` before the first report.
    var isPowered: Bool { known.isPowered ?? false }
    /// Whether the adapter is discovering, for any program.
    var isDiscovering: Bool { known.isDiscovering ?? false }
    /// Whether rfkill blocks the adapter, as far as bluetoothd reports it. A powered adapter is not blocked.
    var isBlocked: Bool { !isPowered && known.isBlocked ?? false }
    /// Whether monitors can be registered.
    private(set) var offersMonitors = false
    /// Whether a policy refused the last attempt.
    private(set) var isDenied = false
    /// Whether switching the power was refused.
    private(set) var isPowerDenied = false
    /// Whether this program's discovery filter is set, so that bluetoothd signals each report with all of its data.
    private(set) var isFilterSet = false
    /// Whether the adapter is listening.
    private(set) var isListening = false
    /// Whether the adapter did not obey a request, and nothing has shown since then that it obeys again.
    ///
    /// If a discovery could not be stopped, bluetoothd alone assumes that it continues: it answers the next start at
    /// once, without a request to the controller (bluez src/adapter.c, update_discovery_filter). The kernel, too, stays
    /// in its state of stopping the discovery. Only switching the power, the end of a discovery, or a report clears
    /// this flag.
    private(set) var isStuck = false
    private(set) var phase = Phase.off
    private(set) var monitor = Monitor.none
    /// The deadline for a bluetoothd that has just started to find the adapter.
    private(set) var missingUntil: Instant?
    private var cadence = DBusCadence()
    private var wantsDiscovery: Bool
    private let mayPowerCycle: Bool
    // A discovery that an earlier bluetoothd may have left running.
    private var orphan = OrphanedDiscovery()
    private var pending: PendingRequest
    /// The time since which the adapter is listening. Only valid if it is.
    private(set) var listeningSince = Instant.earliest
    private var backOff = BackOff.bluetoothd

    /// Creates an adapter without known properties.
    ///
    /// Each adapter must be created with a different `generation`, so that answers to requests of an earlier adapter
    /// with the same number can be recognized.
    init(index: Int, isPassive: Bool, mayPowerCycle: Bool, generation: UInt64) {
        self.index = index
        self.mayPowerCycle = mayPowerCycle
        pending = PendingRequest(generation: generation)
        wantsDiscovery = !isPassive
    }

    /// Whether the power was switched off by the gateway and is not on again.
    var isSwitchingPower: Bool {
        switch phase {
        case .switchingOff, .switchingOn, .retryingPower: true
        default: false
        }
    }

    /// Whether the times between reports show that the controller filters duplicates.
    var isThinned: Bool { isListening && monitor != .active && cadence.isThinned }

    /// The earliest time at which ``advance(to:into:)`` has work to do, or `nil`.
    var nextDeadline: Instant? {
        if let missingUntil { return missingUntil }
        return switch phase {
        case .retrying(let time), .awaitingActivation(let time), .retryingPower(let time): time
        case .started(let time): isDiscovering && !isStuck ? nil : time
        default: nil
        }
    }

    /// The requests that undo the changes of the gateway. They must be sent before the connection is closed.
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

    private var isStarted: Bool { if case .started = phase { true } else { false } }
}

// MARK: - Events

extension DBusAdapter {
    /// bluetoothd reported properties of the adapter: all of them if `isWhole`, otherwise the changed ones.
    mutating func updated(
        _ properties: DBusAdapterProperties, offersMonitors offers: Bool?, isWhole: Bool, at now: Instant,
        into actions: inout [DBusAction]
    ) {
        if isThere, isWhole, let address = properties.deviceAddress, let before = known.deviceAddress, address != before
        {
            // The adapters swapped numbers while bluetoothd was not running: the name now belongs to another controller
            // (rule L7).
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
        // Properties that are missing in a complete report are unset.
        known = isWhole ? properties : known.changed(by: properties)
        if let offers {
            offersMonitors = offers
            if !offers { monitor = .none }
        }
        if wasPowered != isPowered { powerChanged(at: now, into: &actions) }
        if isPowered, wasDiscovering, !isDiscovering { discoveryEnded(at: now, into: &actions) }
        proceed(at: now, into: &actions)
    }

    /// The adapter now offers advertisement monitors, or no longer does.
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

    /// bluetoothd or the bus is not available any more. Whether the adapter is still present is known when they return.
    /// `bluetoothdEnded` is `true` if it is certain that bluetoothd has stopped. The kernel may then continue its
    /// discovery for some time (``OrphanedDiscovery``).
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

    /// bluetoothd has passed the monitor to the kernel.
    mutating func monitorActivated(at now: Instant, into actions: inout [DBusAction]) {
        guard isThere else { return }
        monitor = .active
        cadence.reset()
        if case .awaitingActivation = phase { listen(at: now, into: &actions) }
        updateListening("an advertisement monitor is active", at: now, into: &actions)
    }

    /// bluetoothd has released the monitor.
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

    /// A report of the adapter was received, so it receives regardless of earlier failures.
    mutating func received(at now: Instant, into actions: inout [DBusAction]) {
        unstick()
        updateListening("a report came", at: now, into: &actions)
    }

    /// Waits until `time` for a bluetoothd that has just started to find the adapter.
    mutating func expectReturn(by time: Instant) { missingUntil = time }

    /// Adds the time between two reports of one device.
    ///
    /// - Returns: whether ``isThinned`` may have changed.
    mutating func measure(_ gap: Duration) -> Bool {
        let wasThinned = cadence.isThinned
        cadence.count(gap)
        return cadence.isThinned != wasThinned
    }

    /// A request was answered.
    mutating func answered(
        _ request: DBusRequest.AdapterRequest, token: UInt64, failure: BusFailure?, at now: Instant,
        into actions: inout [DBusAction]
    ) {
        // Answers to requests from before the adapter was removed or switched off are ignored.
        guard pending.isAnswered(by: token) else { return }
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

    /// Advances the time to `now`.
    mutating func advance(to now: Instant, into actions: inout [DBusAction]) {
        guard let time = nextDeadline, time <= now else { return }
        switch phase {
        case .retrying: begin(at: now, into: &actions)
        // Discovery alone also receives, although less. The monitor can still be activated later.
        case .awaitingActivation: listen(at: now, into: &actions)
        case .retryingPower:
            phase = .switchingOn
            request(.setPowered(true), into: &actions)
        case .started:
            phase = .stopping(isAtOnce: isStuck)
            request(.stopDiscovery, into: &actions)
        default: break
        }
        updateListening("bluetoothd did not start discovery", at: now, into: &actions)
    }
}

// MARK: - Starting to scan

extension DBusAdapter {
    private mutating func powerChanged(at now: Instant, into actions: inout [DBusAction]) {
        if isPowered {
            // A controller that was off may accept requests that it refused before.
            if monitor == .refused { monitor = .none }
            reset()
        } else {
            known.isDiscovering = false
            orphan.end()
            // If this program switched it off, the phase is kept, because the program must switch it on again.
            if !isSwitchingPower { reset() }
            updateListening("the adapter was switched off", at: now, into: &actions)
        }
    }

    private mutating func discoveryEnded(at now: Instant, into actions: inout [DBusAction]) {
        unstick()
        guard case .started = phase else { return }
        let listened = isListening ? now - listeningSince : .zero
        updateListening("bluetoothd stopped discovery", at: now, into: &actions)
        if listened >= Self.steadyAfter { backOff.reset() }
        retry(at: now)
    }

    private mutating func proceed(at now: Instant, into actions: inout [DBusAction]) {
        if isThere, isPowered, phase == .off { begin(at: now, into: &actions) }
        // bluetoothd offers monitors shortly after the adapter. If discovery is restarted with one, all reports are
        // delivered.
        if case .started = phase, offersMonitors, monitor == .none {
            stopDiscovery("an advertisement monitor is registered first", at: now, into: &actions)
        }
        updateListening("bluetoothd runs discovery", at: now, into: &actions)
    }

    /// Starts from the first step: registers the monitor or starts discovery.
    private mutating func begin(at now: Instant, into actions: inout [DBusAction]) {
        guard isThere, isPowered else { return reset() }
        guard offersMonitors, monitor == .none else { return listen(at: now, into: &actions) }
        phase = .registering
        request(.registerMonitor, into: &actions)
    }

    /// Continues when the monitor is registered, or cannot be.
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
            // The answer to an earlier attempt was lost.
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
            // Discovery also works without the filter, with fewer reports.
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
            // If the adapter is stuck, `Discovering` is not reliable: stopping must be tried again.
            phase = .started(confirmedBy: now + (isStuck ? backOff.next() : Self.confirmationMax))
        case .inProgress, .timeout:
            // Either bluetoothd has a discovery of this program that the program does not know, or the controller
            // hangs. Stopping helps in the first case and does no harm in the second.
            if failure?.kind == .timeout { orphan.end() }
            phase = .stopping(isAtOnce: false)
            request(.stopDiscovery, into: &actions)
        default: retry(at: now)
        }
    }

    private mutating func stopAnswered(_ failure: BusFailure?, at now: Instant, into actions: inout [DBusAction]) {
        switch failure?.kind {
        case nil: unstick()
        // bluetoothd reports each error of the kernel as InProgress (bluez src/adapter.c, discovery_complete). Failed
        // only means that there was no discovery of this program, which is the same as stopped.
        case .inProgress, .timeout: isStuck = true
        case .denied: isDenied = true
        case .other where phase == .stopping(isAtOnce: false): nothingToStop(at: now, into: &actions)
        default: break
        }
        if phase == .stopping(isAtOnce: true) { begin(at: now, into: &actions) } else { retry(at: now) }
    }

    // Starting was refused, and there was no discovery to stop.
    private mutating func nothingToStop(at now: Instant, into actions: inout [DBusAction]) {
        // If the power cannot be switched, the old discovery ends by itself, and the watchdog is not asked for a step
        // that it cannot take. Otherwise it is asked each time, because it may have declined the step before.
        guard orphan.isPossible(at: now), mayPowerCycle, !isPowerDenied else { return }
        let reason = "the kernel still runs the discovery of the previous bluetoothd, and refuses a new one"
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
        // Earlier failures are not relevant any more.
        backOff.reset()
    }

    private mutating func request(_ request: DBusRequest.AdapterRequest, into actions: inout [DBusAction]) {
        actions.append(.call(.adapter(index, request, token: pending.next())))
    }

    private mutating func updateListening(_ reason: String, at now: Instant, into actions: inout [DBusAction]) {
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

// MARK: - The steps of the watchdog

extension DBusAdapter {
    /// Starts a step of the watchdog, or returns the reason why it is skipped.
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
                reason: "discovery reports every advertiser already, and bluetoothd has no advertisement monitors")
        }
        guard monitor != .active else {
            return .skipped(reason: "discovery reports every advertiser already, and the monitor is active")
        }
        monitor = .none
        switch phase {
        case .started: stopDiscovery("the scan is widened", at: now, into: &actions)
        case .retrying: begin(at: now, into: &actions)
        // Every other phase registers the monitor before it listens.
        default: break
        }
        return .taken
    }

    private mutating func restart(at now: Instant, into actions: inout [DBusAction]) -> WatchdogStep.Outcome {
        // Stopping is already being repeated. A skipped step lets the watchdog take the next one, which helps.
        guard !isStuck else {
            return .skipped(reason: "discovery can't be stopped; the attempts continue")
        }
        switch phase {
        case .started: stopDiscovery("discovery is restarted", at: now, into: &actions)
        case .retrying, .off: begin(at: now, into: &actions)
        case .monitoring, .unable:
            return .skipped(reason: "this adapter runs no discovery, because the monitor scans")
        default: return .skipped(reason: "discovery is being started already")
        }
        return .taken
    }

    private mutating func powerCycle(at now: Instant, into actions: inout [DBusAction]) -> WatchdogStep.Outcome {
        guard mayPowerCycle else { return .skipped(reason: "switching the adapter off and on is not allowed") }
        guard !isPowerDenied else {
            return .skipped(
                reason: "the policy of the system bus does not allow this user to switch the adapter off and on")
        }
        phase = .switchingOff
        updateListening("the adapter is switched off and on", at: now, into: &actions)
        request(.setPowered(false), into: &actions)
        return .taken
    }

    private mutating func stopDiscovery(_ reason: String, at now: Instant, into actions: inout [DBusAction]) {
        phase = .stopping(isAtOnce: true)
        updateListening(reason, at: now, into: &actions)
        request(.stopDiscovery, into: &actions)
    }
}
