import BaseTypes
import BluetoothLE
import EventLog
import EventLoops
import PublisherProtocol
import SystemPackage

/// What is retained at the broker: present states, whether the gateway is there, how it stands.
///
/// States follow the lines, and go out only where there is no line left to ship: a broker that was away for a day is told
/// who is there now, and not who was there yesterday. Until then the gateway is `offline` to those who listen.
final class RetainedMessages {
    /// A message on its way.
    private enum Message: Equatable {
        case state(String)
        case availability(isOnline: Bool)
        case status
    }

    // States are few and go behind the lines; more of them at a time gain nothing.
    private static let messagesMax = 64
    // A start folds at most so many lines again, and an hour's.
    private static let keptLines = 5000
    private static let keepInterval: Duration = .seconds(3600)
    private static let retryFiles: Duration = .seconds(5)
    // A second's work, where the processor is slow.
    private static let linesPerBreath = 2000
    private static let withoutRetained =
        "the broker does not support retained messages: lines are published; states, availability and the status are not"

    private let options: PublisherOptions.Retained?
    private let loop: EventLoop
    private let report: PublisherReport
    private let connection: BrokerConnection
    private let files: any FileSystemCalls

    /// Whether this attempt, or connection, does without retained messages.
    private(set) var isDoneWithout = false
    private var state: PresentState?
    private var messages: [Int32: Message] = [:]
    private var changes: [Publication] = []
    private var isOnline = false
    private var statusMessage: [UInt8]?
    private var names: [BeaconIdentity: PublishedName] = [:]
    private var keptSequence: Int?
    private var isStale = false
    private var pauseUntil: Instant?
    private var keepTimer: EventLoop.Timer?

    /// Beacons that were erased, of which lines that are still to be taken may tell.
    private var forgotten: [ForgottenBeacon] = []
    /// Whether a file names beacons whose messages are taken back.
    private var hasForgetting = false
    // Its file names the topics to be cleared; once they are, it shall not.
    private var keepsWhenIdle = false

    /// Says for how long a refusal pauses; set before the first connection.
    var refusalDelay: () -> Duration = { .zero }
    /// Has the loop turn at a moment.
    var wake: (Instant) -> Void = { _ in }

    /// Nothing that was published yet; with `nil` nothing ever is.
    init(
        _ options: PublisherOptions.Retained?, on loop: EventLoop, _ report: PublisherReport,
        _ connection: BrokerConnection, _ files: any FileSystemCalls
    ) {
        self.options = options
        self.loop = loop
        self.report = report
        self.connection = connection
        self.files = files
        keepTimer = loop.makeTimer { [unowned self] _ in keep() }
    }

    deinit { if let keepTimer { loop.end(keepTimer) } }

    /// Whether anything is to be retained in this connection.
    var isWanted: Bool { options != nil && !isDoneWithout }
    /// The topic of the last will of an attempt.
    var will: String? { isWanted ? availabilityTopic : nil }
    /// Whether nothing is on its way.
    var isIdle: Bool { messages.isEmpty }
    /// Up to which line its own file stands, and so lines may go; absent where there is none.
    var released: Int? { state == nil ? nil : keptSequence ?? 0 }

    private var availabilityTopic: String { "\(options?.stem ?? "")/availability" }
    private var statusTopic: String { "\(options?.stem ?? "")/status" }

    // MARK: The fold

    /// Makes the fold, and brings it up to the last line there is.
    func restore(from directory: FilePath, upTo durable: Int, prefix: String, breathe: () -> Void) {
        guard let options else { return }
        var encoded: [UInt8]?
        do throws(Errno) {
            encoded = try WholeFile.read(options.file, octetsMax: 64 << 20)
        } catch {
            report.note(true, "\(options.file) can't be read: \(error); present states are read from the lines again")
        }
        var state = Self.state(options, encoded)
        state.name(names)
        if encoded != nil { keptSequence = state.sequence }
        // What waits to be shipped too: nothing is said of it before all of it is.
        var reader = LineFollower(directory, from: LinePosition(sequence: state.sequence))
        var (line, message): ([UInt8], LineMessage) = ([], LineMessage(prefix: prefix))
        var (taken, hasAdopted) = (0, false)
        do throws(Errno) {
            while try reader.next(into: &line, upTo: durable, &message) {
                taken += 1
                if taken % Self.linesPerBreath == 0 { breathe() }
                guard let sequence = message.sequence else { continue }
                if !hasAdopted, let kept = options.kept, sequence > kept.sequence {
                    hasAdopted = true
                    state.adopt(kept.snapshot, at: kept.sequence, offset: kept.offset)
                }
                state.take(line, sequence: sequence)
            }
        } catch {
            report.note(
                true, "\(reader.failure(error)); present states can lack the lines there")
        }
        if !hasAdopted, let kept = options.kept {
            state.adopt(kept.snapshot, at: kept.sequence, offset: kept.offset)
        }
        self.state = state
        forgetWhereAsked()
    }

    /// Takes back what was said of beacons that were erased meanwhile.
    func forgetWhereAsked() {
        guard let options, state != nil else { return }
        do throws(EventLogError) {
            forgotten = try ForgottenBeacon.all(in: options.file.removingLastComponent())
        } catch {
            return report.note(true, "retained messages of an erased beacon stay at the broker: \(error)")
        }
        guard !forgotten.isEmpty else { return }
        hasForgetting = true
        for one in forgotten { state?.forget(one.beacon) }
        (isStale, keepsWhenIdle) = (true, true)
        forgetDone()
        keep()
    }

    /// What was told up to a beacon's erasure has been taken.
    private func forgetDone() {
        guard let sequence = state?.sequence else { return }
        for one in forgotten where one.upTo <= sequence {
            state?.forget(one.beacon)
            isStale = true
        }
        forgotten.removeAll { $0.upTo <= sequence }
    }

    private static func state(_ options: PublisherOptions.Retained, _ encoded: [UInt8]?) -> PresentState {
        // What can't be used is as good as none: all is said anew.
        if let encoded,
            let state = try? PresentState(options.state, decoding: encoded, lastWritten: options.lastWritten)
        {
            return state
        }
        return PresentState(options.state, lastWritten: options.lastWritten)
    }

    /// Takes a line that is shipped, or set aside.
    func take(_ line: [UInt8], sequence: Int) {
        state?.take(line, sequence: sequence)
        guard !forgotten.isEmpty else { return }
        forgetDone()
        if forgotten.isEmpty { keep() }
    }

    /// What the gateway's status is to say; in place of what was not sent yet.
    func tell(status: [UInt8]) { statusMessage = status }

    /// What beacons are called from now on.
    func tell(names: [BeaconIdentity: PublishedName]) {
        self.names = names
        state?.name(names)
    }

    // MARK: The connection

    /// An attempt begins, perhaps at a broker that keeps nothing.
    func begin(isWithout: Bool) { isDoneWithout = isWithout }

    /// A broker took the connection.
    func connected(keepsRetained: Bool) {
        // What it kept for others may have gone with it.
        state?.reconnected()
        state?.repeatAll()
        pauseUntil = nil
        // It says that there is no connection.
        statusMessage = nil
        if !keepsRetained { isDoneWithout = true }
    }

    /// What is not published since the broker keeps nothing, said once an hour at most; `nil` where all is.
    func noteLimitation() -> String? {
        guard options != nil, isDoneWithout else { return nil }
        report.say(Self.withoutRetained, of: .retainRefused, at: loop.now)
        return Self.withoutRetained
    }

    /// All that was on its way is lost.
    func connectionDropped() {
        messages = [:]
        isOnline = false
    }

    // MARK: What is published

    /// Publishes what is behind the lines, as far as there is room.
    ///
    /// - Parameter isRefused: whether the broker refuses lines, which is what there is to be said then.
    func publish(isRefused: Bool) {
        guard let client = connection.client else { return }
        if isDoneWithout { return keepWhereDue() }
        publishStatus()
        if let pauseUntil, loop.now < pauseUntil { return }
        pauseUntil = nil
        while state?.hasChanges ?? false, connection.client === client {
            let room = Self.messagesMax - messages.count
            guard room > 0, !client.wantsWrite else { return }
            changes.removeAll(keepingCapacity: true)
            state?.nextChanges(room, into: &changes)
            guard !changes.isEmpty else { break }
            isStale = true
            for change in changes {
                publish(change.topic, change.payload, isRetained: change.isRetained, .state(change.topic))
            }
        }
        if options != nil, !isOnline {
            isOnline = true
            if !isRefused { report.status.trouble = nil }
            publishAvailability(isOnline: true)
        }
        keepWhereDue()
    }

    /// Publishes how the gateway stands, where there is news of it.
    func publishStatus() {
        guard isWanted, let text = statusMessage, !messages.values.contains(.status),
            messages.count < Self.messagesMax, connection.client?.wantsWrite == false
        else { return }
        statusMessage = nil
        publish(statusTopic, text, isRetained: true, .status)
    }

    /// Publishes whether the gateway is there.
    func publishAvailability(isOnline: Bool) {
        guard options != nil else { return }
        publish(
            availabilityTopic, Array((isOnline ? "online" : "offline").utf8), isRetained: true,
            .availability(isOnline: isOnline))
    }

    private func publish(_ topic: String, _ payload: [UInt8], isRetained: Bool, _ message: Message) {
        guard let client = connection.client else { return }
        do throws(MosquittoClient.Failure) {
            let number = try client.publish(
                Array(topic.utf8) + [0], payload[...], .atLeastOnce, isRetained: isRetained)
            messages[number] = message
            connection.sent()
        } catch {
            switch error {
            case .ended: connection.over(error)
            case .unacceptable(let why): refused(.unacceptable(topic: topic, why))
            case .impossible(let why):
                report.noteSetAside(
                    "the message to \(topic) can't be published to any broker (\(why)), and is skipped", at: loop.now)
                if case .state(let topic) = message { state?.acknowledge(topic) }
            }
        }
    }

    /// The broker acknowledged, or refused, a message.
    ///
    /// - Returns: whether it is one of these, and no line.
    func acknowledged(_ number: Int32, _ reason: UInt8, _ version: ConnectionPlan.Version) -> Bool {
        guard !messages.isEmpty, let message = messages.removeValue(forKey: number) else { return false }
        guard reason < 0x80 else {
            if reason == MosquittoClient.retainNotSupported {
                // It says so late: states are of no use where nobody keeps them.
                isDoneWithout = true
                let limitation = noteLimitation()
                report.status.limitation = report.status.limitation ?? limitation
                return true
            }
            let topic =
                switch message {
                case .state(let topic): topic
                case .availability: availabilityTopic
                case .status: statusTopic
                }
            refused(.publishRefused(topic: topic, reason, MosquittoClient.name(reason, version)))
            return true
        }
        report.status.retained += 1
        if case .state(let topic) = message { state?.acknowledge(topic) }
        return true
    }

    /// Lines are shipped all the same; what is retained is tried again, all of it, after a while.
    private func refused(_ trouble: BrokerTrouble) {
        report.status.refusals += 1
        report.say(trouble, at: loop.now)
        guard pauseUntil == nil else { return }
        let until = loop.now + refusalDelay()
        pauseUntil = until
        isOnline = false
        state?.repeatAll()
        wake(until)
    }

    // MARK: Its file

    private func keepWhereDue() {
        if keptSequence == nil { keep() }
        if keepsWhenIdle, forgotten.isEmpty, messages.isEmpty, !(state?.hasChanges ?? false) {
            (isStale, keepsWhenIdle) = (true, false)
            keep()
        }
        if let sequence = state?.sequence, sequence - (keptSequence ?? 0) >= Self.keptLines { keep() }
        if let keepTimer, state != nil, loop.time(of: keepTimer) == nil, isStale || isBehind {
            loop.set(keepTimer, at: loop.now + Self.keepInterval)
        }
    }

    private var isBehind: Bool { (state?.sequence ?? 0) > (keptSequence ?? 0) }

    /// The fold on the disk says what the order asked for: whom it named stands there as topics to be cleared, at most.
    private func forgetTheOrder(in directory: FilePath) {
        guard hasForgetting, forgotten.isEmpty else { return }
        hasForgetting = false
        do throws(EventLogError) { try ForgottenBeacon.removeAll(in: directory) } catch {
            report.note(true, "\(error); the retained messages of the beacon were deleted all the same")
        }
    }

    /// Puts the fold on the disk.
    func keep() {
        guard let options, let state, keptSequence == nil || isStale || isBehind else { return }
        if let keepTimer { loop.set(keepTimer, at: nil) }
        do throws(Errno) {
            try WholeFile.replace(options.file, with: state.encoded, files: files)
            keptSequence = state.sequence
            isStale = false
            report.note(.state, nil)
            forgetTheOrder(in: options.file.removingLastComponent())
        } catch {
            report.note(.state, "\(options.file) can't be written: \(error)")
            if let keepTimer { loop.set(keepTimer, at: loop.now + Self.retryFiles) }
        }
    }
}
