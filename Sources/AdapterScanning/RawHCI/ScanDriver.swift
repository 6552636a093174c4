import BaseTypes

/// Controls the scan of one controller over the raw HCI channel, if no other program does.
///
/// A value without side effects: packets of the channel are passed in with their times, commands and changes are
/// returned. The commands of other programs are visible on the channel, and the state of the controller is derived from
/// them.
///
/// - If no program scans, it sets the parameters and enables scanning without a duplicate filter. To find out whether
///   one does, it sets the parameters: a controller that scans refuses that (0x0C, Core Vol 4 Part E §7.8.10).
/// - An active scan of another program is a discovery. It is left alone, and reports count as thinned while it filters
///   duplicates. It ends by itself: if the kernel runs it, after at most 10.24 s.
/// - A passive scan of another program that receives everything is left alone too. One that filters (the kernel waiting
///   for known devices) is replaced by one that receives those as well, at most every ``takeOverEvery``.
struct ScanDriver: Sendable {
    /// An action that the driver requests.
    enum Action: Sendable, Hashable {
        case send(HCICommand)
        case report(ScanChange)
    }

    /// The state of the controller, as far as it is known.
    enum Scan: Sendable, Hashable {
        /// The controller does not scan.
        case none
        /// The controller scans for this program.
        case ours
        /// The controller scans for another program, with these parameters if they were observed.
        case others(ScanParameters?, filtersDuplicates: Bool?)
    }

    /// The delay from the end of another program's scan to the start of an own one. The kernel stops and restarts its
    /// own scan in less time.
    static let quietTime: Duration = .milliseconds(300)
    /// The same delay if other scans are left alone. Another gateway has started its own scan by then.
    static let quietTimeOfOnlookers: Duration = .milliseconds(1_500)
    /// The scan of a discovery ends by itself after 10.24 s. If one whose start was not observed lasts longer, it is
    /// not a discovery.
    static let unknownMax: Duration = .milliseconds(10_500)
    static let takeOverEvery: Duration = .seconds(5)
    /// The kernel gives a controller 2 s for a command (HCI_CMD_TIMEOUT), and may send commands of its own first.
    static let answerMax: Duration = .seconds(4)

    let adapter: Int
    /// The parameters of the own scan.
    let parameters: ScanParameters

    private(set) var isOn = false
    private(set) var scan = Scan.none
    private(set) var isListening = false
    private(set) var lastReceived: Instant?

    /// Whether the controller supports extended scanning; `nil` until it has reported it.
    private var isExtended: Bool?
    private var pending: (command: HCICommand, deadline: Instant)?
    /// Whether the own parameters are set, so that the scan can be enabled.
    private var hasParameters = false
    /// Whether a running scan must be disabled before the own one is enabled.
    private var mustEnd = false
    private var beginAt: Instant?
    private var backOff = BackOff(first: .milliseconds(100), most: .seconds(5))
    private var lastTakeOver: Instant?
    private var present = Instant.earliest
    /// The parameters that another program set last, and its pending command.
    private var othersParameters: ScanParameters?
    private var othersPending: (command: HCICommand, deadline: Instant)?

    /// The time for which the kernel waits for an answer of the controller before it sends the next command
    /// (HCI_CMD_TIMEOUT). A later answer belongs to a later command.
    static let othersAnswerMax: Duration = .seconds(2)

    /// The delay from the end of another program's scan to the start of an own one.
    private let quietTime: Duration
    private let leavesOthersAlone: Bool

    init(
        adapter: Int, scansActively: Bool, timing: ScanTiming = .continuous, leavesOthersAlone: Bool = false
    ) {
        self.adapter = adapter
        self.leavesOthersAlone = leavesOthersAlone
        quietTime = leavesOthersAlone ? Self.quietTimeOfOnlookers : Self.quietTime
        parameters = ScanParameters(
            isActive: scansActively, interval: timing.interval, window: timing.window, acceptsAll: true)
    }

    /// Whether reports are missed.
    var isThinned: Bool {
        guard isListening else { return false }
        guard case .others(let parameters, let filters) = scan else {
            return self.parameters.window < self.parameters.interval
        }
        return filters != false || parameters.map { $0.window < $0.interval } ?? true
    }

    /// Whether another program scans and must be left alone.
    var isKeptFromScan: Bool {
        guard leavesOthersAlone, case .others = scan else { return false }
        return true
    }

    /// The next time at which ``advance(to:into:)`` has work to do. Work that was due but could not be done waits for
    /// an event.
    var nextDeadline: Instant? {
        let next = pending?.deadline ?? beginAt
        return next.flatMap { $0 > present ? $0 : nil }
    }

    /// The command that stops the own scan, if it is running.
    var ending: HCICommand? {
        scan == .ours ? .setScanEnable(false, filtersDuplicates: false, isExtended: isExtended ?? false) : nil
    }

    // MARK: Inputs

    /// Processes a change of the adapter's power.
    mutating func update(isOn: Bool, at now: Instant, _ reason: String, into actions: inout [Action]) {
        guard isOn != self.isOn else { return }
        self.isOn = isOn
        reset()
        // The program that switches it on may start to scan at once.
        beginAt = isOn ? now + quietTime : nil
        updateListening(at: now, reason, into: &actions)
        proceed(at: now, into: &actions)
    }

    /// Processes a command of another program to the controller. The kernel sends only one command at a time, so the
    /// one before was answered, or will not be answered any more.
    mutating func saw(_ command: HCICommand, at now: Instant) {
        othersPending = (command, now + Self.othersAnswerMax)
    }

    /// Processes the controller's answer to a command of this or another program.
    mutating func completed(
        _ opcode: UInt16, _ status: UInt8, supportsExtendedScanning: Bool?, at now: Instant,
        into actions: inout [Action]
    ) {
        if let supportsExtendedScanning, status == 0 { isExtended = supportsExtendedScanning }
        if let deadline = othersPending?.deadline, deadline <= now { othersPending = nil }
        if let command = othersPending?.command, command.opcode == opcode {
            othersPending = nil
            if status == 0 { others(command, at: now, into: &actions) }
        } else if let command = pending?.command, command.opcode == opcode {
            pending = nil
            ours(command, status, at: now, into: &actions)
        }
        proceed(at: now, into: &actions)
    }

    /// Processes a report. Returns whether it must be delivered.
    mutating func received(at time: Instant, into actions: inout [Action]) -> Bool {
        guard isOn else { return false }
        if !isListening {
            // Another program scans whose start was not observed.
            if scan == .none { scan = .others(nil, filtersDuplicates: nil) }
            updateListening(at: time, "", proven: true, into: &actions)
        }
        lastReceived = time
        return isListening
    }

    /// Performs the work that is due.
    mutating func advance(to now: Instant, into actions: inout [Action]) { proceed(at: now, into: &actions) }

    /// Stops the running scan, also that of another program, and starts the own one.
    mutating func restart(at now: Instant, into actions: inout [Action]) {
        mustEnd = true
        hasParameters = false
        pending = nil
        lastTakeOver = now
        beginAt = now
        proceed(at: now, into: &actions)
    }

    /// Records a loss that was noticed at `now`: the kernel dropped `count` messages after the last one that was
    /// received. Commands of other programs may be among them.
    mutating func lost(_ count: Int, at now: Instant, into actions: inout [Action]) {
        if isListening, let lastReceived {
            actions.append(.report(.lost(adapter: adapter, count: count, since: min(lastReceived, now))))
        }
        othersPending = nil
        // Setting the parameters again shows whether the own scan is still running.
        if scan == .ours { beginAt = now + quietTime }
        proceed(at: now, into: &actions)
    }

    // MARK: State changes

    private mutating func reset() {
        scan = .none
        pending = nil
        hasParameters = false
        mustEnd = false
        beginAt = nil
        backOff.reset()
        othersPending = nil
        othersParameters = nil
    }

    private mutating func others(_ command: HCICommand, at now: Instant, into actions: inout [Action]) {
        switch command {
        case .reset:
            reset()
            beginAt = now + quietTime
            updateListening(at: now, "the controller was reset", into: &actions)
        case .setScanParameters(let parameters, _):
            othersParameters = parameters
            // The controller accepted them, so it did not scan; and the own parameters are no longer set.
            hasParameters = false
            if scan == .ours { ended(at: now, into: &actions) }
        case .setScanEnable(true, let filters, _):
            pending = nil
            hasParameters = false
            mustEnd = false
            scan = .others(othersParameters ?? parametersOfOurs, filtersDuplicates: filters)
            beginAt = leavesOthersAlone || isHarmless(filters) ? nil : takeOverTime(at: now)
            updateListening(at: now, "another program scans, but only for known devices", into: &actions)
        case .setScanEnable(false, _, _): ended(at: now, into: &actions)
        case .readSupportedCommands, .other: break
        }
    }

    // If it was enabled without new parameters, the previous ones apply: those of this program.
    private var parametersOfOurs: ScanParameters? { scan == .ours ? parameters : nil }

    private mutating func ended(at now: Instant, into actions: inout [Action]) {
        scan = .none
        mustEnd = false
        beginAt = now + quietTime
        updateListening(at: now, "another program stopped the scan", into: &actions)
    }

    // A discovery is active and ends by itself. A passive scan that receives everything is as good as the own one.
    private func isHarmless(_ filters: Bool) -> Bool {
        guard let othersParameters else { return false }
        return othersParameters.isActive || !filters && othersParameters.acceptsAll
    }

    private func takeOverTime(at now: Instant) -> Instant {
        max(now + quietTime, lastTakeOver.map { $0 + Self.takeOverEvery } ?? .earliest)
    }

    private mutating func ours(
        _ command: HCICommand, _ status: UInt8, at now: Instant, into actions: inout [Action]
    ) {
        switch (command, status) {
        case (.readSupportedCommands, 0): break
        // If the controller does not even report its commands, the legacy ones are used.
        case (.readSupportedCommands, _): isExtended = false
        case (.setScanParameters, 0):
            hasParameters = true
            if scan == .ours { scan = .none }
        case (.setScanParameters, 0x0C) where scan == .ours:
            // The answer to the check after a loss: it is still scanning.
            beginAt = nil
        case (.setScanParameters, 0x0C):
            // Command Disallowed: another program scans, and its start was not observed.
            scan = .others(nil, filtersDuplicates: nil)
            mustEnd = !leavesOthersAlone
            beginAt = now + Self.unknownMax
        case (.setScanEnable(false, _, _), _):
            // Refused if there was no scan to stop.
            mustEnd = false
            scan = .none
            updateListening(at: now, "its scan is restarted", into: &actions)
        case (.setScanEnable(true, _, _), 0):
            backOff.reset()
            beginAt = nil
            hasParameters = false
            scan = .ours
            updateListening(at: now, "", into: &actions)
        default: failed(at: now)
        }
    }

    private mutating func failed(at now: Instant) {
        hasParameters = false
        beginAt = now + backOff.next()
    }

    private mutating func proceed(at now: Instant, into actions: inout [Action]) {
        present = now
        if let deadline = pending?.deadline, deadline <= now {
            pending = nil
            failed(at: now)
        }
        guard isOn, pending == nil, let beginAt, beginAt <= now else { return }
        let command = next(at: now)
        pending = (command, now + Self.answerMax)
        actions.append(.send(command))
    }

    private mutating func next(at now: Instant) -> HCICommand {
        guard let isExtended else { return .readSupportedCommands }
        // A scan whose start was not observed may be a discovery, so setting the parameters is tried first. The same
        // applies if other scans are left alone, to check whether they are still running.
        if case .others(_?, _) = scan, !leavesOthersAlone { mustEnd = true }
        if mustEnd {
            lastTakeOver = now
            return .setScanEnable(false, filtersDuplicates: false, isExtended: isExtended)
        }
        guard hasParameters else { return .setScanParameters(parameters, isExtended: isExtended) }
        return .setScanEnable(true, filtersDuplicates: false, isExtended: isExtended)
    }

    private mutating func updateListening(
        at now: Instant, _ reason: String, proven: Bool = false, into actions: inout [Action]
    ) {
        var listens = false
        var words = "it scans"
        switch scan {
        case .none: break
        case .ours: listens = true
        case .others(let parameters?, _):
            listens = parameters.acceptsAll
            words = "another program scans"
        case .others(nil, _):
            listens = proven || isListening
            words = "another program scans"
        }
        listens = listens && isOn
        guard listens != isListening else { return }
        isListening = listens
        if listens {
            lastReceived = now
            actions.append(.report(.listening(adapter: adapter, reason: words)))
        } else {
            actions.append(.report(.stopped(adapter: adapter, since: now, reason: reason)))
        }
    }
}
