import BaseTypes
import BluetoothLE
import EventLog
import EventLoops
import PublisherProtocol
import SystemPackage

/// The retained messages: the present states, the availability, and the status of the gateway.
///
/// States are updated from the lines, and are published only if no line is left to publish. If a broker was unreachable
/// for a day, it receives the beacons that are present now, not those of yesterday. Until then, the gateway is
/// `offline` for subscribers.
final class RetainedMessages {
    /// A message in flight.
    private enum Message: Equatable {
        case state(String)
        case availability(isOnline: Bool)
        case status
    }

    // There are few states, and they are published after the lines, so more messages in flight have no benefit.
    private static let messagesMax = 64
    // The states are stored after this many lines, and at least once an hour if they changed, to limit the lines that a
    // start reads again.
    private static let keptLines = 5000
    private static let keepInterval: Duration = .seconds(3600)
    private static let retryFiles: Duration = .seconds(5)
    // On a slow processor, this many lines take one second.
    private static let linesPerBreath = 2000
    private static let withoutRetained =
        "the broker does not support retained messages: lines are published; states, availability and the status are not"

    private let options: PublisherOptions.Retained?
    private let loop: EventLoop
    private let report: PublisherReport
    private let connection: BrokerConnection
    private let files: any FileSystemCalls

    /// Whether this attempt or connection uses no retained messages.
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

    /// Erased beacons that can be in lines which were not taken yet.
    private var forgotten: [ErasedBeacon] = []
    /// Whether a file contains beacons whose messages must be cleared.
    private var hasForgetting = false
    // Whether the stored states contain topics that must be cleared. When these are cleared, the states must be stored
    // again without them.
    private var keepsWhenIdle = false

    /// Returns the delay after a refusal. It must be set before the first connection.
    var refusalDelay: () -> Duration = { .zero }
    /// Makes the loop start a turn at a time.
    var wake: (Instant) -> Void = { _ in }

    /// Creates a value without states. If `options` is `nil`, no retained message is ever published.
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

    /// Whether retained messages are used in this connection.
    var isWanted: Bool { options != nil && !isDoneWithout }
    /// The topic of the last will for an attempt; `nil` if there is none.
    var will: String? { isWanted ? availabilityTopic : nil }
    /// Whether no message is in flight.
    var isIdle: Bool { messages.isEmpty }
    /// The last line in the stored states, up to which lines may be deleted: 0 if no states are stored yet, and `nil`
    /// if there are no states.
    var released: Int? { state == nil ? nil : keptSequence ?? 0 }

    private var availabilityTopic: String { "\(options?.stem ?? "")/availability" }
    private var statusTopic: String { "\(options?.stem ?? "")/status" }

    // MARK: The states

    /// Reads the stored states, and updates them up to the last line.
    func restore(from directory: FilePath, upTo durable: Int, prefix: String, breathe: () -> Void) {
        guard let options else { return }
        var encoded: [UInt8]?
        do throws(Errno) {
            encoded = try WholeFile.read(options.file, bytesMax: 64 << 20)
        } catch {
            report.note(true, "\(options.file) can't be read: \(error); present states are read from the lines again")
        }
        var state = Self.state(options, encoded)
        state.name(names)
        if encoded != nil { keptSequence = state.sequence }
        // This includes lines that are not published yet. No state is published before all of them are.
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

    /// Clears the messages of erased beacons, which a file in the state directory lists.
    func forgetWhereAsked() {
        guard let options, state != nil else { return }
        do throws(EventLogError) {
            forgotten = try ErasedBeacon.all(in: options.file.removingLastComponent())
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

    /// Removes erased beacons again if all lines that can contain them have been taken.
    private func forgetDone() {
        guard let sequence = state?.sequence else { return }
        for one in forgotten where one.upTo <= sequence {
            state?.forget(one.beacon)
            isStale = true
        }
        forgotten.removeAll { $0.upTo <= sequence }
    }

    private static func state(_ options: PublisherOptions.Retained, _ encoded: [UInt8]?) -> PresentState {
        // Stored states that cannot be used count as missing, so that all states are published again.
        if let encoded,
            let state = try? PresentState(options.state, decoding: encoded, lastWritten: options.lastWritten)
        {
            return state
        }
        return PresentState(options.state, lastWritten: options.lastWritten)
    }

    /// Takes a line that is published or set aside.
    func take(_ line: [UInt8], sequence: Int) {
        state?.take(line, sequence: sequence)
        guard !forgotten.isEmpty else { return }
        forgetDone()
        if forgotten.isEmpty { keep() }
    }

    /// Sets the payload of `status`. It replaces one that was not published yet.
    func update(status: [UInt8]) { statusMessage = status }

    /// Sets the names of beacons.
    func update(names: [BeaconIdentity: PublishedName]) {
        self.names = names
        state?.name(names)
    }

    // MARK: The connection

    /// Notes that an attempt starts, possibly without retained messages.
    func begin(isWithout: Bool) { isDoneWithout = isWithout }

    /// Notes that a broker accepted the connection.
    func connected(keepsRetained: Bool) {
        // The broker may have lost the retained messages, so all are published again.
        state?.reconnected()
        state?.repeatAll()
        pauseUntil = nil
        // The status that waits reports that there is no connection.
        statusMessage = nil
        if !keepsRetained { isDoneWithout = true }
    }

    /// Returns a description of the messages that are not published because the broker does not support retained
    /// messages; `nil` if it supports them, or if none are configured. The description is logged at most once an hour.
    func noteLimitation() -> String? {
        guard options != nil, isDoneWithout else { return nil }
        report.say(Self.withoutRetained, of: .retainRefused, at: loop.now)
        return Self.withoutRetained
    }

    /// Notes that the connection has ended. All messages in flight are lost.
    func connectionDropped() {
        messages = [:]
        isOnline = false
    }

    // MARK: Publishing

    /// Publishes the messages that follow the lines, as many as there is room for.
    ///
    /// - Parameter isRefused: whether the broker refuses lines. If so, that error stays in the status.
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
            if !isRefused { report.status.brokerFailure = nil }
            publishAvailability(isOnline: true)
        }
        keepWhereDue()
    }

    /// Publishes the status of the gateway, if there is a new one.
    func publishStatus() {
        guard isWanted, let text = statusMessage, !messages.values.contains(.status),
            messages.count < Self.messagesMax, connection.client?.wantsWrite == false
        else { return }
        statusMessage = nil
        publish(statusTopic, text, isRetained: true, .status)
    }

    /// Publishes whether the gateway is online.
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

    /// Notes that the broker acknowledged or refused a message.
    ///
    /// - Returns: whether it is a retained message, not a line.
    func acknowledged(_ number: Int32, _ reason: UInt8, _ version: ConnectionPlan.Version) -> Bool {
        guard !messages.isEmpty, let message = messages.removeValue(forKey: number) else { return false }
        guard reason < 0x80 else {
            if reason == MosquittoClient.retainNotSupported {
                // The broker reports this late. States have no use if the broker does not store them.
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

    /// Notes that a message was refused. The states and the availability are all published again after a delay. Lines
    /// are published meanwhile.
    private func refused(_ failure: BrokerError) {
        report.status.refusals += 1
        report.say(failure, at: loop.now)
        guard pauseUntil == nil else { return }
        let until = loop.now + refusalDelay()
        pauseUntil = until
        isOnline = false
        state?.repeatAll()
        wake(until)
    }

    // MARK: The file

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

    /// Deletes the file with erased beacons after the states were stored. The stored states contain these beacons only
    /// in topics that must be cleared.
    private func forgetTheOrder(in directory: FilePath) {
        guard hasForgetting, forgotten.isEmpty else { return }
        hasForgetting = false
        do throws(EventLogError) { try ErasedBeacon.removeAll(in: directory) } catch {
            report.note(true, "\(error); the retained messages of the beacon were deleted all the same")
        }
    }

    /// Stores the states.
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
