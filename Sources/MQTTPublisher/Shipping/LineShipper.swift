import BaseTypes
import EventLog
import EventLoops
import PublisherProtocol
import SystemPackage

/// Lines to messages, and acknowledgements to the checkpoint: in order, none lost, and few twice.
final class LineShipper {
    /// What came of a turn.
    enum Turn {
        /// All that may be read is on its way, or shipped.
        case caughtUp
        /// There is more, for which there is no room yet.
        case full
        /// Nothing else is to be done in this turn.
        case interrupted
    }

    // A turn handles so many lines; then what is ready is looked at again.
    private static let linesPerTurn = 256
    // Where the broker names no limit. The library walks over all of them with each message and each acknowledgement, and
    // more are of no use: these fill a path of 10 MB/s with a round trip of 10 ms.
    private static let atATimeMax = 256
    // What is acknowledged and not kept comes twice after a kill; what is kept at once wears out SD cards.
    private static let keepInterval: Duration = .seconds(2)
    private static let retryFiles: Duration = .seconds(5)

    private let options: PublisherOptions
    private let loop: EventLoop
    private let report: PublisherReport
    private let connection: BrokerConnection
    private let retained: RetainedMessages

    private var window: ShippingWindow
    private var follower: LineFollower
    private var message: LineMessage
    private var line: [UInt8] = []
    /// Up to where lines may be read; all, where the files say.
    private var durable: Int
    /// Puts lines on the disk; absent where somebody else says which are.
    private var synchronizer: LineSynchronizer?
    private var checkpoint: CheckpointKeeper
    private var trial = TopicTrial()
    /// Whether a line was read that waits until nothing is under way.
    private var isHeld = false
    /// Where that line was read from.
    private var readAfter = LinePosition(sequence: 0)
    /// Whether nothing is left that may be read.
    private(set) var hasCaughtUp = false

    /// A message that the broker refused: it is tried alone until it gets through.
    private var refused: Int?
    private(set) var isPausing = false
    /// The last line that was set aside: read again, it is not counted again.
    private var setAsideUpTo = 0

    private var keepTimer: EventLoop.Timer?
    private var pauseTimer: EventLoop.Timer?
    // It only brings about a turn.
    private var turnTimer: EventLoop.Timer?

    /// Says for how long a refusal pauses; set before the first connection, as the next two are.
    var refusalDelay: () -> Duration = { .zero }
    /// What was refused is taken.
    var refusalIsOver: () -> Void = {}
    /// The broker has lines that it had not.
    var progressed: () -> Void = {}

    /// Ships what comes after a checkpoint.
    init(
        _ options: PublisherOptions, after kept: ShippingCheckpoint?, on loop: EventLoop, _ report: PublisherReport,
        _ connection: BrokerConnection, _ retained: RetainedMessages, _ files: any FileSystemCalls
    ) {
        self.options = options
        self.loop = loop
        self.report = report
        self.connection = connection
        self.retained = retained
        var position = kept?.position ?? LinePosition(sequence: 0)
        if let from = options.from { position = LinePosition(sequence: max(from, 1) - 1) }
        window = ShippingWindow(after: position, capacity: min(max(options.window, 2), 32_768))
        follower = LineFollower(options.directory, from: position)
        message = LineMessage(prefix: options.prefix)
        durable = options.isTold ? 0 : .max
        synchronizer = options.isTold ? nil : LineSynchronizer(options.directory, files)
        checkpoint = CheckpointKeeper(options.checkpoint, five: kept?.five, files)
        report.status.shipped = position.sequence
        keepTimer = loop.makeTimer { [unowned self] _ in keep() }
        pauseTimer = loop.makeTimer { [unowned self] _ in tryAgain() }
        turnTimer = loop.makeTimer { _ in }
    }

    deinit { for timer in [keepTimer, pauseTimer, turnTimer] { if let timer { loop.end(timer) } } }

    /// How many lines are under way.
    var inFlight: Int { window.inFlight }
    /// Up to where the broker has all lines.
    var shipped: Int { window.shipped.sequence }
    /// Whether the broker refuses a line.
    var isRefused: Bool { refused != nil }

    /// Lines up to this number are durable.
    func tell(durable number: Int) { if options.isTold { durable = max(durable, number) } }

    /// Has the fold of states take the lines that are there.
    func restoreRetained(breathe: () -> Void) {
        retained.restore(from: options.directory, upTo: durable, prefix: options.prefix, breathe: breathe)
    }

    /// Has the loop turn at a moment, or before.
    func wake(at time: Instant) {
        guard let turnTimer else { return }
        loop.set(turnTimer, at: time)
    }

    // MARK: The connection

    /// A broker took the connection, and may have said how many messages it takes at a time (MQTT 5 §3.2.2.3.3).
    func connected(receiveMaximum: Int?) { window.atATime = min(receiveMaximum ?? .max, Self.atATimeMax) }

    /// Keeps that this broker speaks MQTT 5, where that is news.
    func note(five broker: String) { if checkpoint.note(five: broker) { keep() } }

    /// What was under way comes again.
    func connectionDropped() {
        restart()
        trial.forget()
        hasCaughtUp = false
        isPausing = false
        if let pauseTimer { loop.set(pauseTimer, at: nil) }
    }

    /// Reads on from the first line that the broker does not have.
    private func restart() {
        report.status.repeated += window.restart()
        follower.move(to: window.shipped)
        trial.abandon()
        isHeld = false
    }

    // MARK: Lines

    private func readNext() throws(EventLogError) -> Bool {
        do throws(Errno) {
            return try follower.next(into: &line, upTo: durable, &message)
        } catch {
            throw follower.failure(error)
        }
    }

    /// Sends what there is and what there is room for.
    func ship() -> Turn {
        guard let client = connection.client else { return .interrupted }
        hasCaughtUp = false
        var count = 0
        do {
            // What has been erased since the last turn is not shipped out of what was read ahead.
            if try follower.refresh(), isHeld {
                follower.move(to: readAfter)
                isHeld = false
            }
            while !isPausing, !client.wantsWrite {
                guard count < Self.linesPerTurn else {
                    wake(at: loop.now)
                    return .interrupted
                }
                count += 1
                var room = window.room
                // What was refused is tried alone: all that follows it would come again and again.
                if refused != nil || trial.isUnderWay { room = min(room, 1 - window.inFlight) }
                guard room > 0 else { break }
                if !isHeld {
                    readAfter = follower.position
                    guard try readNext() else {
                        hasCaughtUp = true
                        break
                    }
                }
                isHeld = mustWait(client.version)
                guard !isHeld else { break }
                // Where that fails it is tried again with this line.
                isHeld = true
                try synchronizer?.synchronize(follower.position)
                isHeld = false
                try send(with: client)
            }
            report.note(.events, nil)
        } catch let error as EventLogError {
            report.note(.events, "\(error)")
            wake(at: loop.now + Self.retryFiles)
            return .interrupted
        } catch let error as Errno {
            report.note(.events, "\(options.directory) can't be read: \(error)")
            wake(at: loop.now + Self.retryFiles)
            return .interrupted
        } catch let error as MosquittoClient.Failure {
            failed(error)
            return .interrupted
        } catch {
            return .interrupted
        }
        return hasCaughtUp ? .caughtUp : .full
    }

    /// Whether the line that was read is the first of its topic, and others are under way. MQTT 3.1.1 has no refusal.
    private func mustWait(_ version: ConnectionPlan.Version) -> Bool {
        guard version == .five, message.isPublished, message.sequence != nil else { return false }
        return trial.holds(message.topic, inFlight: window.inFlight)
    }

    private func send(with client: MosquittoClient) throws {
        // Whom it told of is nobody's to know any more, and that somebody was told of is nothing to be told.
        if message.isErased { return passOver() }
        guard message.isPublished else { return setAside("its topic is invalid in MQTT") }
        let payload = line[message.payload]
        guard let sequence = message.sequence else {
            // After an outage nobody wants to know who was in view an hour ago; who ships files wants all that is in them.
            let isStale = options.isTold && LineAge.isStale(payload, at: loop.now)
            guard !client.wantsWrite, !isStale else {
                report.status.dropped += 1
                return
            }
            do throws(MosquittoClient.Failure) {
                _ = try client.publish(message.topic, payload, .atMostOnce, isRetained: false)
            } catch {
                // It is not assured, and nothing waits for it.
                if case .ended = error { throw error }
                report.status.dropped += 1
            }
            return
        }
        retained.take(line, sequence: sequence)
        do throws(MosquittoClient.Failure) {
            let number = try client.publish(message.topic, payload, .atLeastOnce, isRetained: false, sequence: sequence)
            window.sent(number, follower.position)
            connection.sent()
        } catch {
            guard case .impossible(let why) = error else { throw error }
            trial.abandon()
            setAside(why)
        }
    }

    /// A line that is not shipped: it is done with when what came before it is.
    private func passOver() {
        if let sequence = message.sequence, !message.isPublished { retained.take(line, sequence: sequence) }
        window.setAside(follower.position)
    }

    /// A line that has a number and can't be shipped, to no broker and never.
    private func setAside(_ why: String) {
        let position = follower.position
        passOver()
        guard position.sequence > setAsideUpTo else { return }
        setAsideUpTo = position.sequence
        report.noteSetAside(
            "line \(position.sequence) can't be published to any broker (\(why)), and is skipped", at: loop.now)
    }

    private func failed(_ failure: MosquittoClient.Failure) {
        guard case .unacceptable(let why) = failure else { return connection.over(failure) }
        let topic = String(decoding: message.topic.dropLast(), as: UTF8.self)
        refuse(follower.position.sequence, .unacceptable(topic: topic, why))
    }

    // MARK: Acknowledgements

    /// Moves the checkpoint over what the broker has.
    func takeAcknowledgements() {
        guard let client = connection.client, client.hasAcknowledgements else { return }
        let before = window.shipped.sequence
        connection.acknowledged()
        client.takeAcknowledgements { message, reason in
            if retained.acknowledged(message, reason, client.version) { return }
            if reason >= 0x80 {
                report.status.refusals += 1
                // Those behind it are refused for the same reason, mostly.
                guard !isPausing else { return }
                let name = MosquittoClient.name(reason, client.version)
                refuse(window.shipped.sequence + 1, .publishRefused(topic: refusedTopic(), reason, name))
            } else if window.acknowledged(message) {
                report.status.acknowledged += 1
            }
        }
        guard window.shipped.sequence > before else { return }
        if window.inFlight == 0 { trial.passed() }
        progressed()
        if let refused, window.shipped.sequence >= refused {
            self.refused = nil
            refusalIsOver()
            report.refusalIsOver("the broker accepts line \(refused), which it had refused")
        }
    }

    /// The topic of the first line that the broker does not have.
    private func refusedTopic() -> String {
        var reader = LineFollower(options.directory, from: window.shipped)
        var (line, message): ([UInt8], LineMessage) = ([], LineMessage(prefix: options.prefix))
        guard (try? reader.next(into: &line, upTo: durable, &message)) ?? false else { return "?" }
        return String(decoding: message.topic.dropLast(), as: UTF8.self)
    }

    /// A line was refused: it and all after it wait, and it is tried again after a while.
    private func refuse(_ sequence: Int, _ trouble: BrokerTrouble) {
        refused = sequence
        isPausing = true
        // Rights are others now, perhaps for other topics too.
        trial.forget()
        report.say(trouble, at: loop.now)
        let delay = refusalDelay()
        if let pauseTimer { loop.set(pauseTimer, at: loop.now + delay) }
    }

    /// Tries again what was refused.
    private func tryAgain() {
        isPausing = false
        restart()
    }

    // MARK: The checkpoint

    /// Keeps the checkpoint where many lines would come twice, or some for long.
    func keepWhereDue() {
        guard window.unkept > 0, let keepTimer else { return }
        if let trouble = checkpoint.trouble(window) { report.note(.checkpoint, trouble) }
        if window.unkept >= window.capacity / 2 {
            if loop.time(of: keepTimer) == nil || !report.hasTrouble(with: .checkpoint) { keep() }
        } else if loop.time(of: keepTimer) == nil {
            loop.set(keepTimer, at: loop.now + Self.keepInterval)
        }
    }

    /// Puts the checkpoint on the disk.
    func keep() {
        guard checkpoint.isStale(window) else { return }
        if let keepTimer { loop.set(keepTimer, at: nil) }
        do throws(Errno) {
            try checkpoint.keep(&window)
            report.note(.checkpoint, nil)
            // There is room again. Where nothing is under way, nothing else would have it used.
            if connection.isTaken { wake(at: loop.now) }
        } catch {
            report.note(.checkpoint, checkpoint.trouble(window))
            if let keepTimer { loop.set(keepTimer, at: loop.now + Self.retryFiles) }
        }
    }

    // MARK: How it stands

    /// Says how far it has come.
    func reportStatus() {
        report.status.shipped = window.shipped.sequence
        report.status.released = retained.released.map { min(window.kept.sequence, $0) } ?? window.kept.sequence
        report.status.inFlight = window.inFlight
        if follower.missed > report.status.missed {
            report.note(true, "lines before \(follower.position.sequence) were deleted before they were published")
        }
        report.status.missed = follower.missed
        report.status.damaged = follower.damaged
        report.status.octets = follower.octets
    }
}
