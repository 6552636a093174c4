import BaseTypes
import CNATS
import EventLoops
import Glibc
import SiteMonitoring
import Synchronization
import SystemPackage

/// One attempt to connect to a site's servers, in its own thread, because the library blocks for each server in turn.
private final class NATSAttempt: Sendable {
    private let outcome = Mutex(Result<NATSConnection, SiteLogError>?.none)

    /// Starts an attempt.
    static func begin(_ options: NATSOptions, address: String, _ wake: WakeUp) throws(Errno) -> NATSAttempt {
        let attempt = NATSAttempt()
        _ = try OwnThread(named: "site-log") {
            // No other thread joins this one.
            pthread_detach(pthread_self())
            let outcome: Result<NATSConnection, SiteLogError>
            do throws(SiteLogError) {
                outcome = .success(try NATSConnection(options, address: address, wake))
            } catch {
                outcome = .failure(error)
            }
            attempt.outcome.withLock { $0 = outcome }
            wake.signal()
        }
        return attempt
    }

    /// The result of the attempt; `nil` before it ends.
    var result: Result<NATSConnection, SiteLogError>? { outcome.withLock { $0 } }
}

/// The connection of a site's log: the current connection, or the next attempt. The pause before an attempt grows with
/// each lastFailure.
final class NATSLink {
    static let pauseFirst = Duration.milliseconds(250)
    static let pauseMost = Duration.seconds(30)

    private enum State {
        case waiting(until: Instant)
        case trying(NATSAttempt)
        case open(NATSConnection)
    }

    /// The prefix of the subjects for answers. Each answer has this prefix, a dot, and its own word.
    let address: String
    private let options: NATSOptions
    private let wake: WakeUp
    private var state: State
    private var backOff = BackOff(first: pauseFirst, most: pauseMost)
    private var lastFailure: SiteLogError?
    // Dropped messages of connections that are closed.
    private var droppedBefore = 0

    /// Starts to connect.
    ///
    /// - Throws: ``SiteLogError/unavailable(_:)`` if there is no free descriptor or thread, or the library fails to
    ///   create an address for answers.
    init(_ options: NATSOptions) throws(SiteLogError) {
        self.options = options
        var word: UnsafeMutablePointer<CChar>?
        guard unsafe natsInbox_Create(&word) == NATS_OK, let made = unsafe word else {
            throw .unavailable("the library can't create an address for answers")
        }
        address = unsafe String(cString: made)
        unsafe natsInbox_Destroy(made)
        do throws(Errno) {
            wake = try WakeUp()
            state = .trying(try NATSAttempt.begin(options, address: address, wake))
        } catch {
            throw .unavailable(
                "no descriptor or thread is available for \(options.servers.joined(separator: ", ")): \(error)")
        }
    }

    /// The descriptor that the loop must watch.
    var descriptor: FileDescriptor { wake.descriptor }

    /// The time of the next attempt; `nil` if a connection exists or an attempt is active.
    var nextDeadline: Instant? { if case .waiting(let end) = state { end } else { nil } }

    /// Whether a server is connected.
    var isConnected: Bool { connection?.inbox.status.state == .connected }

    /// The number of messages that were dropped because the inbox was full.
    var dropped: Int { droppedBefore + (connection?.inbox.status.dropped ?? 0) }

    /// The reason why no server is connected; `nil` if one is.
    var failure: SiteLogError? {
        guard let connection else { return lastFailure ?? .unavailable("\(servers): no server has answered yet") }
        let status = connection.inbox.status
        guard status.state != .connected else { return nil }
        return .unavailable("\(servers): the connection is lost" + (status.lastError.map { "; \($0)" } ?? ""))
    }

    /// Sends a message.
    ///
    /// - Throws: ``SiteLogError`` if it was not sent.
    func send(
        _ bytes: [UInt8], to subject: String, answer word: String, header: (name: String, value: String)?
    ) throws(SiteLogError) {
        guard let connection else { throw failure ?? .unavailable(servers) }
        try connection.send(bytes, to: subject, answer: "\(address).\(word)", header: header)
    }

    /// Returns the messages and denials that arrived, and starts an attempt if it is due.
    func take(at now: Instant) -> (messages: [NATSInbox.Message], denials: [String]) {
        wake.clear()
        switch state {
        case .waiting(let end) where end <= now: tryAgain(at: now)
        case .trying(let attempt):
            switch attempt.result {
            case .success(let connection)?:
                backOff.reset()
                lastFailure = nil
                state = .open(connection)
            case .failure(let error)?: fail(error, at: now)
            case nil: break
            }
        default: break
        }
        guard let connection else { return ([], []) }
        defer {
            if connection.inbox.status.state == .closed {
                droppedBefore += connection.inbox.status.dropped
                fail(.unavailable("\(servers): the connection was closed"), at: now)
            }
        }
        return (connection.inbox.take(), connection.inbox.takeDenials())
    }

    private var servers: String { options.servers.joined(separator: ", ") }
    private var connection: NATSConnection? { if case .open(let connection) = state { connection } else { nil } }

    private func fail(_ error: SiteLogError, at now: Instant) {
        lastFailure = error
        state = .waiting(until: now + backOff.next())
    }

    private func tryAgain(at now: Instant) {
        do throws(Errno) { state = .trying(try NATSAttempt.begin(options, address: address, wake)) } catch {
            fail(.unavailable("no thread is available for \(servers): \(error)"), at: now)
        }
    }
}
