import BluetoothLE
import EventLog
import Polling
import SystemPackage

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

// How a connection comes about, and how it ends.
extension Publisher {
    /// Begins an attempt: names, secrets and certificates are read anew, for they may have been mended.
    func connect() {
        guard phase == .waiting, leave == .none else { return }
        plan.begin()
        // Waiting for a name server may take long; the state should say what is waited for.
        set(.connecting)
        mailbox.report(status)
        do throws(BrokerTrouble) {
            addresses = try Resolver.addresses(of: options.host)
        } catch {
            return fail(error, wasAnswered: false)
        }
        phase = .connecting
        connectToNext(after: .unreachable(place, "it has no address"))
    }

    private var place: String {
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
            }
        }
        fail(trouble, wasAnswered: false)
    }

    private func connect(to address: String) throws(BrokerTrouble) {
        let now = loop.now
        var tls: TLSContext?
        if let wanted = options.tls { tls = try TLSContext(wanted, host: options.host) }
        var will: String?
        if case .topics(let stem, _, _, _) = options.retained { will = "\(stem)/availability" }
        let client = try MosquittoClient(options, plan.version(at: now), tls, password: try password(), will: will)
        self.client = client
        isEstablished = false
        do throws(MosquittoClient.Failure) {
            try client.connect(address, options.port, keepAlive: Int(clamping: options.keepAlive.components.seconds))
        } catch {
            guard case .ended(let code, let error) = error else { return }
            let trouble = client.trouble(code, error)
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
            fail(.lost("its socket can't be waited for: \(error)"), wasAnswered: false)
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
                    return failAddress(.tls(client.tls?.trouble ?? .failed("the connection was closed")))
                }
                return
            }
            if readiness != .write {
                hasHeard = true
                lastHeard = loop.now
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
        let wasAnswered = client.answer != nil
        fail(client.trouble(code, error), wasAnswered: wasAnswered)
    }

    /// An attempt or a connection is over: another one when the plan says so.
    func fail(_ trouble: BrokerTrouble, wasAnswered: Bool) {
        guard phase != .ended else { return }
        let version = client?.version ?? plan.version(at: loop.now)
        dropClient()
        addresses = []
        status.failures += 1
        plan.failed(trouble, version, wasAnswered: wasAnswered, at: loop.now)
        if trouble != .versionRefused || version == .three { say(trouble) }
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
        acceptedTopics = []
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
}
