import BluetoothLE
package import EventLog
package import Polling
import Shipping
package import SystemPackage

/// Ships the lines of event files to a broker: in order, with QoS 1, none lost, and few twice.
///
/// It follows the files from a checkpoint that is on the disk, keeps at most a window of lines past it, and moves it when
/// the broker has acknowledged a line and all before it. It owns its loop and all of libmosquitto's connection; its
/// owner tells it what it may do, and hears how it stands. It subscribes to nothing: what a broker sends changes nothing.
package final class Publisher {
    /// What is done about the connection.
    enum Phase {
        /// Nothing until the plan says so.
        case waiting
        /// An address is tried; until when it may take.
        case connecting
        /// The broker takes messages.
        case connected
        /// It is over.
        case ended
    }

    /// A message beside the lines, on its way.
    enum Other: Equatable {
        case state(String)
        case availability(isOnline: Bool)
        case status
    }

    /// What is read and written here.
    enum Place: Int, CaseIterable {
        case events, checkpoint, state
    }

    /// What comes before the end, in order.
    enum Leave {
        /// It stays.
        case none
        /// What can be shipped is shipped.
        case shipping
        /// `offline` is on its way.
        case offline
    }

    // A turn handles so many lines; then what is ready is looked at again.
    static let linesPerTurn = 256
    // Where the broker names no limit. The library walks over all of them with each message and each acknowledgement, and
    // more are of no use: these fill a path of 10 MB/s with a round trip of 10 ms.
    static let atATimeMax = 256
    // A hundred octets each, mostly: 3 MB at most.
    static let acceptedTopicsMax = 16_384
    // An attempt takes three round trips at most: longer than TCP takes to send a lost SYN thrice again (1, 2 and 4 s).
    static let connectTimeout: Duration = .seconds(15)
    static let leaveTimeout: Duration = .seconds(3)
    // What is acknowledged and not kept comes twice after a kill; what is kept at once wears out SD cards.
    static let keepInterval: Duration = .seconds(2)
    static let retryFiles: Duration = .seconds(5)
    // A start folds at most so many lines again, and an hour's.
    static let stateLines = 5000
    static let stateInterval: Duration = .seconds(3600)
    // A second's work, where the processor is slow.
    static let linesPerBreath = 2000
    // States are few and go behind the lines; more of them at a time gain nothing.
    static let othersMax = 64

    let loop: EventLoop
    let options: PublisherOptions
    let mailbox: any PublisherOwner
    var status: PublisherStatus
    var phase = Phase.waiting
    var leave = Leave.none
    var plan: ConnectionPlan
    var window: ShippingWindow
    var follower: LineFollower
    var message: LineMessage
    var line: [UInt8] = []
    /// Up to where lines may be read; all, where the files say.
    var durable: Int
    var hasCaughtUp = false
    /// Puts lines on the disk; absent where somebody else says which are.
    var synchronizer: LineSynchronizer?
    let files: any FileSystemCalls

    // The connection.
    var client: MosquittoClient?
    var watch: EventLoop.Watch?
    var interest: EventLoop.Interest = []
    var addresses: [String] = []
    var isEstablished = false
    /// Whether a broker was asked for a connection in this attempt, and closed it or kept silent.
    var wasUnanswered = false
    /// Whether what came first in this connection was looked at.
    var hasLooked = false
    /// Whether this attempt, or connection, does without retained messages.
    var isWithoutRetained = false
    /// The broker whose MQTT 5 the checkpoint tells of.
    var keptFive: String?
    var isFiveStale = false
    /// Why the checkpoint could not be kept when that was tried last.
    var checkpointError: Errno?
    /// Whether something came in this turn.
    var hasHeard = false
    /// What was said of the broker lately, and when: what comes and goes is not said each time.
    var said: [BrokerTrouble: Instant] = [:]
    /// Whether it was said that something is in the way.
    var isInTrouble = true
    /// What is to be said once the status tells it too.
    var remarks: [PublisherRemark] = []
    var lastSent: Instant
    var lastHeard: Instant
    var lastPing: Instant
    var silenceMax: Duration
    /// Since when something is under way and nothing was acknowledged.
    var unacknowledgedSince: Instant?

    /// What is wrong with files here, by which they are.
    var localTroubles: [Place: String] = [:]

    // A message that the broker refused: it is tried alone until it gets through.
    var refused: Int?
    var refusals = 0
    var isPausing = false

    // The first line of each topic goes alone in a connection that can say no.
    var acceptedTopics = AcceptedTopics(capacity: Publisher.acceptedTopicsMax)
    /// The topic of the line that is under way alone.
    var onTrial: [UInt8]?
    /// Whether a line was read that waits until nothing is under way.
    var isHeld = false

    // What MQTT can't carry.
    /// The last line that was set aside: read again, it is not counted again.
    var setAsideUpTo = 0
    /// When it was said lately.
    var saidSetAside: [Instant] = []

    // What is beside the lines.
    var retained: (any RetainedTopics)?
    var others: [Int32: Other] = [:]
    var changes: [Publication] = []
    var isOnline = false
    var statusMessage: [UInt8]?
    var keptState: Int?
    var stateIsStale = false
    var othersPauseUntil: Instant?

    // What wakes it.
    var planTimer: EventLoop.Timer?
    var timeoutTimer: EventLoop.Timer?
    var silenceTimer: EventLoop.Timer?
    var keepTimer: EventLoop.Timer?
    var pauseTimer: EventLoop.Timer?
    var turnTimer: EventLoop.Timer?
    var stateTimer: EventLoop.Timer?
    var changeWatch: DirectoryWatch?

    /// Reads the checkpoint, and is ready to ``start()``.
    ///
    /// - Parameters:
    ///   - options: where lines are published, and how.
    ///   - loop: in whose turns.
    ///   - mailbox: who owns it.
    ///   - files: the file system, as far as something is kept there.
    /// - Throws: ``ShippingCheckpoint/Problem`` where the checkpoint is there and can't be read: to begin anew would
    ///   ship everything again.
    package init(
        _ options: PublisherOptions, on loop: EventLoop, mailbox: any PublisherOwner,
        files: any FileSystemCalls = SystemFiles()
    ) throws(ShippingCheckpoint.Problem) {
        self.options = options
        self.files = files
        synchronizer = options.isTold ? nil : LineSynchronizer(options.directory, files)
        self.loop = loop
        self.mailbox = mailbox
        let now = loop.now
        let checkpoint = try ShippingCheckpoint.read(options.checkpoint)
        var position = checkpoint?.position ?? LinePosition(sequence: 0)
        if let from = options.from { position = LinePosition(sequence: max(from, 1) - 1) }
        window = ShippingWindow(after: position, capacity: min(max(options.window, 2), 32_768))
        follower = LineFollower(options.directory, from: position)
        message = LineMessage(prefix: options.prefix)
        durable = options.isTold ? 0 : .max
        keptFive = checkpoint?.five
        plan = ConnectionPlan(
            options.backOff, options.version, hasSeenFive: checkpoint?.five == Self.place(options),
            seed: options.seed ?? .random(in: 0 ... .max), at: now)
        status = PublisherStatus(since: now)
        status.shipped = position.sequence
        (lastSent, lastHeard, lastPing) = (now, now, now)
        silenceMax = options.keepAlive
    }

    /// Ships in the turns of its loop until it is told to stop, or (where it does not follow) all is shipped; then it
    /// stops the loop.
    ///
    /// - Throws: `Errno` of what waits, which means a mistake of ours or that the process has no descriptor left.
    package func start() throws(Errno) {
        try arrange()
        takeOrders()
        restoreState()
        loop.beforeWaiting = { [unowned self] in finishTurn() }
    }

    private func arrange() throws(Errno) {
        planTimer = loop.makeTimer { [unowned self] _ in connect() }
        timeoutTimer = loop.makeTimer { [unowned self] _ in timeOut() }
        silenceTimer = loop.makeTimer { [unowned self] now in checkSilence(at: now) }
        keepTimer = loop.makeTimer { [unowned self] _ in keep() }
        pauseTimer = loop.makeTimer { [unowned self] _ in tryAgain() }
        // It only brings about a turn.
        turnTimer = loop.makeTimer { _ in }
        stateTimer = loop.makeTimer { [unowned self] _ in keepState() }
        try mailbox.attach(to: loop)
        if options.follows, !options.isTold { changeWatch = try DirectoryWatch(options.directory, on: loop) }
    }

    // MARK: A turn

    private func finishTurn() {
        takeOrders()
        if phase == .waiting, leave == .none, let planTimer, loop.time(of: planTimer) == nil {
            loop.set(planTimer, at: plan.nextAttempt)
        }
        takeAnswers()
        if phase == .connected { ship() }
        noteUnacknowledged()
        keepWhereDue()
        takeLeave()
        sendGathered()
        updateWatch()
        report()
        if phase == .ended { loop.stop() }
    }

    private func takeOrders() {
        let orders = mailbox.takeOrders()
        if options.isTold { durable = max(durable, orders.durable) }
        if let status = orders.status { statusMessage = status }
        // What somebody mended is not waited for.
        if orders.reloads, phase == .waiting, leave == .none, let planTimer { loop.set(planTimer, at: loop.now) }
        guard orders.stops, leave == .none, phase != .ended else { return }
        guard phase == .connected else { return end() }
        leave = .shipping
        if let timeoutTimer { loop.set(timeoutTimer, at: loop.now + Self.leaveTimeout) }
    }

    /// Takes one step after the other towards the end, as far as the broker has answered.
    private func takeLeave() {
        guard leave != .none || !options.follows, phase == .connected else { return }
        if !options.follows, leave == .none {
            guard hasCaughtUp, window.inFlight == 0 else { return }
            leave = .shipping
        }
        switch leave {
        case .none: break
        case .shipping:
            guard hasCaughtUp || refused != nil, window.inFlight == 0 || refused != nil, others.isEmpty else { return }
            guard case .topics = options.retained, !isWithoutRetained else { return sayGoodbye() }
            leave = .offline
            publishAvailability(isOnline: false)
        case .offline:
            guard others.isEmpty else { return }
            sayGoodbye()
        }
    }

    private func sayGoodbye() {
        client?.disconnect()
        end()
    }

    /// Keeps what is known and stops.
    func end() {
        dropClient()
        keep()
        keepState()
        phase = .ended
    }

    private func timeOut() {
        switch phase {
        case .connecting:
            noteSilence()
            failAddress(.silent("no answer to a connection within \(Self.connectTimeout.components.seconds) s"))
        // Without a goodbye the broker publishes the last will: right, for nothing else has said that this ends.
        case .connected where leave != .none: end()
        default: break
        }
    }

    // MARK: What is told

    func set(_ state: PublisherStatus.State) {
        guard status.state != state else { return }
        status.state = state
        status.since = loop.now
    }

    private func report() {
        switch phase {
        case .waiting: set(.waiting)
        case .connecting: set(.connecting)
        case .connected: set(refused != nil ? .refused : hasCaughtUp ? .connected : .draining)
        case .ended: set(.ended)
        }
        status.nextAttempt = phase == .waiting ? plan.nextAttempt : nil
        status.version = phase == .connected ? client?.version.rawValue : nil
        status.localTrouble = Place.allCases.lazy.compactMap { self.localTroubles[$0] }.first
        status.shipped = window.shipped.sequence
        status.released = retained == nil ? window.kept.sequence : min(window.kept.sequence, keptState ?? 0)
        status.inFlight = window.inFlight
        if follower.missed > status.missed {
            note(true, "lines before \(follower.position.sequence) are not there any more and were not shipped")
        }
        status.missed = follower.missed
        status.damaged = follower.damaged
        status.octets = follower.octets
        mailbox.report(status)
        for remark in remarks { mailbox.say(remark) }
        remarks.removeAll()
    }

    /// Has something said at the end of the turn.
    func note(_ isTrouble: Bool, _ text: String) {
        remarks.append(PublisherRemark(isTrouble: isTrouble, text: text))
    }

    /// Notes what is wrong with files here, or that nothing is any more, and says it once.
    func noteLocal(_ place: Place, _ trouble: String?) {
        guard localTroubles[place] != trouble else { return }
        if let trouble {
            note(true, trouble)
        } else if let before = localTroubles[place] {
            note(false, "over: \(before)")
        }
        localTroubles[place] = trouble
    }

    // What goes on for days should be found in each log that is looked at, and not fill it.
    private static let saysAgainAfter: Duration = .seconds(3600)
    private static let saidMax = 16

    /// Says what the matter is, once an hour at most.
    func say(_ trouble: BrokerTrouble) {
        let text = trouble.remedy.map { "\(trouble); \($0)" } ?? trouble.description
        status.trouble = text
        guard isDue(trouble) else { return }
        isInTrouble = true
        note(true, "\(text); nothing is lost, lines wait in the files")
    }

    /// Whether this was not said within the last hour; it is said now.
    func isDue(_ trouble: BrokerTrouble) -> Bool {
        let now = loop.now
        guard said[trouble].map({ now - $0 >= Self.saysAgainAfter }) ?? true else { return false }
        if said.count >= Self.saidMax { said = [:] }
        said[trouble] = now
        return true
    }
}
