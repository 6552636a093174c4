import BaseTypes

/// Leads one controller's scan over the raw HCI channel, where nobody else does.
///
/// A value: what goes over the channel comes in with its time, commands and changes come out. Others' commands are seen on
/// their way to the controller; what the controller does is known from them.
///
/// - Where nobody scans, it sets the parameters and enables scanning without a duplicate filter. Whether somebody does is
///   asked by setting the parameters: a controller that scans refuses that (0x0C, Core Vol 4 Part E §7.8.10).
/// - Somebody's active scan, a discovery, is left alone, and reports are thinned while it filters duplicates. It ends by
///   itself: in the kernel after at most 10.24 s.
/// - Somebody's passive scan that hears all is left alone too. One that filters (the kernel waiting for known devices) is
///   replaced by one that hears those as well, at most every ``takeOverEvery``.
struct ScanDriver: Sendable {
    /// What it wants done.
    enum Action: Sendable, Hashable {
        case send(HCICommand)
        case tell(ScanChange)
    }

    /// What the controller does, as far as it is known.
    enum Scan: Sendable, Hashable {
        /// It does not scan.
        case none
        /// It scans for us.
        case ours
        /// It scans for somebody else; how, where that was seen.
        case others(ScanParameters?, filtersDuplicates: Bool?)
    }

    /// How long after somebody's scan has ended ours begins: the kernel ends and begins its own within that.
    static let quietTime: Duration = .milliseconds(300)
    /// The same where others are left alone: whoever leads a scan of his own has begun it by then.
    static let quietTimeOfOnlookers: Duration = .milliseconds(1_500)
    /// A discovery's scan ends in 10.24 s by itself. One that began unseen and lasts longer is none.
    static let unknownMax: Duration = .milliseconds(10_500)
    static let takeOverEvery: Duration = .seconds(5)
    /// The kernel gives a controller 2 s for a command (HCI_CMD_TIMEOUT), and may have commands of its own before.
    static let answerMax: Duration = .seconds(4)

    let adapter: Int
    /// How ours is.
    let parameters: ScanParameters

    private(set) var isOn = false
    private(set) var scan = Scan.none
    private(set) var isListening = false
    private(set) var lastHeard: Instant?

    /// Absent until the controller has told.
    private var isExtended: Bool?
    private var pending: (command: HCICommand, deadline: Instant)?
    /// Whether ours has its parameters set and is to be enabled.
    private var hasParameters = false
    /// Whether a scan that is on has to be ended before ours begins.
    private var mustEnd = false
    private var beginAt: Instant?
    private var backOff = BackOff(first: .milliseconds(100), most: .seconds(5))
    private var lastTakeOver: Instant?
    private var present = Instant.earliest
    /// What somebody else set last, and asked for last.
    private var othersParameters: ScanParameters?
    private var othersPending: (command: HCICommand, deadline: Instant)?

    /// So long the kernel waits for a controller's answer before it sends the next command (HCI_CMD_TIMEOUT): what is
    /// answered then is a command after it.
    static let othersAnswerMax: Duration = .seconds(2)

    /// How long after somebody's scan has ended ours begins.
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

    /// Whether the scan is somebody else's, who is left alone.
    var isKeptFromScan: Bool {
        guard leavesOthersAlone, case .others = scan else { return false }
        return true
    }

    /// When something is due though nothing is received. What was due and could not be done waits for an event.
    var nextDeadline: Instant? {
        let next = pending?.deadline ?? beginAt
        return next.flatMap { $0 > present ? $0 : nil }
    }

    /// What ends our scan.
    var ending: HCICommand? {
        scan == .ours ? .setScanEnable(false, filtersDuplicates: false, isExtended: isExtended ?? false) : nil
    }

    // MARK: Inputs

    /// Takes that the adapter is on or off.
    mutating func update(isOn: Bool, at now: Instant, _ reason: String, into actions: inout [Action]) {
        guard isOn != self.isOn else { return }
        self.isOn = isOn
        reset()
        // Whoever switches it on may begin to scan at once.
        beginAt = isOn ? now + quietTime : nil
        updateListening(at: now, reason, into: &actions)
        proceed(at: now, into: &actions)
    }

    /// Takes somebody else's command, on its way to the controller.
    ///
    /// The kernel sends one at a time, so what went before it has been answered, or is answered no more.
    mutating func saw(_ command: HCICommand, at now: Instant) {
        othersPending = (command, now + Self.othersAnswerMax)
    }

    /// Takes the controller's answer to a command, ours or somebody's.
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

    /// Takes that a report came; whether it is handed over.
    mutating func heard(at time: Instant, into actions: inout [Action]) -> Bool {
        guard isOn else { return false }
        if !isListening {
            // Somebody scans who was not seen to begin.
            if scan == .none { scan = .others(nil, filtersDuplicates: nil) }
            updateListening(at: time, "", proven: true, into: &actions)
        }
        lastHeard = time
        return isListening
    }

    /// Does what is due.
    mutating func advance(to now: Instant, into actions: inout [Action]) { proceed(at: now, into: &actions) }

    /// Begins the scan anew, whoever's it is.
    mutating func restart(at now: Instant, into actions: inout [Action]) {
        mustEnd = true
        hasParameters = false
        pending = nil
        lastTakeOver = now
        beginAt = now
        proceed(at: now, into: &actions)
    }

    /// Notes that the kernel dropped messages after the last one that was received until `now`. Commands of others can be
    /// among them.
    mutating func lost(_ count: Int, at now: Instant, into actions: inout [Action]) {
        if isListening, let lastHeard {
            actions.append(.tell(.lost(adapter: adapter, count: count, since: min(lastHeard, now))))
        }
        othersPending = nil
        // Setting the parameters again shows whether ours is on still.
        if scan == .ours { beginAt = now + quietTime }
        proceed(at: now, into: &actions)
    }

    // MARK: What follows

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
            // It took them, so it did not scan; and ours are no longer set.
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

    // Enabled without parameters of its own: with those that were set before, ours.
    private var parametersOfOurs: ScanParameters? { scan == .ours ? parameters : nil }

    private mutating func ended(at now: Instant, into actions: inout [Action]) {
        scan = .none
        mustEnd = false
        beginAt = now + quietTime
        updateListening(at: now, "another program stopped the scan", into: &actions)
    }

    // A discovery is active and ends by itself; a passive scan that hears all is as good as ours.
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
        // A controller that can't even tell what it can is asked the old way.
        case (.readSupportedCommands, _): isExtended = false
        case (.setScanParameters, 0):
            hasParameters = true
            if scan == .ours { scan = .none }
        case (.setScanParameters, 0x0C) where scan == .ours:
            // Asked after a loss: it scans still.
            beginAt = nil
        case (.setScanParameters, 0x0C):
            // Command Disallowed: it scans already, for somebody who was not seen.
            scan = .others(nil, filtersDuplicates: nil)
            mustEnd = !leavesOthersAlone
            beginAt = now + Self.unknownMax
        case (.setScanEnable(false, _, _), _):
            // Refused where there was nothing to end.
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
        // One that was not seen to begin may be a discovery: its parameters are asked for first. So does who leaves others
        // alone, whether they scan still.
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
        var hears = false
        var words = "it scans"
        switch scan {
        case .none: break
        case .ours: hears = true
        case .others(let parameters?, _):
            hears = parameters.acceptsAll
            words = "another program scans"
        case .others(nil, _):
            hears = proven || isListening
            words = "another program scans"
        }
        hears = hears && isOn
        guard hears != isListening else { return }
        isListening = hears
        if hears {
            lastHeard = now
            actions.append(.tell(.listening(adapter: adapter, reason: words)))
        } else {
            actions.append(.tell(.stopped(adapter: adapter, since: now, reason: reason)))
        }
    }
}
