import BaseTypes
import EventLoops
import Glibc
import PublisherProtocol
import SystemPackage

/// Who wants a connection to a broker.
protocol BrokerConnectionOwner: AnyObject {
    /// What the broker acknowledged counts; after this nothing more comes of what was under way.
    func takeAcknowledgements()
    /// All that was under way is lost. Another address may be tried.
    func connectionDropped()
    /// The attempt, or the connection, is over: why, in which version of the protocol, and how far it came.
    func connectionFailed(
        _ trouble: BrokerTrouble, _ version: ConnectionPlan.Version, _ reach: ConnectionPlan.Reach)
}

/// One connection to the broker at a time, from its name to its answer, and on to its end.
///
/// It watches the library's socket in the owner's loop, and finds out what it was that failed.
final class BrokerConnection {
    // An attempt takes three round trips at most: longer than TCP takes to send a lost SYN thrice again (1, 2 and 4 s).
    private static let connectTimeout: Duration = .seconds(15)

    private let options: PublisherOptions
    private let loop: EventLoop
    /// Who wants it; set before the first attempt.
    weak var owner: (any BrokerConnectionOwner)?

    /// The library's client; absent between attempts.
    private(set) var client: MosquittoClient?
    /// Whether the broker has taken the connection.
    private(set) var isTaken = false

    private var version = ConnectionPlan.Version.five
    private var will: String?
    private var addresses: [String] = []
    private var watch: EventLoop.Watch?
    private var interest: EventLoop.Interest = []
    private var isEstablished = false
    /// Whether a broker was asked for a connection in this attempt, and closed it or kept silent.
    private var wasUnanswered = false
    /// Whether what came first in this connection was looked at.
    private var hasLooked = false
    /// Whether something came in this turn.
    private var hasHeard = false
    private var silence: ConnectionSilence
    private var timeoutTimer: EventLoop.Timer?
    private var silenceTimer: EventLoop.Timer?

    /// None yet.
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

    // MARK: How it comes about

    /// Begins an attempt: names, secrets and certificates are read anew, for they may have been mended.
    ///
    /// - Parameters:
    ///   - version: of the protocol.
    ///   - will: the topic of the last will; absent where there is none.
    func open(_ version: ConnectionPlan.Version, will: String?) {
        (self.version, self.will) = (version, will)
        wasUnanswered = false
        do throws(BrokerTrouble) {
            addresses = try Resolver.addresses(of: options.host)
        } catch {
            return fail(error)
        }
        connectToNext(after: .unreachable(options.place, "it has no address"))
    }

    // mosquitto_connect_async tries only the first address of a name, so each address is resolved and tried here.
    private func connectToNext(after trouble: BrokerTrouble) {
        var trouble = trouble
        while !addresses.isEmpty {
            let address = addresses.removeFirst()
            do throws(BrokerTrouble) {
                return try connect(to: address)
            } catch {
                drop()
                trouble = error
                // What is wrong here is wrong for all of them.
                if case .file = error { break }
                if case .keyNeedsPassword = error { break }
            }
        }
        fail(trouble)
    }

    private func connect(to address: String) throws(BrokerTrouble) {
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
            let trouble = trouble(of: client, code, error)
            if case .lost(let why) = trouble { throw .unreachable(options.place, why) }
            throw trouble
        }
        let now = loop.now
        silence = ConnectionSilence(upTo: options.keepAlive, at: now)
        if let timeoutTimer { loop.set(timeoutTimer, at: now + Self.connectTimeout) }
        updateWatch()
    }

    private func password() throws(BrokerTrouble) -> [UInt8]? {
        guard options.username != nil, let path = options.passwordFile else { return nil }
        do throws(Errno) {
            return try SecretFile.password(path)
        } catch {
            throw .file("mqtt.password_file", path, "\(error)")
        }
    }

    /// Gives the broker's answer, once, where it took the connection; where it refused it, that was the attempt.
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

    // MARK: Its socket

    /// Watches the connection's socket for what it waits for now.
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
                // It goes on in the library's reading, whatever it waited for.
                try client.read()
                if client.isHandshaking, !readiness.isDisjoint(with: [.hangUp, .error]) {
                    return failAddress(client.trouble(0, Errno(rawValue: 0), isEstablished: true))
                }
                return
            }
            if !hasLooked, readiness.contains(.read), let what = Self.otherProtocol(descriptor) {
                return failAddress(.otherProtocol(options.place, what))
            }
            if readiness != .write {
                hasLooked = true
                hasHeard = true
                silence.heard(at: loop.now)
                guard !client.hasHeardTooMuch else { return fail(.lost("it sent much more data than MQTT needs")) }
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

    /// The connection was over when it was looked at first.
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

    /// What is spoken at the other end of a connection where it is not MQTT, by the first octets that came from there.
    private static func otherProtocol(_ descriptor: FileDescriptor) -> String? {
        var octets: [UInt8] = [0, 0, 0, 0]
        let count = unsafe recv(descriptor.rawValue, &octets, octets.count, Int32(MSG_PEEK | MSG_DONTWAIT))
        guard count >= 2 else { return nil }
        // A record of TLS: an alert or a handshake, and its version (RFC 8446 §5.1).
        if octets[0] == 0x15 || octets[0] == 0x16, octets[1] == 0x03 { return "TLS" }
        return octets[..<count].elementsEqual("HTTP".utf8) ? "HTTP" : nil
    }

    /// What the system says of a connection that was begun (SO_ERROR, socket(7)).
    private static func error(of descriptor: FileDescriptor) -> Errno? {
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        let result = unsafe getsockopt(descriptor.rawValue, SOL_SOCKET, SO_ERROR, &error, &size)
        return result == 0 && error != 0 ? Errno(rawValue: error) : nil
    }

    /// Sends what this turn made, in as few segments as it fills.
    ///
    /// - Parameter isWaiting: whether acknowledgements are waited for.
    func sendGathered(isWaiting: Bool) {
        // What is sent acknowledges what came.
        if !(client?.sendGathered() ?? false), hasHeard, isWaiting { client?.acknowledgeAtOnce() }
        hasHeard = false
    }

    /// Something was sent.
    func sent() { silence.sent(at: loop.now) }

    /// Takes its leave of the broker.
    func sayGoodbye() { client?.disconnect() }

    // MARK: How it ends

    /// An address did not lead to a connection: the next one, where there is one.
    private func failAddress(_ trouble: BrokerTrouble) {
        drop()
        connectToNext(after: trouble)
    }

    /// The broker has ended the connection in good order (MQTT 5 §3.14), where it has.
    func checkEnd() {
        if let client, client.descriptor == nil { over(.ended(0, Errno(rawValue: 0))) }
    }

    /// The library ended the connection.
    func over(_ failure: MosquittoClient.Failure) {
        guard let client, case .ended(let code, let error) = failure else { return }
        // What it acknowledged before counts.
        owner?.takeAcknowledgements()
        guard self.client === client else { return }
        fail(trouble(of: client, code, error))
    }

    /// What the end of a connection comes to.
    private func trouble(of client: MosquittoClient, _ code: Int32, _ error: Errno) -> BrokerTrouble {
        let trouble = client.trouble(code, error, isEstablished: isEstablished)
        noteSilence()
        guard case .lost = trouble, wasUnanswered, client.answer == nil else { return trouble }
        return .unanswered(options.place, client.tls.map { .tls(hasCertificate: $0.hasCertificate) } ?? .none)
    }

    /// Notes where a broker was asked for a connection and gave no answer.
    private func noteSilence() {
        guard !isTaken, isEstablished, let client, client.answer == nil, client.tls?.isAgreed ?? true else { return }
        wasUnanswered = true
    }

    private func fail(_ trouble: BrokerTrouble) {
        let version = client?.version ?? version
        let reach: ConnectionPlan.Reach =
            client?.answer != nil ? .answered : wasUnanswered ? .unanswered : .nobody
        drop()
        addresses = []
        if let timeoutTimer { loop.set(timeoutTimer, at: nil) }
        owner?.connectionFailed(trouble, version, reach)
    }

    /// Forgets the connection and all that was under way in it.
    func drop() {
        dropWatch()
        client = nil
        isEstablished = false
        isTaken = false
        hasHeard = false
        if let silenceTimer { loop.set(silenceTimer, at: nil) }
        owner?.connectionDropped()
    }

    // MARK: Silence

    private func timeOut() {
        guard client != nil, !isTaken else { return }
        noteSilence()
        failAddress(.silent("no answer to a connection within \(Self.connectTimeout.components.seconds) s"))
    }

    private func setSilenceTimer() {
        if let silenceTimer { loop.set(silenceTimer, at: silence.next) }
    }

    /// Has the library ask whether the broker is there, or find that it is not.
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

    /// Notes whether something is under way that is to be acknowledged.
    func note(isUnderWay: Bool) { silence.note(isUnderWay: isTaken && isUnderWay, at: loop.now) }

    /// Something was acknowledged.
    func acknowledged() { silence.acknowledged() }
}

extension PublisherOptions {
    /// The broker, as remarks call it.
    var place: String {
        settings.host.contains(":") ? "[\(settings.host)]:\(settings.port)" : "\(settings.host):\(settings.port)"
    }
}
