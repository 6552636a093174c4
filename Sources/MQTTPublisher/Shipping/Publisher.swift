import BaseTypes
package import EventLog
package import EventLoops
import PublisherProtocol
package import SystemPackage

/// Ships the lines of event files to a broker: in order, with QoS 1, none lost, and few twice.
///
/// It follows the files from a checkpoint that is on the disk, keeps at most a window of lines past it, and moves it when
/// the broker has acknowledged a line and all before it (``LineShipper``). Behind the lines go states, availability and the
/// status (``RetainedMessages``). Its owner tells it what it may do, and hears how it stands. It subscribes to nothing: what
/// a broker sends changes nothing.
///
/// This one decides when there is a connection (``BrokerConnection``), what is done in each turn, and how it all ends.
package final class Publisher {
    /// What is done about the connection.
    private enum Phase {
        /// Nothing until the plan says so.
        case waiting
        /// An address is tried; until when it may take.
        case connecting
        /// The broker takes messages.
        case connected
        /// It is over.
        case ended
    }

    /// What comes before the end, in order.
    private enum Leave {
        /// It stays.
        case none
        /// What can be shipped is shipped.
        case shipping
        /// `offline` is on its way.
        case offline
    }

    private static let leaveTimeout: Duration = .seconds(3)
    private static let withThree =
        "with MQTT 3.1.1, the broker can't report that it denies a topic: messages to such a topic are lost; check "
        + "its access rules, or set mqtt.protocol: 5 if it supports that"

    private let loop: EventLoop
    private let options: PublisherOptions
    private let owner: any PublisherOwner
    private let report: PublisherReport
    private let connection: BrokerConnection
    private let retained: RetainedMessages
    private let lines: LineShipper
    private var phase = Phase.waiting
    private var leave = Leave.none
    private var plan: ConnectionPlan
    private var planTimer: EventLoop.Timer?
    private var leaveTimer: EventLoop.Timer?
    private var changeWatch: DirectoryWatch?

    /// Reads the checkpoint, and is ready to ``start()``.
    ///
    /// - Parameters:
    ///   - options: where lines are published, and how.
    ///   - loop: in whose turns.
    ///   - owner: who tells it what to do.
    ///   - files: the file system, as far as something is kept there.
    /// - Throws: ``ShippingCheckpoint/Problem`` where the checkpoint is there and can't be read: to begin anew would
    ///   ship everything again.
    package init(
        _ options: PublisherOptions, on loop: EventLoop, owner: any PublisherOwner,
        files: any FileSystemCalls = SystemFiles()
    ) throws(ShippingCheckpoint.Problem) {
        self.options = options
        self.loop = loop
        self.owner = owner
        let now = loop.now
        let checkpoint = try ShippingCheckpoint.read(options.checkpoint)
        report = PublisherReport(at: now)
        connection = BrokerConnection(options, on: loop)
        retained = RetainedMessages(options.retained, on: loop, report, connection, files)
        lines = LineShipper(options, after: checkpoint, on: loop, report, connection, retained, files)
        plan = ConnectionPlan(
            options.backOff, options.version, hasSeenFive: checkpoint?.five == options.place,
            seed: options.seed ?? .random(in: 0 ... .max), at: now)
    }

    deinit { for timer in [planTimer, leaveTimer] { if let timer { loop.end(timer) } } }

    /// Ships in the turns of its loop until it is told to stop, or (where it does not follow) all is shipped; then it
    /// stops the loop.
    ///
    /// - Throws: `Errno` of what waits, which means a mistake of ours or that the process has no descriptor left.
    package func start() throws(Errno) {
        planTimer = loop.makeTimer { [unowned self] _ in connect() }
        leaveTimer = loop.makeTimer { [unowned self] _ in leaveAtOnce() }
        connection.owner = self
        lines.refusalDelay = { [unowned self] in plan.refused() }
        lines.refusalIsOver = { [unowned self] in plan.refusalIsOver() }
        lines.progressed = { [unowned self] in plan.progressed() }
        retained.refusalDelay = { [unowned self] in plan.refused() }
        retained.wake = { [unowned self] in lines.wake(at: $0) }
        try owner.attach(to: loop)
        if options.follows, !options.isTold { changeWatch = try DirectoryWatch(options.directory, on: loop) }
        takeOrders()
        lines.restoreRetained { owner.breathe() }
        loop.beforeWaiting = { [unowned self] in finishTurn() }
    }

    // MARK: A turn

    private func finishTurn() {
        takeOrders()
        if phase == .waiting, leave == .none, let planTimer, loop.time(of: planTimer) == nil {
            loop.set(planTimer, at: plan.nextAttempt)
        }
        takeAnswers()
        if phase == .connected { ship() }
        connection.note(isUnderWay: !lines.isPausing && (lines.inFlight > 0 || !retained.isIdle))
        lines.keepWhereDue()
        takeLeave()
        connection.sendGathered(isWaiting: lines.inFlight > 0)
        connection.updateWatch()
        tellOwner()
        if phase == .ended { loop.stop() }
    }

    private func takeOrders() {
        let orders = owner.takeOrders()
        lines.tell(durable: orders.durable)
        if let status = orders.status { retained.tell(status: status) }
        if let names = orders.names { retained.tell(names: names) }
        if orders.reloads { retained.forgetWhereAsked() }
        // What somebody mended is not waited for.
        if orders.reloads, phase == .waiting, leave == .none, let planTimer { loop.set(planTimer, at: loop.now) }
        guard orders.stops, leave == .none, phase != .ended else { return }
        guard phase == .connected else { return end() }
        leave = .shipping
        if let leaveTimer { loop.set(leaveTimer, at: loop.now + Self.leaveTimeout) }
    }

    private func ship() {
        switch lines.ship() {
        case .caughtUp: if phase == .connected, leave == .none { retained.publish(isRefused: lines.isRefused) }
        case .full: retained.publishStatus()
        case .interrupted: break
        }
    }

    private func tellOwner() {
        let now = loop.now
        switch phase {
        case .waiting: report.set(.waiting, at: now)
        case .connecting: report.set(.connecting, at: now)
        case .connected:
            report.set(lines.isRefused ? .refused : lines.hasCaughtUp ? .connected : .draining, at: now)
        case .ended: report.set(.ended, at: now)
        }
        report.status.nextAttempt = phase == .waiting ? plan.nextAttempt : nil
        report.status.version = phase == .connected ? connection.client?.version.rawValue : nil
        report.status.localTrouble = report.localTrouble
        lines.reportStatus()
        owner.report(report.status)
        for remark in report.takeRemarks() { owner.say(remark) }
    }

    // MARK: The connection

    private func connect() {
        guard phase == .waiting, leave == .none else { return }
        plan.begin()
        // Waiting for a name server may take long; the state should say what is waited for.
        report.set(.connecting, at: loop.now)
        owner.report(report.status)
        phase = .connecting
        retained.begin(isWithout: plan.isWithoutRetained)
        connection.open(plan.version, will: retained.will)
    }

    /// Looks at what the library noted.
    private func takeAnswers() {
        guard let client = connection.client else { return }
        if let (client, answer) = connection.takeAnswer() { connected(client, answer) }
        guard connection.client != nil else { return }
        takeAcknowledgements()
        if connection.client === client { connection.checkEnd() }
    }

    private func connected(_ client: MosquittoClient, _ answer: MosquittoClient.Answer) {
        plan.connected(client.version, at: loop.now)
        phase = .connected
        report.status.connections += 1
        lines.connected(receiveMaximum: answer.receiveMaximum)
        retained.connected(keepsRetained: answer.keepsRetained)
        noteLimitations(client)
        if client.version == .five { lines.note(five: options.place) }
        if !lines.isRefused {
            report.recovered(
                "the broker at \(options.place) accepts lines from \(lines.shipped + 1) on (MQTT \(client.version.rawValue))"
            )
        }
    }

    /// Says what this broker can't do, and what that costs.
    private func noteLimitations(_ client: MosquittoClient) {
        var limitations: [String] = []
        if let limitation = retained.noteLimitation() { limitations.append(limitation) }
        if client.version == .three {
            limitations.append(Self.withThree)
            // Who has set it knows.
            if options.version == .auto { report.say(Self.withThree, of: .versionRefused, at: loop.now) }
        }
        report.status.limitation = limitations.isEmpty ? nil : limitations.joined(separator: "; ")
    }

    // MARK: The end

    /// Takes one step after the other towards the end, as far as the broker has answered.
    private func takeLeave() {
        guard leave != .none || !options.follows, phase == .connected else { return }
        if !options.follows, leave == .none {
            guard lines.hasCaughtUp, lines.inFlight == 0 else { return }
            leave = .shipping
        }
        switch leave {
        case .none: break
        case .shipping:
            guard lines.hasCaughtUp || lines.isRefused, lines.inFlight == 0 || lines.isRefused, retained.isIdle
            else { return }
            guard retained.isWanted else { return sayGoodbye() }
            leave = .offline
            retained.publishAvailability(isOnline: false)
        case .offline:
            guard retained.isIdle else { return }
            sayGoodbye()
        }
    }

    private func sayGoodbye() {
        connection.sayGoodbye()
        end()
    }

    /// Without a goodbye the broker publishes the last will: right, for nothing else has said that this ends.
    private func leaveAtOnce() { if phase == .connected, leave != .none { end() } }

    /// Keeps what is known and stops.
    package func end() {
        connection.drop()
        lines.keep()
        retained.keep()
        phase = .ended
    }
}

extension Publisher: BrokerConnectionOwner {
    func takeAcknowledgements() { lines.takeAcknowledgements() }

    func connectionDropped() {
        lines.connectionDropped()
        retained.connectionDropped()
    }

    func connectionFailed(
        _ trouble: BrokerTrouble, _ version: ConnectionPlan.Version, _ reach: ConnectionPlan.Reach
    ) {
        guard phase != .ended else { return }
        let goesOn = plan.failed(
            trouble, version, reach, wasWithoutRetained: retained.isDoneWithout, at: loop.now)
        if !goesOn {
            report.status.failures += 1
            report.say(
                plan.soonEnds >= ConnectionPlan.soonEndsMax
                    ? .closedSoon(plan.soonEnds, clientID: options.clientID) : trouble, at: loop.now)
        }
        report.status.limitation = nil
        phase = .waiting
        if let leaveTimer { loop.set(leaveTimer, at: nil) }
        if let planTimer { loop.set(planTimer, at: plan.nextAttempt) }
        if leave != .none { end() }
    }
}
