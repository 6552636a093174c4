import BluetoothLE
import EventLog
import Polling
import Shipping
import SystemPackage

// What is retained at the broker: present states, whether the gateway is there, how it stands.
//
// States follow the lines, and go out only where there is no line left to ship: a broker that was away for a day is told
// who is there now, and not who was there yesterday. Until then the gateway is `offline` to those who listen.
extension Publisher {
    private var stem: String? {
        guard case .topics(let stem, _, _, _) = options.retained else { return nil }
        return stem
    }

    /// Makes the fold, and brings it up to the last line there is.
    func restoreState() {
        guard case .topics(_, let file, let make, let adopt) = options.retained else { return }
        var encoded: [UInt8]?
        do throws(Errno) {
            encoded = try WholeFile.read(file, octetsMax: 64 << 20)
        } catch {
            note(true, "\(file) can't be read: \(error); present states are read from the lines again")
        }
        var state = make(encoded)
        if encoded != nil { keptState = state.sequence }
        // What waits to be shipped too: nothing is said of it before all of it is.
        var reader = LineFollower(options.directory, from: LinePosition(sequence: state.sequence))
        var message = LineMessage(prefix: options.prefix)
        var (taken, hasAdopted) = (0, false)
        do throws(Errno) {
            while try reader.next(into: &line, upTo: durable, &message) {
                taken += 1
                if taken % Self.linesPerBreath == 0 { mailbox.breathe() }
                guard let sequence = message.sequence else { continue }
                if !hasAdopted, let at = options.adoptsAt, sequence > at {
                    hasAdopted = true
                    adopt(&state)
                }
                state.take(line, sequence: sequence)
            }
        } catch {
            note(true, "\(options.directory) can't be read: \(error); present states may lack what stands there")
        }
        if !hasAdopted { adopt(&state) }
        retained = state
    }

    /// Publishes what is behind the lines, as far as there is room.
    func publishOthers() {
        guard phase == .connected, leave == .none, let client else { return }
        if isWithoutRetained { return keepStateWhereDue() }
        publishStatus()
        if let othersPauseUntil, loop.now < othersPauseUntil { return }
        othersPauseUntil = nil
        while retained?.hasChanges ?? false {
            let room = Self.othersMax - others.count
            guard room > 0, !client.wantsWrite else { return }
            changes.removeAll(keepingCapacity: true)
            retained?.nextChanges(room, into: &changes)
            guard !changes.isEmpty else { break }
            stateIsStale = true
            for change in changes {
                publish(change.topic, change.payload, isRetained: change.isRetained, .state(change.topic))
            }
        }
        if stem != nil, !isOnline {
            isOnline = true
            if refused == nil { status.trouble = nil }
            publishAvailability(isOnline: true)
        }
        keepStateWhereDue()
    }

    private func keepStateWhereDue() {
        if keptState == nil { keepState() }
        if let sequence = retained?.sequence, sequence - (keptState ?? 0) >= Self.stateLines { keepState() }
        if let stateTimer, retained != nil, loop.time(of: stateTimer) == nil, stateIsStale || isStateBehind {
            loop.set(stateTimer, at: loop.now + Self.stateInterval)
        }
    }

    private var isStateBehind: Bool { (retained?.sequence ?? 0) > (keptState ?? 0) }

    /// Publishes how the gateway stands, where there is news of it.
    func publishStatus() {
        guard !isWithoutRetained, let stem, let text = statusMessage, !others.values.contains(.status),
            others.count < Self.othersMax,
            client?.wantsWrite == false
        else { return }
        statusMessage = nil
        publish("\(stem)/status", text, isRetained: true, .status)
    }

    /// Publishes whether the gateway is there.
    func publishAvailability(isOnline: Bool) {
        guard let stem else { return }
        publish(
            "\(stem)/availability", Array((isOnline ? "online" : "offline").utf8), isRetained: true,
            .availability(isOnline: isOnline))
    }

    private func publish(_ topic: String, _ payload: [UInt8], isRetained: Bool, _ other: Other) {
        guard let client else { return }
        do throws(MosquittoClient.Failure) {
            let number = try client.publish(Array(topic.utf8) + [0], payload[...], .atLeastOnce, isRetained: isRetained)
            others[number] = other
            lastSent = loop.now
        } catch {
            switch error {
            case .ended: over(error)
            case .unacceptable(let why): refused(.unacceptable(topic: topic, why))
            case .impossible(let why):
                noteSetAside("the message to \(topic) can't be published to any broker (\(why)): it is left out")
                if case .state(let topic) = other { retained?.acknowledge(topic) }
            }
        }
    }

    /// The broker acknowledged, or refused, a message that is no line's.
    func taken(_ other: Other, _ reason: UInt8, _ version: ConnectionPlan.Version) {
        guard reason < 0x80 else {
            let topic =
                switch other {
                case .state(let topic): topic
                case .availability: "\(stem ?? "")/availability"
                case .status: "\(stem ?? "")/status"
                }
            if reason == MosquittoClient.retainNotSupported {
                // It says so late: states are of no use where nobody keeps them.
                isWithoutRetained = true
                return noteWithoutRetained()
            }
            return refused(.publishRefused(topic: topic, reason, MosquittoClient.name(reason, version)))
        }
        status.retained += 1
        if case .state(let topic) = other { retained?.acknowledge(topic) }
    }

    /// Lines are shipped all the same; what is retained is tried again, all of it, after a while.
    private func refused(_ trouble: BrokerTrouble) {
        status.refusals += 1
        say(trouble)
        guard othersPauseUntil == nil else { return }
        let until = loop.now + plan.refusalDelay(refusals)
        refusals += 1
        othersPauseUntil = until
        isOnline = false
        retained?.repeatAll()
        if let turnTimer { loop.set(turnTimer, at: until) }
    }

    /// Puts the fold on the disk.
    func keepState() {
        guard case .topics(_, let file, _, _) = options.retained, let retained else { return }
        guard keptState == nil || stateIsStale || isStateBehind else { return }
        if let stateTimer { loop.set(stateTimer, at: nil) }
        do throws(Errno) {
            try WholeFile.replace(file, with: retained.encoded)
            keptState = retained.sequence
            stateIsStale = false
            noteLocal(.state, nil)
        } catch {
            noteLocal(.state, "\(file) can't be written: \(error)")
            if let stateTimer { loop.set(stateTimer, at: loop.now + Self.retryFiles) }
        }
    }
}
