import BaseTypes

/// The state of one management socket: all adapters, and the steps of each until it is listening.
///
/// A value without side effects: messages, rfkill blocks and the time are passed in. ``takeActions()`` returns commands
/// to send and changes to report, in order. It has at most ``adaptersMax`` adapters; further ones are counted in
/// ``adaptersRefused``.
struct ManagementSession: Sendable {
    static let adaptersMax = 64

    let options: ManagementOptions
    let purpose: ManagementPurpose
    private(set) var adapters: [ManagedAdapter] = []
    /// The number of adapters that exceeded the bound.
    private(set) var adaptersRefused = 0
    /// The number of reports of adapters that were not listening (yet). They were not delivered.
    private(set) var reportsEarly = 0
    private var actions: [ManagementAction] = []
    private var inherited: [AdapterChanges]
    private var rfkill = RFKillState()
    private var obstacles: Set<ScanObstacle>?
    /// When the list of adapters is requested again, unless it was received.
    private var listAgainAt: Instant?
    /// Whether the list of adapters was received.
    private(set) var hasList = false

    /// Creates a session that has not started.
    ///
    /// - Parameters:
    ///   - options: the adapters to use, and how to scan.
    ///   - purpose: whether the session adds monitors, or only observes.
    ///   - inherited: the remaining changes of an earlier process that has ended.
    init(
        options: ManagementOptions, purpose: ManagementPurpose = .monitoring, inherited: [AdapterChanges] = []
    ) {
        self.options = options
        self.purpose = purpose
        self.inherited = inherited
    }

    /// Removes and returns the pending actions, in order.
    mutating func takeActions() -> [ManagementAction] {
        var taken: [ManagementAction] = []
        swap(&taken, &actions)
        return taken
    }

    /// Whether there are pending actions.
    var hasActions: Bool { !actions.isEmpty }

    /// The next time at which ``advance(to:)`` has work to do.
    var nextDeadline: Instant? {
        var next = listAgainAt
        for adapter in adapters {
            if let deadline = adapter.nextDeadline { next = min(next ?? deadline, deadline) }
        }
        return next
    }

    /// The changes that must be undone after a crash, by adapter. Inherited changes of adapters that were not seen yet
    /// are included.
    var changes: [AdapterChanges] { adapters.compactMap(\.changes) + inherited }

    /// The commands that undo the changes, in order.
    var undoing: [(command: ManagementCommand, index: UInt16)] {
        adapters.flatMap { adapter in adapter.undoing.map { ($0, adapter.index) } }
    }

    /// Starts the session.
    mutating func start(at now: Instant) {
        askForList(at: now)
        reportObstacles()
    }

    /// Requests the complete state again, because messages were lost.
    mutating func resynchronize(at now: Instant) {
        askForList(at: now)
        for place in adapters.indices { adapters[place].resynchronize() }
        proceed(at: now)
    }

    /// Processes a message.
    mutating func received(_ message: ManagementMessage, at now: Instant) {
        if message.index == ManagementMessage.none {
            if case .reply(_, _, .indexes(let list)) = message.event { listed(list, at: now) }
        } else {
            received(message.event, of: message.index, at: now)
        }
        proceed(at: now)
    }

    /// Processes an advertising report. Returns whether it must be delivered.
    mutating func received(_ index: UInt16, isMonitors: Bool, at time: Instant) -> Bool {
        guard let place = place(of: index), adapters[place].received(isMonitors: isMonitors, at: time, into: &actions)
        else {
            reportsEarly &+= 1
            return false
        }
        if !actions.isEmpty { reportObstacles() }
        return true
    }

    /// Processes the state of rfkill.
    mutating func received(_ rfkill: RFKillState, at now: Instant) {
        self.rfkill = rfkill
        for place in adapters.indices { adapters[place].update(rfkill.block(of: adapters[place].number), at: now) }
        proceed(at: now)
    }

    /// Performs the work that is due.
    mutating func advance(to now: Instant) {
        if let listAgainAt, listAgainAt <= now { askForList(at: now) }
        proceed(at: now)
    }

    /// Takes a step of the watchdog.
    mutating func take(_ step: WatchdogStep, on adapter: Int, at now: Instant) -> WatchdogStep.Outcome {
        guard let place = adapters.firstIndex(where: { $0.number == adapter }) else {
            return .skipped(reason: "there is no adapter hci\(adapter)")
        }
        let outcome = adapters[place].take(step, at: now)
        proceed(at: now)
        return outcome
    }

    /// Records that the kernel dropped `count` messages, of any adapter. `time` is the time of the last message that
    /// was received before the loss. ``resynchronize(at:)`` requests the lost information.
    mutating func lost(_ count: Int, at time: Instant) {
        for place in adapters.indices { adapters[place].lost(count, at: time, into: &actions) }
    }
}

extension ManagementSession {
    private func place(of index: UInt16) -> Int? { adapters.firstIndex { $0.index == index } }

    private mutating func askForList(at now: Instant) {
        listAgainAt = now + CommandTurn.retryMax
        actions.append(.send(.readIndexList, index: ManagementMessage.none))
    }

    private mutating func listed(_ list: [UInt16], at now: Instant) {
        listAgainAt = nil
        hasList = true
        for index in adapters.map(\.index) where !list.contains(index) { remove(index, at: now) }
        for index in list { add(index, isDiscovering: nil, at: now) }
        // Inherited changes of other adapters are discarded, because it cannot be proved any more which adapter they
        // belong to.
        inherited = []
    }

    private mutating func received(_ event: ManagementEvent, of index: UInt16, at now: Instant) {
        switch event {
        case .indexAdded:
            // If the adapter is known, it was removed and added again, and the report of its removal was lost.
            remove(index, at: now)
            add(index, isDiscovering: false, at: now)
            return
        case .indexRemoved:
            remove(index, at: now)
            return
        default: break
        }
        guard let place = place(of: index) else { return }
        switch event {
        case .reply(let opcode, let status, let result):
            adapters[place].reply(to: opcode, status, result, at: now, into: &actions)
            if opcode == ManagementOpcode.addMonitor { end(at: status) }
        case .settings(let settings):
            let reason = rfkill.block(of: Int(index)) == .none ? "it was switched off" : "rfkill blocks it"
            adapters[place].update(settings, at: now, reason, into: &actions)
        case .discovering(let isOn): adapters[place].update(isDiscovering: isOn, at: now, into: &actions)
        case .monitorRemoved(let handle):
            let who =
                handle == 0
                ? "all monitors were removed, because a bluetoothd starts" : "another program removed its monitor"
            adapters[place].removed(handle, who, at: now, into: &actions)
        case .suspended(let state):
            if state != 0 { adapters[place].update(isSuspended: true, at: now, into: &actions) }
        case .resumed: adapters[place].update(isSuspended: false, at: now, into: &actions)
        case .indexAdded, .indexRemoved, .controllerError, .other: break
        }
    }

    /// Ends the scanner if the kernel reports that it can never work.
    private mutating func end(at status: ManagementStatus) {
        switch status {
        case .unknownCommand: actions.append(.report(.ended(.kernelTooOld)))
        case .permissionDenied: actions.append(.report(.ended(.managementDenied)))
        default: break
        }
    }

    private mutating func add(_ index: UInt16, isDiscovering: Bool?, at now: Instant) {
        guard options.adapters.mayInclude(Int(index)), place(of: index) == nil else { return }
        guard adapters.count < Self.adaptersMax else {
            adaptersRefused &+= 1
            return
        }
        let legacy = inherited.firstIndex { $0.index == index }.map { inherited.remove(at: $0) }
        adapters.append(
            ManagedAdapter(
                index: index, options: options, purpose: purpose, isDiscovering: isDiscovering,
                block: rfkill.block(of: Int(index)), inherited: legacy))
        adapters.sort { $0.index < $1.index }
    }

    private mutating func remove(_ index: UInt16, at now: Instant) {
        inherited.removeAll { $0.index == index }
        guard let place = place(of: index) else { return }
        adapters[place].vanish(at: now, into: &actions)
        adapters.remove(at: place)
    }

    private mutating func proceed(at now: Instant) {
        for place in adapters.indices { adapters[place].proceed(at: now, into: &actions) }
        reportObstacles()
    }

    private mutating func reportObstacles() {
        // If another backend receives, that backend reports its obstacles.
        guard purpose == .monitoring, hasList else { return }
        let listening = adapters.filter(\.isListening)
        let present = obstacles(listening: listening.count, thinned: listening.contains(where: \.isThinned))
        guard present != obstacles else { return }
        obstacles = present
        actions.append(.report(.obstacles(present)))
    }

    /// Returns the obstacles, given the number of listening adapters and whether the reports of one of them are
    /// thinned.
    ///
    /// If an adapter is listening, there is no obstacle for the whole backend. The state of each other adapter is
    /// reported separately.
    func obstacles(listening: Int, thinned: Bool) -> Set<ScanObstacle> {
        guard listening == 0 else { return thinned ? [.thinned] : [] }
        let usable = adapters.filter(\.mayBeUsable)
        var found: Set<ScanObstacle> = usable.isEmpty ? [.unavailable] : []
        for block in usable.isEmpty ? [rfkill.blockOfMachine] : usable.map(\.block) {
            switch block {
            case .none: if !usable.isEmpty { found.insert(.waiting) }
            case .soft: found.insert(.blocked)
            case .hard: found.insert(.blockedByHardware)
            }
        }
        return found
    }
}

extension ScannerError {
    static let kernelTooOld = ScannerError(
        .unavailable,
        "this kernel has no advertisement monitors (Add Advertisement Patterns Monitor); Linux 5.10 and later "
            + "have them",
        remedy: "Use a newer kernel, or set scanner.backend to dbus")
    static let managementDenied = ScannerError(
        .denied,
        "this user has no access to the kernel's Bluetooth management: CAP_NET_ADMIN is needed when the socket is opened",
        remedy: "Start it with AmbientCapabilities=CAP_NET_ADMIN in the systemd unit, or once: "
            + "setcap cap_net_admin+ep on the program; or set scanner.backend to dbus")
}
