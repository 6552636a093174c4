import BaseTypes
package import EventLog
package import EventLoops
import PublisherProtocol
package import SystemPackage

/// Publishes the lines of event files to a broker: in order, with QoS 1, without losses, and with few duplicates.
///
/// It follows the files from a stored checkpoint, and sends at most a window of lines after it. When the broker has
/// acknowledged a line and all lines before it, the checkpoint moves (``LinePublisher``). After the lines it publishes
/// states, availability and the status (``RetainedMessages``). Its owner sends it orders and receives its status. It
/// subscribes to nothing, so messages from a broker change nothing.
///
/// This class decides when to connect (``BrokerConnection``), the work of each turn, and how publishing ends.
package final class Publisher {
    /// The phase of the connection.
    private enum Phase {
        /// Waiting for the next attempt of the plan.
        case waiting
        /// An attempt is in progress.
        case connecting
        /// The broker accepts messages.
        case connected
        /// Publishing has ended.
        case ended
    }

    /// The steps before the end, in order.
    private enum Shutdown {
        /// Publishing continues.
        case none
        /// The remaining lines are published.
        case publishing
        /// `offline` is in flight.
        case offline
    }

    private static let shutdownTimeout: Duration = .seconds(3)
    private static let withThree =
        "with MQTT 3.1.1, the broker can't report that it denies a topic: messages to such a topic are lost; check "
        + "its access rules, or set mqtt.protocol: 5 if it supports that"

    private let loop: EventLoop
    private let options: PublisherOptions
    private let owner: any PublisherOwner
    private let report: PublisherReport
    private let connection: BrokerConnection
    private let retained: RetainedMessages
    private let lines: LinePublisher
    private var phase = Phase.waiting
    private var shutdown = Shutdown.none
    private var plan: ConnectionPlan
    private var planTimer: EventLoop.Timer?
    private var shutdownTimer: EventLoop.Timer?
    private var changeWatch: DirectoryWatch?

    /// Reads the checkpoint. After that, ``start()`` can be called.
    ///
    /// - Parameters:
    ///   - options: the settings and the topics.
    ///   - loop: the event loop that runs the publisher.
    ///   - owner: the owner, which sends orders.
    ///   - files: the file system for stored files.
    /// - Throws: ``PublishingCheckpoint/Problem`` if the checkpoint exists and cannot be read. Starting without it
    ///   would publish all lines again.
    package init(
        _ options: PublisherOptions, on loop: EventLoop, owner: any PublisherOwner,
        files: any FileSystemCalls = SystemFiles()
    ) throws(PublishingCheckpoint.Problem) {
        self.options = options
        self.loop = loop
        self.owner = owner
        let now = loop.now
        let checkpoint = try PublishingCheckpoint.read(options.checkpoint)
        report = PublisherReport(at: now)
        connection = BrokerConnection(options, on: loop)
        retained = RetainedMessages(options.retained, on: loop, report, connection, files)
        lines = LinePublisher(options, after: checkpoint, on: loop, report, connection, retained, files)
        plan = ConnectionPlan(
            options.backOff, options.version, hasSeenFive: checkpoint?.five == options.place,
            seed: options.seed ?? .random(in: 0 ... .max), at: now)
    }

    deinit { for timer in [planTimer, shutdownTimer] { if let timer { loop.end(timer) } } }

    /// Starts to publish in the turns of the loop. It continues until the owner requests a stop. If it does not follow
    /// the files, it also ends when all lines are published. At the end it stops the loop.
    ///
    /// - Throws: `Errno` of the event loop or the directory watch: a programming error, or the process has no file
    ///   descriptor left.
    package func start() throws(Errno) {
        planTimer = loop.makeTimer { [unowned self] _ in connect() }
        shutdownTimer = loop.makeTimer { [unowned self] _ in endAtOnce() }
        connection.owner = self
        lines.refusalDelay = { [unowned self] in plan.refused() }
        lines.refusalIsOver = { [unowned self] in plan.refusalIsOver() }
        lines.progressed = { [unowned self] in plan.progressed() }
        retained.refusalDelay = { [unowned self] in plan.refused() }
        retained.wake = { [unowned self] in lines.wake(at: $0) }
        try owner.attach(to: loop)
        if options.follows, !options.ownerReportsDurable {
            changeWatch = try DirectoryWatch(options.directory, on: loop)
        }
        takeOrders()
        lines.restoreRetained { owner.breathe() }
        loop.beforeWaiting = { [unowned self] in finishTurn() }
    }

    // MARK: A turn

    private func finishTurn() {
        takeOrders()
        if phase == .waiting, shutdown == .none, let planTimer, loop.time(of: planTimer) == nil {
            loop.set(planTimer, at: plan.nextAttempt)
        }
        takeAnswers()
        if phase == .connected { publish() }
        connection.note(isUnderWay: !lines.isPausing && (lines.inFlight > 0 || !retained.isIdle))
        lines.keepWhereDue()
        continueShutdown()
        connection.sendGathered(isWaiting: lines.inFlight > 0)
        connection.updateWatch()
        reportToOwner()
        if phase == .ended { loop.stop() }
    }

    private func takeOrders() {
        let orders = owner.takeOrders()
        lines.update(durable: orders.durable)
        if let status = orders.status { retained.update(status: status) }
        if let names = orders.names { retained.update(names: names) }
        if orders.reloads { retained.forgetWhereAsked() }
        // The operator may have fixed the cause, so the next attempt must not wait.
        if orders.reloads, phase == .waiting, shutdown == .none, let planTimer { loop.set(planTimer, at: loop.now) }
        guard orders.stops, shutdown == .none, phase != .ended else { return }
        guard phase == .connected else { return end() }
        shutdown = .publishing
        if let shutdownTimer { loop.set(shutdownTimer, at: loop.now + Self.shutdownTimeout) }
    }

    private func publish() {
        switch lines.publish() {
        case .caughtUp: if phase == .connected, shutdown == .none { retained.publish(isRefused: lines.isRefused) }
        case .full: retained.publishStatus()
        case .interrupted: break
        }
    }

    private func reportToOwner() {
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
        report.status.localFailure = report.localFailure
        lines.reportStatus()
        owner.report(report.status)
        for remark in report.takeRemarks() { owner.say(remark) }
    }

    // MARK: The connection

    private func connect() {
        guard phase == .waiting, shutdown == .none else { return }
        plan.begin()
        // A name server can take long to answer, so the state must be reported before.
        report.set(.connecting, at: loop.now)
        owner.report(report.status)
        phase = .connecting
        retained.begin(isWithout: plan.isWithoutRetained)
        connection.open(plan.version, will: retained.will)
    }

    /// Handles the results that the library has stored.
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
                "the broker at \(options.place) accepts lines from \(lines.published + 1) on (MQTT \(client.version.rawValue))"
            )
        }
    }

    /// Reports the limitations of this broker and their effects.
    private func noteLimitations(_ client: MosquittoClient) {
        var limitations: [String] = []
        if let limitation = retained.noteLimitation() { limitations.append(limitation) }
        if client.version == .three {
            limitations.append(Self.withThree)
            // If the operator has set this version, a warning is not necessary.
            if options.version == .auto { report.say(Self.withThree, of: .versionRefused, at: loop.now) }
        }
        report.status.limitation = limitations.isEmpty ? nil : limitations.joined(separator: "; ")
    }

    // MARK: The end

    /// Continues with the next steps towards the end, as far as the broker has answered.
    private func continueShutdown() {
        guard shutdown != .none || !options.follows, phase == .connected else { return }
        if !options.follows, shutdown == .none {
            guard lines.hasCaughtUp, lines.inFlight == 0 else { return }
            shutdown = .publishing
        }
        switch shutdown {
        case .none: break
        case .publishing:
            guard lines.hasCaughtUp || lines.isRefused, lines.inFlight == 0 || lines.isRefused, retained.isIdle
            else { return }
            guard retained.isWanted else { return sayGoodbye() }
            shutdown = .offline
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

    /// Ends without a DISCONNECT when the time for the last steps is over. Then the broker publishes the last will,
    /// which is right, because the broker has not acknowledged `offline`.
    private func endAtOnce() { if phase == .connected, shutdown != .none { end() } }

    /// Stores the checkpoint and the states, and stops.
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
        _ failure: BrokerError, _ version: ConnectionPlan.Version, _ reach: ConnectionPlan.Reach
    ) {
        guard phase != .ended else { return }
        let retriesAtOnce = plan.failed(
            failure, version, reach, wasWithoutRetained: retained.isDoneWithout, at: loop.now)
        if !retriesAtOnce {
            report.status.failures += 1
            report.say(
                plan.soonEnds >= ConnectionPlan.soonEndsMax
                    ? .closedSoon(plan.soonEnds, clientID: options.clientID) : failure, at: loop.now)
        }
        report.status.limitation = nil
        phase = .waiting
        if let shutdownTimer { loop.set(shutdownTimer, at: nil) }
        if let planTimer { loop.set(planTimer, at: plan.nextAttempt) }
        if shutdown != .none { end() }
    }
}
