import BaseTypes
import EventLog
import EventLoops
import PublisherProtocol
import SystemPackage

/// Converts lines to messages, and acknowledgements to the checkpoint: in order, without losses, and with few
/// duplicates.
final class LinePublisher {
    /// The result of a turn.
    enum Turn {
        /// All lines that may be read are in flight or acknowledged.
        case caughtUp
        /// There are more lines, but no room for them yet.
        case full
        /// The turn ends here. Retained messages are not published in it.
        case interrupted
    }

    // The maximum number of lines in a turn. After it, other descriptors and timers are handled.
    private static let linesPerTurn = 256
    // The maximum number of lines in flight, also if the broker accepts more or has no limit. The library iterates over
    // all of them for each message and each acknowledgement. More would have no benefit: these fill a path of 10 MB/s
    // with a round trip of 10 ms.
    private static let atATimeMax = 256
    // Acknowledged lines that are not stored are repeated after a kill. Storing each one immediately would wear out SD
    // cards.
    private static let keepInterval: Duration = .seconds(2)
    private static let retryFiles: Duration = .seconds(5)

    private let options: PublisherOptions
    private let loop: EventLoop
    private let report: PublisherReport
    private let connection: BrokerConnection
    private let retained: RetainedMessages

    private var window: PublishingWindow
    private var follower: LineFollower
    private var message: LineMessage
    private var line: [UInt8] = []
    /// The last line that may be read; the maximum integer if all lines in the files may be read.
    private var durable: Int
    /// Makes lines durable; `nil` if the owner reports which lines are durable.
    private var synchronizer: LineSynchronizer?
    private var checkpoint: CheckpointKeeper
    private var trial = TopicTrial()
    /// Whether a line was read that waits until no line is in flight, or that could not be sent yet.
    private var isHeld = false
    /// The position before that line.
    private var readAfter = LinePosition(sequence: 0)
    /// Whether no line is left that may be read.
    private(set) var hasCaughtUp = false

    /// The sequence number of a line that the broker refused. It is sent alone until the broker accepts it.
    private var refused: Int?
    private(set) var isPausing = false
    /// The last line that was set aside. If it is read again, it is not counted again.
    private var setAsideUpTo = 0

    private var keepTimer: EventLoop.Timer?
    private var pauseTimer: EventLoop.Timer?
    // It only starts a turn.
    private var turnTimer: EventLoop.Timer?

    /// Returns the delay after a refusal. This and the next two must be set before the first connection.
    var refusalDelay: () -> Duration = { .zero }
    /// Called when the broker has accepted the line that it had refused.
    var refusalIsOver: () -> Void = {}
    /// Called when the broker has acknowledged more lines.
    var progressed: () -> Void = {}

    /// Creates a value that publishes the lines after a checkpoint.
    init(
        _ options: PublisherOptions, after kept: PublishingCheckpoint?, on loop: EventLoop, _ report: PublisherReport,
        _ connection: BrokerConnection, _ retained: RetainedMessages, _ files: any FileSystemCalls
    ) {
        self.options = options
        self.loop = loop
        self.report = report
        self.connection = connection
        self.retained = retained
        var position = kept?.position ?? LinePosition(sequence: 0)
        if let from = options.from { position = LinePosition(sequence: max(from, 1) - 1) }
        window = PublishingWindow(after: position, capacity: min(max(options.window, 2), 32_768))
        follower = LineFollower(options.directory, from: position)
        message = LineMessage(prefix: options.prefix)
        durable = options.ownerReportsDurable ? 0 : .max
        synchronizer = options.ownerReportsDurable ? nil : LineSynchronizer(options.directory, files)
        checkpoint = CheckpointKeeper(options.checkpoint, five: kept?.five, files)
        report.status.published = position.sequence
        keepTimer = loop.makeTimer { [unowned self] _ in keep() }
        pauseTimer = loop.makeTimer { [unowned self] _ in tryAgain() }
        turnTimer = loop.makeTimer { _ in }
    }

    deinit { for timer in [keepTimer, pauseTimer, turnTimer] { if let timer { loop.end(timer) } } }

    /// The number of lines in flight.
    var inFlight: Int { window.inFlight }
    /// The sequence number up to which the broker has all lines.
    var published: Int { window.published.sequence }
    /// Whether the broker refuses a line.
    var isRefused: Bool { refused != nil }

    /// Notes the last durable line, unless all lines in the files may be read.
    func update(durable number: Int) { if options.ownerReportsDurable { durable = max(durable, number) } }

    /// Updates the retained states with the lines that exist.
    func restoreRetained(breathe: () -> Void) {
        retained.restore(from: options.directory, upTo: durable, prefix: options.prefix, breathe: breathe)
    }

    /// Makes the loop start a turn at `time`, or earlier for another reason. A later call replaces `time`.
    func wake(at time: Instant) {
        guard let turnTimer else { return }
        loop.set(turnTimer, at: time)
    }

    // MARK: The connection

    /// Notes that a broker accepted the connection. It may have set the number of messages that it accepts at a time
    /// (MQTT 5 §3.2.2.3.3).
    func connected(receiveMaximum: Int?) { window.atATime = min(receiveMaximum ?? .max, Self.atATimeMax) }

    /// Stores that this broker supports MQTT 5, if that is new.
    func note(five broker: String) { if checkpoint.note(five: broker) { keep() } }

    /// Notes that the connection has ended. The lines in flight will be sent again.
    func connectionDropped() {
        restart()
        trial.forget()
        hasCaughtUp = false
        isPausing = false
        if let pauseTimer { loop.set(pauseTimer, at: nil) }
    }

    /// Continues with the first line that the broker does not have.
    private func restart() {
        report.status.repeated += window.restart()
        follower.move(to: window.published)
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

    /// Sends lines, as many as exist and as there is room for.
    func publish() -> Turn {
        guard let client = connection.client else { return .interrupted }
        hasCaughtUp = false
        var count = 0
        do {
            // A line that was read ahead may have been erased since the last turn. It must be read again, so that it is
            // not published.
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
                // A refused line is sent alone. Otherwise all lines after it would be sent again and again.
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
                // If this fails, the next attempt starts with this line.
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

    /// Returns whether the line must wait, because it is the first of its topic and other lines are in flight. In MQTT
    /// 3.1.1 a broker cannot refuse a line, so none waits.
    private func mustWait(_ version: ConnectionPlan.Version) -> Bool {
        guard version == .five, message.isPublished, message.sequence != nil else { return false }
        return trial.holds(message.topic, inFlight: window.inFlight)
    }

    private func send(with client: MosquittoClient) throws {
        // The content of an erased line must not be published, nor the fact that something was erased.
        if message.isErased { return passOver() }
        guard message.isPublished else { return setAside("its topic is invalid in MQTT") }
        let payload = line[message.payload]
        guard let sequence = message.sequence else {
            // After an outage, a list of the beacons in view an hour ago is useless, so a running gateway drops it.
            // `publish` sends all lines of the files.
            let isStale = options.ownerReportsDurable && LineAge.isStale(payload, at: loop.now)
            guard !client.wantsWrite, !isStale else {
                report.status.dropped += 1
                return
            }
            do throws(MosquittoClient.Failure) {
                _ = try client.publish(message.topic, payload, .atMostOnce, isRetained: false)
            } catch {
                // QoS 0 is not reliable, so no line waits for this one.
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

    /// Skips a line. It is finished when all lines before it are.
    private func passOver() {
        if let sequence = message.sequence, !message.isPublished { retained.take(line, sequence: sequence) }
        window.setAside(follower.position)
    }

    /// Sets aside a line with a sequence number that no broker can accept, now or later.
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

    /// Handles acknowledgements and refusals, and moves the checkpoint past the lines that the broker has.
    func takeAcknowledgements() {
        guard let client = connection.client, client.hasAcknowledgements else { return }
        let before = window.published.sequence
        connection.acknowledged()
        client.takeAcknowledgements { message, reason in
            if retained.acknowledged(message, reason, client.version) { return }
            if reason >= 0x80 {
                report.status.refusals += 1
                // The lines after it are usually refused for the same reason, so only the first refusal is reported.
                guard !isPausing else { return }
                let name = MosquittoClient.name(reason, client.version)
                refuse(window.published.sequence + 1, .publishRefused(topic: refusedTopic(), reason, name))
            } else if window.acknowledged(message) {
                report.status.acknowledged += 1
            }
        }
        guard window.published.sequence > before else { return }
        if window.inFlight == 0 { trial.passed() }
        progressed()
        if let refused, window.published.sequence >= refused {
            self.refused = nil
            refusalIsOver()
            report.refusalIsOver("the broker accepts line \(refused), which it had refused")
        }
    }

    /// Returns the topic of the first line that the broker does not have; `?` if the line cannot be read.
    private func refusedTopic() -> String {
        var reader = LineFollower(options.directory, from: window.published)
        var (line, message): ([UInt8], LineMessage) = ([], LineMessage(prefix: options.prefix))
        guard (try? reader.next(into: &line, upTo: durable, &message)) ?? false else { return "?" }
        return String(decoding: message.topic.dropLast(), as: UTF8.self)
    }

    /// Notes that a line was refused. It and all lines after it wait, and it is tried again after a delay.
    private func refuse(_ sequence: Int, _ failure: BrokerError) {
        refused = sequence
        isPausing = true
        // Permissions may have changed, also for other topics, so each topic is tried again.
        trial.forget()
        report.say(failure, at: loop.now)
        let delay = refusalDelay()
        if let pauseTimer { loop.set(pauseTimer, at: loop.now + delay) }
    }

    /// Tries the refused line again.
    private func tryAgain() {
        isPausing = false
        restart()
    }

    // MARK: The checkpoint

    /// Stores the checkpoint if many lines would be repeated after a kill, or if some have not been stored for a while.
    func keepWhereDue() {
        guard window.unstoredCount > 0, let keepTimer else { return }
        if let failure = checkpoint.failure(window) { report.note(.checkpoint, failure) }
        if window.unstoredCount >= window.capacity / 2 {
            if loop.time(of: keepTimer) == nil || !report.hasFailure(with: .checkpoint) { keep() }
        } else if loop.time(of: keepTimer) == nil {
            loop.set(keepTimer, at: loop.now + Self.keepInterval)
        }
    }

    /// Stores the checkpoint.
    func keep() {
        guard checkpoint.isStale(window) else { return }
        if let keepTimer { loop.set(keepTimer, at: nil) }
        do throws(Errno) {
            try checkpoint.keep(&window)
            report.note(.checkpoint, nil)
            // There is room again. If no line is in flight, no other event would start a turn to use it.
            if connection.isTaken { wake(at: loop.now) }
        } catch {
            report.note(.checkpoint, checkpoint.failure(window))
            if let keepTimer { loop.set(keepTimer, at: loop.now + Self.retryFiles) }
        }
    }

    // MARK: Status

    /// Updates the status with the progress.
    func reportStatus() {
        report.status.published = window.published.sequence
        report.status.released = retained.released.map { min(window.stored.sequence, $0) } ?? window.stored.sequence
        report.status.inFlight = window.inFlight
        if follower.missed > report.status.missed {
            report.note(true, "lines before \(follower.position.sequence) were deleted before they were published")
        }
        report.status.missed = follower.missed
        report.status.damaged = follower.damaged
        report.status.bytesRead = follower.bytesRead
    }
}
