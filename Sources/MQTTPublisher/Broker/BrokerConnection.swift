import BaseTypes
import EventLoops
import Glibc
import PublisherProtocol
import SystemPackage

/// The owner of a ``BrokerConnection``, which is notified of its results.
protocol BrokerConnectionOwner: AnyObject {
    /// Called when the library has ended a connection, before it is dropped. The acknowledgements that arrived so far
    /// are valid; no more will follow for the messages in flight.
    func takeAcknowledgements()
    /// Called when a connection is dropped. All messages in flight are lost. Another address may be tried next.
    func connectionDropped()
    /// Called when an attempt has failed or a connection has ended, with the reason, the version of MQTT, and how far
    /// the attempt got.
    func connectionFailed(
        _ brokerError: BrokerError, _ version: ConnectionPlan.Version, _ reach: ConnectionPlan.Reach)
}

/// One connection to the broker at a time, from the resolution of its name to its end.
///
/// It watches the library's socket in the owner's event loop, and determines the cause of a failure.
final class BrokerConnection {
    // An attempt needs at most three round trips. The timeout is longer than TCP needs to send a lost SYN three more
    // times (after 1, 2 and 4 s).
    private static let connectTimeout: Duration = .seconds(15)

    private let options: PublisherOptions
    private let loop: EventLoop
    /// The owner. It must be set before the first attempt.
    weak var owner: (any BrokerConnectionOwner)?

    /// The client of libmosquitto; `nil` between attempts.
    private(set) var client: MosquittoClient?
    /// Whether the broker has accepted the connection.
    private(set) var isTaken = false

    private var version = ConnectionPlan.Version.five
    private var will: String?
    private var addresses: [String] = []
    private var watch: EventLoop.Watch?
    private var interest: EventLoop.Interest = []
    private var isEstablished = false
    /// Whether a broker was asked for a connection in this attempt, and closed the connection or did not answer.
    private var wasUnanswered = false
    /// Whether the first received bytes of this connection were checked for another protocol. With TLS it is `true`
    /// from the start, because the check is not needed.
    private var hasLooked = false
    /// Whether data arrived in this turn.
    private var hasReceived = false
    private var silence: ConnectionSilence
    private var timeoutTimer: EventLoop.Timer?
    private var silenceTimer: EventLoop.Timer?

    /// Creates a value without a connection.
    init(_ options: PublisherOptions, on loop: EventLoop) {
        self.options = options
        self.loop = loop
        silence = ConnectionSilence(upTo: options.keepAlive, at: loop.now)
        timeoutTimer = loop.makeTimer { [unowned self] _ in timeOut() }
        silenceTimer = loop.makeTimer { [unowned self] now in checkSilence(at: now) }
    }

    deinit {
        for timer in [timeoutTimer, silenceTimer] { if let timer { loop.end(timer) } }
        if let watch { loop.end(watch) }
    }

    // MARK: Connecting

    /// Starts an attempt. Names, secrets and certificates are read again, because an operator can have fixed them.
    ///
    /// - Parameters:
    ///   - version: the version of MQTT.
    ///   - will: the topic of the last will; `nil` if there is none.
    func open(_ version: ConnectionPlan.Version, will: String?) {
        (self.version, self.will) = (version, will)
        wasUnanswered = false
        do throws(BrokerError) {
            addresses = try Resolver.addresses(of: options.host)
        } catch {
            return fail(error)
        }
        connectToNext(after: .unreachable(options.place, "it has no address"))
    }

    // mosquitto_connect_async tries only the first address of a name, so each address is resolved and tried here.
    private func connectToNext(after brokerError: BrokerError) {
        var brokerError = brokerError
        while !addresses.isEmpty {
            let address = addresses.removeFirst()
            do throws(BrokerError) {
                return try connect(to: address)
            } catch {
                drop()
                brokerError = error
                // These errors are the same for all addresses.
                if case .file = error { break }
                if case .keyNeedsPassword = error { break }
            }
        }
        fail(brokerError)
    }

    private func connect(to address: String) throws(BrokerError) {
        var tls: TLSContext?
        if let wanted = options.tls { tls = try TLSContext(wanted, host: options.host) }
        let client = try MosquittoClient(options, version, tls, password: try password(), will: will)
        self.client = client
        isEstablished = false
        hasLooked = tls != nil
        do throws(MosquittoClient.Failure) {
            try client.connect(address, options.port, keepAlive: Int(clamping: options.keepAlive.components.seconds))
        } catch {
            guard case .ended(let code, let error) = error else { return }
            isEstablished = MosquittoClient.wasEstablished(code, error)
            let brokerError = brokerError(of: client, code, error)
            if case .lost(let why) = brokerError { throw .unreachable(options.place, why) }
            throw brokerError
        }
        let now = loop.now
        silence = ConnectionSilence(upTo: options.keepAlive, at: now)
        if let timeoutTimer { loop.set(timeoutTimer, at: now + Self.connectTimeout) }
        updateWatch()
    }

    private func password() throws(BrokerError) -> [UInt8]? {
        guard options.username != nil, let path = options.passwordFile else { return nil }
        do throws(Errno) {
            return try SecretFile.password(path)
        } catch {
            throw .file("mqtt.password_file", path, "\(error)")
        }
    }

    /// Returns the client and the broker's answer once, if the broker accepted the connection. If the broker refused
    /// it, this ends the attempt and returns `nil`.
    func takeAnswer() -> (client: MosquittoClient, answer: MosquittoClient.Answer)? {
        guard let client, !isTaken, let answer = client.answer else { return nil }
        guard answer.reason == 0 else {
            over(.ended(0, Errno(rawValue: 0)))
            return nil
        }
        isTaken = true
        addresses = []
        if let timeoutTimer { loop.set(timeoutTimer, at: nil) }
        silence.begin(upTo: answer.keepAlive.map { .seconds($0) }, at: loop.now)
        setSilenceTimer()
        return (client, answer)
    }

    // MARK: The socket

    /// Watches the socket for reading, and also for writing if data waits to be sent or TCP is still connecting.
    func updateWatch() {
        guard let client, let descriptor = client.descriptor else { return dropWatch() }
        var wanted: EventLoop.Interest = .read
        if client.wantsWrite || !isEstablished { wanted.insert(.write) }
        do throws(Errno) {
            if let watch {
                if wanted != interest { try loop.change(watch, to: wanted) }
            } else {
                watch = try loop.watch(descriptor, for: wanted) { [unowned self] readiness in ready(readiness) }
            }
            interest = wanted
        } catch {
            fail(.lost("the process can't wait for its socket: \(error)"))
        }
    }

    private func dropWatch() {
        if let watch { loop.end(watch) }
        watch = nil
        interest = []
    }

    private func ready(_ readiness: EventLoop.Readiness) {
        guard let client, let descriptor = client.descriptor else { return }
        if !isEstablished {
            if let error = Self.error(of: descriptor) { return notEstablished(error, descriptor) }
            isEstablished = readiness.contains(.write)
        }
        do throws(MosquittoClient.Failure) {
            if client.isHandshaking {
                // The library continues the handshake when it reads, also if the handshake waited to write.
                try client.read()
                if client.isHandshaking, !readiness.isDisjoint(with: [.hangUp, .error]) {
                    return failAddress(client.brokerError(0, Errno(rawValue: 0), isEstablished: true))
                }
                return
            }
            if !hasLooked, readiness.contains(.read), let what = Self.otherProtocol(descriptor) {
                return failAddress(.otherProtocol(options.place, what))
            }
            if readiness != .write {
                hasLooked = true
                hasReceived = true
                silence.received(at: loop.now)
                guard !client.hasReceivedTooMuch else { return fail(.lost("it sent much more data than MQTT needs")) }
                try client.read()
            }
            if client.descriptor != nil, readiness.contains(.write) {
                try client.write()
                sent()
            }
        } catch {
            over(error)
        }
    }

    /// Handles a connection that failed or ended before it was found to be established.
    private func notEstablished(_ error: Errno, _ descriptor: FileDescriptor) {
        guard MosquittoClient.wasEstablished(0, error) else {
            return failAddress(.unreachable(options.place, "\(error)"))
        }
        if !hasLooked, let what = Self.otherProtocol(descriptor) {
            return failAddress(.otherProtocol(options.place, what))
        }
        isEstablished = true
        over(.ended(0, error))
    }

    /// Returns the protocol of the peer if its first bytes are not MQTT: `TLS` or `HTTP`; `nil` if they are neither.
    private static func otherProtocol(_ descriptor: FileDescriptor) -> String? {
        var bytes: [UInt8] = [0, 0, 0, 0]
        let count = unsafe recv(descriptor.rawValue, &bytes, bytes.count, Int32(MSG_PEEK | MSG_DONTWAIT))
        guard count >= 2 else { return nil }
        // A TLS record: an alert or a handshake, and its version (RFC 8446 §5.1).
        if bytes[0] == 0x15 || bytes[0] == 0x16, bytes[1] == 0x03 { return "TLS" }
        return bytes[..<count].elementsEqual("HTTP".utf8) ? "HTTP" : nil
    }

    /// Returns the pending error of a connection that was started (SO_ERROR, socket(7)); `nil` if there is none.
    private static func error(of descriptor: FileDescriptor) -> Errno? {
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        let result = unsafe getsockopt(descriptor.rawValue, SOL_SOCKET, SO_ERROR, &error, &size)
        return result == 0 && error != 0 ? Errno(rawValue: error) : nil
    }

    /// Sends the data of this turn, in as few TCP segments as possible.
    ///
    /// - Parameter isWaiting: whether acknowledgements of the broker are expected.
    func sendGathered(isWaiting: Bool) {
        // A segment that is sent also acknowledges the received data, so this is needed only if nothing is sent.
        if !(client?.sendGathered() ?? false), hasReceived, isWaiting { client?.acknowledgeAtOnce() }
        hasReceived = false
    }

    /// Notes that data was sent.
    func sent() { silence.sent(at: loop.now) }

    /// Sends DISCONNECT, after which the broker does not publish the last will.
    func sayGoodbye() { client?.disconnect() }

    // MARK: The end

    /// Handles an address that did not lead to a connection: tries the next one, if there is one.
    private func failAddress(_ brokerError: BrokerError) {
        drop()
        connectToNext(after: brokerError)
    }

    /// Ends the connection if the library has closed it, as it does after a DISCONNECT of the broker (MQTT 5 §3.14).
    func checkEnd() {
        if let client, client.descriptor == nil { over(.ended(0, Errno(rawValue: 0))) }
    }

    /// Handles a connection that the library has ended.
    func over(_ failure: MosquittoClient.Failure) {
        guard let client, case .ended(let code, let error) = failure else { return }
        // Messages that the broker acknowledged before the end must not be sent again.
        owner?.takeAcknowledgements()
        guard self.client === client else { return }
        fail(brokerError(of: client, code, error))
    }

    /// Returns the error for a connection that ended.
    private func brokerError(of client: MosquittoClient, _ code: Int32, _ error: Errno) -> BrokerError {
        let brokerError = client.brokerError(code, error, isEstablished: isEstablished)
        noteSilence()
        guard case .lost = brokerError, wasUnanswered, client.answer == nil else { return brokerError }
        return .unanswered(options.place, client.tls.map { .tls(hasCertificate: $0.hasCertificate) } ?? .none)
    }

    /// Notes if a broker was asked for a connection and has not answered.
    private func noteSilence() {
        guard !isTaken, isEstablished, let client, client.answer == nil, client.tls?.isAgreed ?? true else { return }
        wasUnanswered = true
    }

    private func fail(_ brokerError: BrokerError) {
        let version = client?.version ?? version
        let reach: ConnectionPlan.Reach =
            client?.answer != nil ? .answered : wasUnanswered ? .unanswered : .notReached
        drop()
        addresses = []
        if let timeoutTimer { loop.set(timeoutTimer, at: nil) }
        owner?.connectionFailed(brokerError, version, reach)
    }

    /// Drops the connection and all messages in flight.
    func drop() {
        dropWatch()
        client = nil
        isEstablished = false
        isTaken = false
        hasReceived = false
        if let silenceTimer { loop.set(silenceTimer, at: nil) }
        owner?.connectionDropped()
    }

    // MARK: Timeouts

    private func timeOut() {
        guard client != nil, !isTaken else { return }
        noteSilence()
        failAddress(.silent("no answer to a connection within \(Self.connectTimeout.components.seconds) s"))
    }

    private func setSilenceTimer() {
        if let silenceTimer { loop.set(silenceTimer, at: silence.next) }
    }

    /// Lets the library send a ping if one is due, or detect that the last one was not answered. It also ends a
    /// connection on which the broker has acknowledged nothing for too long.
    private func checkSilence(at now: Instant) {
        guard isTaken, let client else { return }
        if let duration = silence.unacknowledged(at: now) {
            return fail(.silent("it acknowledged nothing for \(duration.components.seconds) s"))
        }
        if silence.isDue(at: now) {
            do throws(MosquittoClient.Failure) {
                try client.keepAlive()
            } catch {
                return over(error)
            }
            silence.asked(at: now)
        }
        setSilenceTimer()
    }

    /// Notes whether a message is in flight that the broker must acknowledge.
    func note(isUnderWay: Bool) { silence.note(isUnderWay: isTaken && isUnderWay, at: loop.now) }

    /// Notes that the broker has acknowledged a message.
    func acknowledged() { silence.acknowledged() }
}

extension PublisherOptions {
    /// The broker's host and port, as used in messages for operators.
    var place: String {
        settings.host.contains(":") ? "[\(settings.host)]:\(settings.port)" : "\(settings.host):\(settings.port)"
    }
}
