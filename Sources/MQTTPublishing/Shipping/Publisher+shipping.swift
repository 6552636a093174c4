import BluetoothLE
import EventLog
import Polling
import Shipping
import SystemPackage

// Lines to messages, and acknowledgements to the checkpoint.
extension Publisher {
    /// Sends what there is and what there is room for.
    func ship() {
        guard let client else { return }
        hasCaughtUp = false
        var count = 0
        do {
            while !isPausing, !client.wantsWrite {
                guard count < Self.linesPerTurn else {
                    if let turnTimer { loop.set(turnTimer, at: loop.now) }
                    return
                }
                count += 1
                var room = window.room
                // What was refused is tried alone: all that follows it would come again and again.
                if refused != nil || onTrial != nil { room = min(room, 1 - window.inFlight) }
                guard room > 0 else { break }
                if !isHeld {
                    guard try follower.next(into: &line, upTo: durable, &message) else {
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
            noteLocal(.events, nil)
        } catch let error as Errno {
            noteLocal(.events, "\(options.directory) can't be read: \(error)")
            if let turnTimer { loop.set(turnTimer, at: loop.now + Self.retryFiles) }
            return
        } catch let error as MosquittoClient.Failure {
            return failed(error)
        } catch {
            return
        }
        if hasCaughtUp { publishOthers() } else { publishStatus() }
    }

    /// Whether the line that was read is the first of its topic (a condition's beacons count as one, ``AcceptedTopics``), and
    /// others are under way.
    ///
    /// Rights are a topic's. What followed a line that is refused would be at the broker before it: so nothing does, until
    /// the broker has taken one of its topic. MQTT 3.1.1 has no refusal.
    private func mustWait(_ version: ConnectionPlan.Version) -> Bool {
        guard version == .five, message.isPublished, message.sequence != nil else { return false }
        if acceptedTopics.contains(message.topic) { return false }
        guard window.inFlight == 0 else { return true }
        onTrial = message.topic
        return false
    }

    /// Reads on from the first line that the broker does not have.
    func restartLines() {
        status.repeated += window.restart()
        follower.move(to: window.shipped)
        (onTrial, isHeld) = (nil, false)
    }

    private func send(with client: MosquittoClient) throws {
        guard message.isPublished else { return setAside("it has no topic that MQTT has") }
        let payload = line[message.payload]
        guard let sequence = message.sequence else {
            // After an outage nobody wants to know who was in view an hour ago; who ships files wants all that is in them.
            let isStale = options.isTold && LineAge.isStale(payload, at: loop.now)
            guard !client.wantsWrite, !isStale else {
                status.dropped += 1
                return
            }
            do throws(MosquittoClient.Failure) {
                _ = try client.publish(message.topic, payload, .atMostOnce, isRetained: false)
            } catch {
                // It is not assured, and nothing waits for it.
                if case .ended = error { throw error }
                status.dropped += 1
            }
            return
        }
        retained?.take(line, sequence: sequence)
        do throws(MosquittoClient.Failure) {
            let number = try client.publish(message.topic, payload, .atLeastOnce, isRetained: false, sequence: sequence)
            window.sent(number, follower.position)
            lastSent = loop.now
        } catch {
            guard case .impossible(let why) = error else { throw error }
            onTrial = nil
            setAside(why)
        }
    }

    /// A line that has a number and can't be shipped, to no broker and never: it is done with when what came before it is.
    private func setAside(_ why: String) {
        let position = follower.position
        if let sequence = message.sequence, !message.isPublished { retained?.take(line, sequence: sequence) }
        window.setAside(position)
        guard position.sequence > setAsideUpTo else { return }
        setAsideUpTo = position.sequence
        noteSetAside("line \(position.sequence) can't be published to any broker (\(why)): it is passed over")
    }

    // A condition whose name no topic can have would have each of its lines said.
    private static let setAsideSaidMax = 10

    /// Counts what was set aside, and says it, some times an hour.
    func noteSetAside(_ text: String) {
        status.setAside += 1
        let now = loop.now
        saidSetAside.removeAll { now - $0 >= .seconds(3600) }
        guard saidSetAside.count < Self.setAsideSaidMax else { return }
        saidSetAside.append(now)
        note(true, "\(text); it stands in the files, and status counts what was set aside (\(status.setAside))")
    }

    private func failed(_ failure: MosquittoClient.Failure) {
        guard case .unacceptable(let why) = failure else { return over(failure) }
        let topic = String(decoding: message.topic.dropLast(), as: UTF8.self)
        refuse(follower.position.sequence, .unacceptable(topic: topic, why))
    }

    // MARK: Acknowledgements

    /// Moves the checkpoint over what the broker has.
    func takeAcknowledgements() {
        guard let client, client.hasAcknowledgements else { return }
        let before = window.shipped.sequence
        unacknowledgedSince = nil
        client.takeAcknowledgements { message, reason in
            if !others.isEmpty, let other = others.removeValue(forKey: message) {
                taken(other, reason, client.version)
            } else if reason >= 0x80 {
                status.refusals += 1
                // Those behind it are refused for the same reason, mostly.
                guard !isPausing else { return }
                let name = MosquittoClient.name(reason, client.version)
                refuse(window.shipped.sequence + 1, .publishRefused(topic: refusedTopic(), reason, name))
            } else if window.acknowledged(message) {
                status.acknowledged += 1
            }
        }
        guard window.shipped.sequence > before else { return }
        if let topic = onTrial, window.inFlight == 0 {
            acceptedTopics.insert(topic)
            onTrial = nil
        }
        plan.progressed()
        if let refused, window.shipped.sequence >= refused {
            self.refused = nil
            refusals = 0
            status.trouble = nil
            said = [:]
            isInTrouble = false
            note(false, "the broker takes line \(refused), which it had refused")
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
        acceptedTopics.removeAll()
        say(trouble)
        if let pauseTimer { loop.set(pauseTimer, at: loop.now + plan.refusalDelay(refusals)) }
        refusals += 1
    }

    /// Tries again what was refused.
    func tryAgain() {
        isPausing = false
        restartLines()
    }

    // MARK: The checkpoint

    /// Keeps the checkpoint where many lines would come twice, or some for long.
    func keepWhereDue() {
        guard window.unkept > 0, let keepTimer else { return }
        if let checkpointError { noteCheckpoint(checkpointError) }
        if window.unkept >= window.capacity / 2 {
            if loop.time(of: keepTimer) == nil || localTroubles[.checkpoint] == nil { keep() }
        } else if loop.time(of: keepTimer) == nil {
            loop.set(keepTimer, at: loop.now + Self.keepInterval)
        }
    }

    /// Puts on the disk that this broker speaks MQTT 5, once: silence will not be taken for another version then.
    func keepFive() {
        keptFive = Self.place(options)
        isFiveStale = true
        keep()
    }

    /// Puts the checkpoint on the disk.
    func keep() {
        guard window.unkept > 0 || isFiveStale else { return }
        if let keepTimer { loop.set(keepTimer, at: nil) }
        do throws(Errno) {
            try ShippingCheckpoint(position: window.shipped, five: keptFive).write(options.checkpoint, files: files)
            window.keep()
            isFiveStale = false
            checkpointError = nil
            noteLocal(.checkpoint, nil)
            // There is room again. Where nothing is under way, nothing else would have it used.
            if phase == .connected, let turnTimer { loop.set(turnTimer, at: loop.now) }
        } catch {
            checkpointError = error
            noteCheckpoint(error)
            if let keepTimer { loop.set(keepTimer, at: loop.now + Self.retryFiles) }
        }
    }

    /// Says that the checkpoint can't be kept, and what that means: that shipping will stop, or has.
    private func noteCheckpoint(_ error: Errno) {
        let consequence =
            window.unkept < window.capacity
            ? "at most \(window.capacity) lines are sent until it can"
            : "\(window.capacity) lines were sent past it, and shipping has stopped until it can"
        noteLocal(.checkpoint, "\(options.checkpoint) can't be written: \(error); \(consequence)")
    }
}
