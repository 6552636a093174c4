import BaseTypes

/// The purpose of a management socket.
enum ManagementPurpose: Sendable {
    /// To receive advertisements through a monitor.
    case monitoring
    /// To observe the adapters and switch them on, while another backend receives.
    case powering
}

/// One adapter as the management socket reports it: its state, the next command, and whether it is listening.
///
/// A value without side effects: messages of the kernel are passed in with their times, actions are returned. Only one
/// command is pending at a time. A failed one is retried after at most ``CommandTurn/retryMax``.
struct ManagedAdapter: Sendable {
    private struct Questions: OptionSet, Sendable {
        let rawValue: UInt8
        static let information = Questions(rawValue: 1)
        static let features = Questions(rawValue: 2)
        static let configuration = Questions(rawValue: 4)
    }

    /// The kernel's number of the adapter.
    let index: UInt16
    private let options: ManagementOptions
    private let purpose: ManagementPurpose

    // Reported by the kernel.
    private var questions: Questions = [.information, .features, .configuration]
    private var information: ControllerInformation?
    private var settings: ControllerSettings = []
    private var isOffloaded = false
    private var isSuspended = false
    /// The address of the adapter that a crashed process changed, until the kernel reports the present one.
    private var inheritedAddress: UInt64?

    private var turn = CommandTurn()
    private var power: PowerPlan
    private var window: ScanWindow
    private var monitors: KernelMonitors
    private var proof: ScanProof

    /// Whether the adapter is listening.
    private(set) var isListening = false
    /// The time of the last report, or the time at which the adapter started to listen.
    private var lastReceived: Instant?
    /// The time of the last ``proceed(at:into:)``.
    private var present = Instant.earliest

    /// Creates an adapter about which the kernel has reported nothing yet.
    ///
    /// - Parameters:
    ///   - index: the kernel's number.
    ///   - options: the wanted adapters and scan.
    ///   - purpose: whether monitors are added.
    ///   - isDiscovering: whether a discovery is running; `nil` if that is unknown.
    ///   - block: the state of rfkill.
    ///   - inherited: the changes of a process that crashed.
    init(
        index: UInt16, options: ManagementOptions, purpose: ManagementPurpose, isDiscovering: Bool?, block: RFKillBlock,
        inherited: AdapterChanges?
    ) {
        self.index = index
        self.options = options
        self.purpose = purpose
        inheritedAddress = inherited?.address
        power = PowerPlan(block: block)
        window = ScanWindow(options.timing, previous: inherited?.previous ?? ScanConfiguration())
        monitors = KernelMonitors(leftovers: inherited?.handles ?? [])
        proof = ScanProof(isDiscovering: isDiscovering)
    }

    /// The adapter's number as the other backends use it.
    var number: Int { Int(index) }

    /// The handle of the monitor for iBeacons, or `nil`.
    var monitor: UInt16? { monitors.beacons }

    /// The rfkill block of the adapter.
    var block: RFKillBlock { power.block }

    /// Whether the adapter can listen and is selected, as far as it is known.
    var mayBeUsable: Bool { information == nil || isUsable }

    /// Whether the adapter is selected, powered, has Low Energy enabled, and the machine is not suspended.
    var isReady: Bool { isWanted && canScan }

    /// Whether reports between scan windows are missed.
    var isThinned: Bool { isListening && window.isThin }

    /// The next time at which ``proceed(at:into:)`` has work to do; `nil`: none.
    ///
    /// Work that was due at the last call but could not be done waits for a message, so it has no time.
    var nextDeadline: Instant? {
        var next: Instant?
        func consider(_ time: Instant?) {
            if let time, time > present { next = min(next ?? time, time) }
        }
        consider(proof.deadline)
        if turn.isFree {
            consider(power.deadline)
            consider(monitors.deadline)
        } else {
            consider(turn.deadline)
        }
        return next
    }

    /// The changes that must be undone after a crash; `nil` if there are none.
    var changes: AdapterChanges? {
        guard let information else { return nil }
        let handles = monitors.handles
        guard !handles.isEmpty || !window.previous.isEmpty else { return nil }
        return AdapterChanges(index: index, address: information.address, handles: handles, previous: window.previous)
    }

    /// The commands that undo the changes, in order.
    var undoing: [ManagementCommand] {
        var commands: [ManagementCommand] = []
        let restoring = window.restoring
        // Before the monitors: the scan for the monitors of other programs then starts with the restored window.
        if !restoring.isEmpty { commands.append(.setConfiguration(restoring)) }
        return commands + (changes?.handles ?? []).map { .removeMonitor($0) }
    }

    private var isUsable: Bool { isWanted && information?.supported.contains(.lowEnergy) ?? false }

    // The address decides only after the kernel has reported it (rule L7).
    private var isWanted: Bool {
        guard let information else { return false }
        return options.adapters.includes(number, address: information.deviceAddress)
    }

    private var canScan: Bool { settings.isSuperset(of: [.powered, .lowEnergy]) && !isSuspended }
}

// MARK: - Messages

extension ManagedAdapter {
    /// Requests the state again, because messages of the kernel were lost.
    mutating func resynchronize() {
        questions.insert([.information, .features])
        // The kernel does not report again whether a discovery is running.
        proof.set(isDiscovering: nil)
        isSuspended = false
    }

    /// Records that the kernel dropped `count` messages, of any adapter. `time` is the time of the last message that
    /// was received before the loss.
    mutating func lost(_ count: Int, at time: Instant, into actions: inout [ManagementAction]) {
        guard isListening, let lastReceived else { return }
        actions.append(.report(.lost(adapter: number, count: count, since: min(lastReceived, time))))
    }

    /// Processes the present settings. `reason` is reported if the power was switched off.
    mutating func update(
        _ settings: ControllerSettings, at now: Instant, _ reason: String, into actions: inout [ManagementAction]
    ) {
        let was = self.settings
        self.settings = settings
        if settings.contains(.powered) {
            power.switchOn(at: nil)
            if !was.contains(.powered), monitor != nil { proof.expect(at: now) }
        } else if was.contains(.powered) {
            // A discovery ends with the power.
            proof.set(isDiscovering: false)
            power.switchOn(at: now + options.powerOffGrace)
        }
        updateListening(at: now, settings.contains(.powered) ? "its settings changed" : reason, into: &actions)
    }

    /// Processes a change of the rfkill block.
    mutating func update(_ block: RFKillBlock, at now: Instant) {
        guard power.set(block), block == .none, information != nil, !settings.contains(.powered) else { return }
        power.switchOn(at: now + options.powerGrace)
        turn.retryNow()
    }

    /// Processes the report that a discovery of any program started or ended.
    mutating func update(isDiscovering: Bool, at now: Instant, into actions: inout [ManagementAction]) {
        proof.set(isDiscovering: isDiscovering)
        guard monitor != nil else { return }
        if !isDiscovering {
            // The scan after a discovery starts with the monitor in place.
            prove(at: now, into: &actions)
        } else if proof.isDoubtful(at: now) {
            proof.expect(at: now)
            updateListening(at: now, "another program started discovery at the same moment", into: &actions)
        }
    }

    /// Processes the report that the machine is about to suspend, or has resumed.
    mutating func update(isSuspended: Bool, at now: Instant, into actions: inout [ManagementAction]) {
        self.isSuspended = isSuspended
        updateListening(at: now, "the machine is being suspended", into: &actions)
    }

    /// Processes the report that a monitor was removed, or all of them if `handle` is 0.
    mutating func removed(_ handle: UInt16, _ reason: String, at now: Instant, into actions: inout [ManagementAction]) {
        let before = changes
        // A bluetoothd that starts removes all monitors and may set the scan window of the adapter.
        if handle == 0 { questions.insert(.configuration) }
        if monitors.removed(handle, at: now) {
            proof.lose()
            updateListening(at: now, reason, into: &actions)
        }
        if changes != before { actions.append(.record) }
    }

    /// Processes an advertising report.
    ///
    /// Reports that arrive before the adapter is listening come from the scan of another program. They are ignored,
    /// because they would count as evidence that all reports arrive.
    ///
    /// - Returns: whether the report counts.
    mutating func received(isMonitors: Bool, at time: Instant, into actions: inout [ManagementAction]) -> Bool {
        if isMonitors, monitor != nil {
            proof.receivedThroughMonitor()
            if !isListening {
                isSuspended = false
                prove(at: time, into: &actions)
            }
        }
        guard isListening else { return false }
        lastReceived = time
        return true
    }

    /// Processes the removal of the adapter.
    mutating func vanish(at now: Instant, into actions: inout [ManagementAction]) {
        settings = []
        updateListening(at: now, "it was unplugged", into: &actions)
        if isWanted { actions.append(.report(.disappeared(adapter: number))) }
        if changes != nil { actions.append(.record) }
    }

    private mutating func prove(at now: Instant, into actions: inout [ManagementAction]) {
        proof.prove()
        updateListening(at: now, "", into: &actions)
    }

    private mutating func updateListening(at now: Instant, _ reason: String, into actions: inout [ManagementAction]) {
        let listens = monitor != nil && proof.isProven && canScan
        guard listens != isListening else { return }
        isListening = listens
        if listens {
            lastReceived = now
            let reason = "it scans for advertisement monitor \(monitor ?? 0)"
            actions.append(.report(.listening(adapter: number, reason: reason)))
        } else {
            actions.append(.report(.stopped(adapter: number, since: now, reason: reason)))
        }
    }
}

// MARK: - Commands

extension ManagedAdapter {
    /// Sends the next command, if none is pending.
    mutating func proceed(at now: Instant, into actions: inout [ManagementAction]) {
        present = now
        proof.asked(at: now)
        if let deadline = proof.deadline, deadline <= now { prove(at: now, into: &actions) }
        turn.advance(to: now)
        guard turn.isFree, let command = next(at: now) else { return }
        turn.sent(command, at: now)
        actions.append(.send(command, index: index))
    }

    private mutating func next(at now: Instant) -> ManagementCommand? {
        if questions.contains(.information) { return .readInformation }
        guard isUsable else { return nil }
        guard purpose == .monitoring else { return nextForPower(at: now) }
        if questions.contains(.features) { return .readMonitorFeatures }
        if let handle = monitors.leftover { return .removeMonitor(handle) }
        if options.widensWindow {
            if questions.contains(.configuration) { return .readConfiguration }
            if let change = window.change { return .setConfiguration(change) }
        }
        if let command = nextForPower(at: now) { return command }
        return canScan ? monitors.next(at: now) : nil
    }

    private mutating func nextForPower(at now: Instant) -> ManagementCommand? {
        power.next(settings, maySwitchOn: options.powersAdapters && !isSuspended, at: now)
    }

    /// Processes the kernel's answer to a command.
    mutating func reply(
        to opcode: UInt16, _ status: ManagementStatus, _ result: ManagementEvent.Result, at now: Instant,
        into actions: inout [ManagementAction]
    ) {
        guard let command = turn.answered(opcode) else {
            // The answer to a command that had counted as failed. A monitor that was added nevertheless is surplus.
            switch result {
            case .handle(let handle): if monitors.addedLate(handle) { actions.append(.record) }
            case .settings(let settings): update(settings, at: now, "it was switched off", into: &actions)
            default: break
            }
            return
        }
        if status == .success {
            turn.resetWaits()
            succeeded(command, result, at: now, into: &actions)
        } else {
            refused(command, status, at: now, into: &actions)
        }
    }

    private mutating func succeeded(
        _ command: ManagementCommand, _ result: ManagementEvent.Result, at now: Instant,
        into actions: inout [ManagementAction]
    ) {
        switch (command, result) {
        case (.readInformation, .information(let information)): read(information, at: now, into: &actions)
        case (.readMonitorFeatures, .features(let features)): read(features, at: now, into: &actions)
        case (.readConfiguration, .configuration(let configuration)):
            questions.remove(.configuration)
            if window.read(configuration) { actions.append(.record) }
        case (.setConfiguration(let change), _): window.set(change)
        case (.setPowered(let isOn), .settings(let settings)):
            power.switched(isOn: isOn)
            update(settings, at: now, "the watchdog switches it off and on", into: &actions)
        case (.setLowEnergy, .settings(let settings)):
            update(settings, at: now, "its settings changed", into: &actions)
        case (.addMonitor(let kind), .handle(let handle)): added(kind, handle, at: now, into: &actions)
        case (.removeMonitor(let handle), _):
            removed(handle, "the watchdog restarts the scan", at: now, into: &actions)
        default: turn.failed(at: now)
        }
    }

    private mutating func read(
        _ information: ControllerInformation, at now: Instant, into actions: inout [ManagementAction]
    ) {
        questions.remove(.information)
        let isFirst = self.information == nil
        let wasWanted = isWanted
        var isAnother = false
        if let known = self.information?.address ?? inheritedAddress, known != information.address {
            forgetChanges()
            isAnother = !isFirst
        }
        inheritedAddress = nil
        self.information = information
        // Another controller has the number now (rule L7).
        if isAnother, wasWanted { actions.append(.report(.disappeared(adapter: number))) }
        if isFirst || isAnother, isWanted {
            actions.append(
                .report(
                    .appeared(
                        adapter: number, controller: information.description, address: information.deviceAddress)))
        }
        update(information.current, at: now, "it is off", into: &actions)
        if isFirst, !settings.contains(.powered) { power.switchOn(at: now + options.powerGrace) }
    }

    private mutating func read(_ features: MonitorFeatures, at now: Instant, into actions: inout [ManagementAction]) {
        questions.remove(.features)
        isOffloaded = features.isOffloaded
        let before = changes
        if let missing = monitors.compare(with: features.handles) {
            removed(missing, "its monitor was removed", at: now, into: &actions)
        }
        if changes != before { actions.append(.record) }
    }

    private mutating func added(
        _ kind: MonitorKind, _ handle: UInt16, at now: Instant, into actions: inout [ManagementAction]
    ) {
        actions.append(.record)
        monitors.added(kind, handle)
        guard kind == .beacons else { return }
        // The power cycle was requested while the controller did not respond. Now it responds and starts a scan. If
        // that is silent too, the watchdog requests the cycle again.
        power.cancelSwitchingOff()
        proof.monitorAdded(at: now)
        updateListening(at: now, "", into: &actions)
    }

    private mutating func refused(
        _ command: ManagementCommand, _ status: ManagementStatus, at now: Instant,
        into actions: inout [ManagementAction]
    ) {
        let isRepeated = turn.failures >= 3
        switch (command, status) {
        case (_, .invalidIndex):
            // The adapter was removed. The kernel reports that too, but the report may have been lost.
            questions.insert(.information)
            turn.failed(at: now)
        case (.removeMonitor(let handle), .invalidParameters):
            // It was removed before.
            removed(handle, "its monitor was removed", at: now, into: &actions)
        // A kernel before 5.8 has no such setting; its monitors scan half of the time.
        case (.readConfiguration, _): questions.remove(.configuration)
        case (.setConfiguration, _): window.refused()
        case (.addMonitor(.flags), _): monitors.cancelWidening()
        case (.readMonitorFeatures, _) where isRepeated:
            // The gateway works without this answer.
            questions.remove(.features)
            turn.resetWaits()
        case (.removeMonitor(let handle), _) where isRepeated && monitors.isLeftover(handle):
            // The surplus monitor costs scan time; further attempts would delay listening.
            monitors.giveUp(handle)
            turn.resetWaits()
        default:
            // The known state of the adapter may be wrong: a monitor that cannot be added may exist already.
            if isRepeated { questions.insert([.information, .features]) }
            if case .setPowered(false) = command, isRepeated { power.cancelCycle() }
            turn.failed(at: now)
        }
    }

    private mutating func forgetChanges() {
        monitors.forget()
        window.forget()
        questions.insert([.features, .configuration])
    }
}

// MARK: - The steps of the watchdog

extension ManagedAdapter {
    /// Starts a step of the watchdog, or returns the reason why it is skipped.
    mutating func take(_ step: WatchdogStep, at now: Instant) -> WatchdogStep.Outcome {
        guard information != nil else { return .skipped(reason: "the kernel has not reported it yet") }
        switch step {
        case .widen:
            guard isOffloaded else {
                return .skipped(
                    reason: "the controller does not filter by patterns: it delivers all advertisements already")
            }
            guard monitor != nil else { return .skipped(reason: "it has no monitor yet") }
            monitors.widen(at: now)
        case .restartScan:
            guard monitor != nil else { return .skipped(reason: "it has no monitor yet") }
            monitors.restart()
        case .powerCycle:
            guard block == .none else { return .skipped(reason: "rfkill blocks it") }
            guard settings.contains(.powered) else { return .skipped(reason: "it is off") }
            power.startCycle()
        case .reset:
            return .skipped(
                reason:
                    "the management socket can reset a controller only by switching it off and on; unplug it and plug it in again, or restart the "
                    + "machine"
            )
        }
        return .taken
    }
}
