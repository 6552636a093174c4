import BluetoothLE
import EventLog
import Glibc
import Polling
import Shipping
import SystemPackage

// How a connection comes about, and how it ends.
extension Publisher {
    /// Begins an attempt: names, secrets and certificates are read anew, for they may have been mended.
    func connect() {
        guard phase == .waiting, leave == .none else { return }
        plan.begin()
        wasUnanswered = false
        // Waiting for a name server may take long; the state should say what is waited for.
        set(.connecting)
        mailbox.report(status)
        do throws(BrokerTrouble) {
            addresses = try Resolver.addresses(of: options.host)
        } catch {
            return fail(error)
        }
        phase = .connecting
        connectToNext(after: .unreachable(place, "it has no address"))
    }

    private var place: String { Self.place(options) }

    static func place(_ options: PublisherOptions) -> String {
        options.host.contains(":") ? "[\(options.host)]:\(options.port)" : "\(options.host):\(options.port)"
    }

    private func connectToNext(after trouble: BrokerTrouble) {
        var trouble = trouble
        while !addresses.isEmpty {
            let address = addresses.removeFirst()
            do throws(BrokerTrouble) {
                return try connect(to: address)
            } catch {
                dropClient()
                trouble = error
                // What is wrong here is wrong for all of them.
                if case .file = error { break }
                if case .keyNeedsPassword = error { break }
            }
        }
        fail(trouble)
    }

    private func connect(to address: String) throws(BrokerTrouble) {
        let now = loop.now
        var tls: TLSContext?
        if let wanted = options.tls { tls = try TLSContext(wanted, host: options.host) }
        var will: String?
        isWithoutRetained = plan.isWithoutRetained
        if case .topics(let stem, _, _, _) = options.retained, !isWithoutRetained { will = "\(stem)/availability" }
        let client = try MosquittoClient(options, plan.version, tls, password: try password(), will: will)
        self.client = client
        isEstablished = false
        hasLooked = tls != nil
        do throws(MosquittoClient.Failure) {
            try client.connect(address, options.port, keepAlive: Int(clamping: options.keepAlive.components.seconds))
        } catch {
            guard case .ended(let code, let error) = error else { return }
            let trouble = client.trouble(code, error, isEstablished: false)
            if case .lost(let why) = trouble { throw .unreachable(place, why) }
            throw trouble
        }
        (lastSent, lastHeard, lastPing) = (now, now, now)
        silenceMax = options.keepAlive
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
            fail(.lost("its socket can't be waited for: \(error)"))
        }
    }

    private func ready(_ readiness: EventLoop.Readiness) {
        guard let client, let descriptor = client.descriptor else { return }
        if !isEstablished {
            if let error = Self.error(of: descriptor) { return failAddress(.unreachable(place, "\(error)")) }
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
                return failAddress(.otherProtocol(place, what))
            }
            if readiness != .write {
                hasLooked = true
                hasHeard = true
                lastHeard = loop.now
                guard !client.hasHeardTooMuch else { return fail(.lost("it sent far more than it has to say")) }
                try client.read()
            }
            if client.descriptor != nil, readiness.contains(.write) {
                try client.write()
                lastSent = loop.now
            }
        } catch {
            over(error)
        }
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

    /// Sends what this turn made, in as few segments as it fills.
    func sendGathered() {
        // What is sent acknowledges what came.
        if !(client?.sendGathered() ?? false), hasHeard, window.inFlight > 0 { client?.acknowledgeAtOnce() }
        hasHeard = false
    }

    /// What the system says of a connection that was begun (SO_ERROR, socket(7)).
    private static func error(of descriptor: FileDescriptor) -> Errno? {
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        let result = unsafe getsockopt(descriptor.rawValue, SOL_SOCKET, SO_ERROR, &error, &size)
        return result == 0 && error != 0 ? Errno(rawValue: error) : nil
    }

    /// An address did not lead to a connection: the next one, where there is one.
    func failAddress(_ trouble: BrokerTrouble) {
        dropClient()
        connectToNext(after: trouble)
    }

    /// The library ended the connection.
    func over(_ failure: MosquittoClient.Failure) {
        guard let client, case .ended(let code, let error) = failure else { return }
        // What it acknowledged before counts.
        takeAcknowledgements()
        guard self.client === client else { return }
        var trouble = client.trouble(code, error, isEstablished: isEstablished)
        noteSilence()
        if case .lost = trouble, wasUnanswered, client.answer == nil {
            trouble = .unanswered(place, client.tls.map { .tls(hasCertificate: $0.hasCertificate) } ?? .none)
        }
        fail(trouble)
    }

    /// Notes where a broker was asked for a connection and gave no answer.
    func noteSilence() {
        guard phase == .connecting, isEstablished, let client, client.answer == nil, client.tls?.isAgreed ?? true else {
            return
        }
        wasUnanswered = true
    }

    /// An attempt or a connection is over: another one when the plan says so.
    func fail(_ trouble: BrokerTrouble) {
        guard phase != .ended else { return }
        let version = client?.version ?? plan.version
        let reach: ConnectionPlan.Reach =
            client?.answer != nil ? .answered : wasUnanswered ? .unanswered : .nobody
        dropClient()
        addresses = []
        let goesOn = plan.failed(trouble, version, reach, wasWithoutRetained: isWithoutRetained, at: loop.now)
        if !goesOn {
            status.failures += 1
            say(
                plan.soonEnds >= ConnectionPlan.soonEndsMax
                    ? .closedSoon(plan.soonEnds, clientID: options.clientID) : trouble)
        }
        status.limitation = nil
        phase = .waiting
        if let timeoutTimer { loop.set(timeoutTimer, at: nil) }
        if let planTimer { loop.set(planTimer, at: plan.nextAttempt) }
        if leave != .none { end() }
    }

    private func dropWatch() {
        if let watch { loop.end(watch) }
        watch = nil
        interest = []
    }

    /// Forgets the connection and all that was under way in it.
    func dropClient() {
        dropWatch()
        client = nil
        isEstablished = false
        restartLines()
        acceptedTopics.removeAll()
        hasHeard = false
        others = [:]
        hasCaughtUp = false
        isOnline = false
        isPausing = false
        if let silenceTimer { loop.set(silenceTimer, at: nil) }
        if let pauseTimer { loop.set(pauseTimer, at: nil) }
    }

    // MARK: What the broker says

    /// Looks at what the library noted.
    func takeAnswers() {
        guard let client else { return }
        if phase == .connecting, let answer = client.answer {
            guard answer.reason == 0 else { return over(.ended(0, Errno(rawValue: 0))) }
            connected(client, answer)
        }
        takeAcknowledgements()
        // It ended the connection in good order (MQTT 5 §3.14).
        if self.client === client, client.descriptor == nil { over(.ended(0, Errno(rawValue: 0))) }
    }

    private func connected(_ client: MosquittoClient, _ answer: MosquittoClient.Answer) {
        let now = loop.now
        plan.connected(client.version, at: now)
        phase = .connected
        addresses = []
        status.connections += 1
        if let keepAlive = answer.keepAlive { silenceMax = .seconds(keepAlive) }
        window.atATime = min(answer.receiveMaximum ?? .max, Self.atATimeMax)
        if let timeoutTimer { loop.set(timeoutTimer, at: nil) }
        (lastSent, lastHeard, lastPing) = (now, now, now)
        setSilenceTimer()
        // What it kept for others may have gone with it.
        retained?.reconnected()
        retained?.repeatAll()
        othersPauseUntil = nil
        // It says that there is no connection.
        statusMessage = nil
        noteLimitations(client, answer)
        if client.version == .five, keptFive != place { keepFive() }
        if refused == nil {
            status.trouble = nil
            guard isInTrouble else { return }
            isInTrouble = false
            note(
                false,
                "the broker at \(place) takes lines from \(window.shipped.sequence + 1) on (MQTT \(client.version.rawValue))"
            )
        }
    }

    /// Says what this broker can't do, and what that costs.
    private func noteLimitations(_ client: MosquittoClient, _ answer: MosquittoClient.Answer) {
        if !answer.keepsRetained { isWithoutRetained = true }
        var limitations: [String] = []
        if case .topics = options.retained, isWithoutRetained {
            limitations.append(Self.withoutRetained)
            noteWithoutRetained()
        }
        if client.version == .three {
            limitations.append(Self.withThree)
            // Who has set it knows.
            if options.version == .auto, isDue(.versionRefused) { note(true, Self.withThree) }
        }
        status.limitation = limitations.isEmpty ? nil : limitations.joined(separator: "; ")
    }

    /// Says that states are not published, once an hour at most.
    func noteWithoutRetained() {
        if status.limitation == nil { status.limitation = Self.withoutRetained }
        if isDue(.retainRefused) { note(true, Self.withoutRetained) }
    }

    private static let withoutRetained =
        "the broker keeps no retained messages: lines are shipped; states, availability and the status are not"
    private static let withThree =
        "the broker is spoken to in MQTT 3.1.1, in which it can't say that it denies a topic: what goes there is lost; see "
        + "its rights, or set mqtt.protocol: 5 where it speaks that"

    // MARK: Silence

    // The library counts in whole seconds.
    private static let second: Duration = .seconds(1)

    private func setSilenceTimer() {
        guard let silenceTimer else { return }
        loop.set(silenceTimer, at: max(lastPing, min(lastSent, lastHeard)) + silenceMax + Self.second)
    }

    /// Has the library ask whether the broker is there, or find that it is not.
    func checkSilence(at now: Instant) {
        guard phase == .connected, let client else { return }
        if let since = unacknowledgedSince, now - since >= silenceMax * 2 {
            return fail(.silent("it acknowledged nothing for \((now - since).components.seconds) s"))
        }
        if now >= max(lastPing, min(lastSent, lastHeard)) + silenceMax {
            do throws(MosquittoClient.Failure) {
                try client.keepAlive()
            } catch {
                return over(error)
            }
            lastPing = now
        }
        setSilenceTimer()
    }

    /// Notes whether something is under way. Answers to pings alone would keep such a connection for ever.
    func noteUnacknowledged() {
        let isWaiting = phase == .connected && !isPausing && (window.inFlight > 0 || !others.isEmpty)
        if !isWaiting {
            unacknowledgedSince = nil
        } else if unacknowledgedSince == nil {
            unacknowledgedSince = loop.now
        }
    }
}
