import BaseTypes

/// What the management socket is used for.
enum ManagementPurpose: Sendable {
    /// To hear, with a monitor.
    case monitoring
    /// To know the adapters and switch them on; another way hears.
    case powering
}

/// One adapter as the management socket shows it: what is known of it, what has to be done next, whether it listens.
///
/// A value: what the kernel said goes in with its time, actions come out. One command is under way at a time; what fails is
/// tried again after at most ``retryMax``.
struct ManagedAdapter: Sendable {
    /// What is still to be asked.
    struct Questions: OptionSet, Sendable {
        let rawValue: UInt8
        static let information = Questions(rawValue: 1)
        static let features = Questions(rawValue: 2)
        static let configuration = Questions(rawValue: 4)
    }

    /// A power cycle under way.
    enum PowerCycle: Sendable {
        case switchingOff
        case switchingOn
    }

    /// Tries come after a tenth of a second, and then each after twice as long, up to this.
    static let retryMax: Duration = .seconds(5)
    /// The kernel waits at most 10 s for a controller's answer (HCI_INIT_TIMEOUT); some commands need several.
    static let replyMax: Duration = .seconds(20)
    /// A discovery's scan that runs already may filter duplicates until its end: 10.24 s (Linux DISCOV_LE_TIMEOUT), and
    /// the passive scan after it begins by then.
    static let discoveryMax: Duration = .milliseconds(10_500)
    /// A discovery is told some milliseconds after its scan began: one that is told so soon after a monitor was put up may
    /// have begun before it.
    static let discoveryLag: Duration = .seconds(1)
    /// How long the second monitor of ``WatchdogStep/widen`` stands.
    static let wideningLength: Duration = .seconds(10)

    let index: UInt16
    let options: ManagementOptions
    let purpose: ManagementPurpose

    // What the kernel said.
    var questions: Questions = [.information, .features, .configuration]
    var information: ControllerInformation?
    var settings: ControllerSettings = []
    var features: MonitorFeatures?
    /// Whether somebody discovers; absent where the adapter was there before us and nothing has been heard of it.
    var discovering: Bool?
    /// When it was asked for the first time what it is: since then its discoveries are told.
    var metAt: Instant?
    var isSuspended = false
    var block = RFKillBlock.none

    // What was done.
    var monitor: UInt16?
    var wideMonitor: UInt16?
    /// What stands to be removed: a predecessor's monitors, and one too many.
    var leftovers: [UInt16] = []
    /// The address of the adapter that a predecessor changed.
    var inheritedAddress: UInt64?
    /// The settings as they were before.
    var previous = ScanConfiguration()
    /// The settings as they are now, as far as they are known.
    var configuration = ScanConfiguration()
    var hasSetConfiguration = false

    // What is to be done.
    var powerAt: Instant?
    var cycle: PowerCycle?
    var restarts = false
    var wideUntil: Instant?

    // What is under way.
    var pending: (command: ManagementCommand, deadline: Instant)?
    var backOff = BackOff(first: .milliseconds(100), most: retryMax)
    var retryAt: Instant?
    /// Why the adapter does not listen, for operators; the last failure, where there is one.
    var lastFailure: String?

    // Listening.
    var isProven = false
    /// When the monitor was put up, where it was believed then that nobody discovers and no report has shown it yet.
    var believedAt: Instant?
    var proofAt: Instant?
    var isListening = false
    /// The last report, or the moment it began to listen.
    var lastHeard: Instant?
    /// What that was when it was last known that nothing had been lost.
    var lastSure: Instant?
    /// The present of the last step.
    var present = Instant.earliest

    init(
        index: UInt16, options: ManagementOptions, purpose: ManagementPurpose = .monitoring, discovering: Bool?,
        inherited: AdapterChanges? = nil
    ) {
        self.index = index
        self.options = options
        self.purpose = purpose
        self.discovering = discovering
        if let inherited {
            inheritedAddress = inherited.address
            leftovers = inherited.handles
            previous = inherited.previous
        }
    }

    /// The adapter's number as others see it.
    var number: Int { Int(index) }

    /// Whether the adapter could listen at all, and is to.
    var isUsable: Bool { isWanted && information?.supported.contains(.lowEnergy) ?? false }

    /// Whether it is one of those that are used, as far as is known: an address tells once it has been asked for (rule L7).
    var isWanted: Bool {
        guard let information else { return false }
        return options.adapters.includes(number, address: information.deviceAddress)
    }

    /// Whether it is on, and scans for Low Energy where it is told to.
    var isReady: Bool {
        isWanted && settings.isSuperset(of: [.powered, .lowEnergy]) && !isSuspended
    }

    /// Whether reports are missed between windows.
    var isThinned: Bool { isListening && configuration.isThin }

    /// When something is due though nothing is received. What was due in the present and could not be done waits for an
    /// event, not for a moment.
    var nextDeadline: Instant? {
        var next: Instant?
        func consider(_ time: Instant?) {
            if let time, time > present { next = min(next ?? time, time) }
        }
        consider(proofAt)
        if let pending {
            consider(pending.deadline)
        } else if let retryAt {
            consider(retryAt)
        } else {
            consider(powerAt)
            consider(wideUntil)
        }
        return next
    }

    /// What would have to be undone.
    var changes: AdapterChanges? {
        guard let information else { return nil }
        let handles = leftovers + [monitor, wideMonitor].compactMap { $0 }
        guard !handles.isEmpty || !previous.isEmpty else { return nil }
        return AdapterChanges(index: index, address: information.address, handles: handles, previous: previous)
    }

    /// What undoes it, in order.
    var undoing: [ManagementCommand] {
        var commands: [ManagementCommand] = []
        let restored = previous.changes(to: configuration)
        // Before the monitors, so that the scan that others' monitors need begins with it.
        if !restored.isEmpty { commands.append(.setConfiguration(restored)) }
        return commands + (changes?.handles ?? []).map { .removeMonitor($0) }
    }
}
