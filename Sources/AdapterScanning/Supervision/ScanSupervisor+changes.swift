import BaseTypes
import BluetoothLE
import OperatorLogging

// What the ways tell of their adapters, and what the handler is told of it.
extension ScanSupervisor {
    func changed(_ change: ScanChange, by source: ScanSource, at time: Instant) {
        switch change {
        case .obstacles(let obstacles): chooser.obstacles(obstacles, of: source.index, at: time)
        case .listening, .stopped, .disappeared: chooser.listening(source.listening, by: source.index, at: time)
        case .ended(let error): ended(source, error, at: time)
        case .appeared, .lost, .needs: break
        }
        if source.isUsed { apply(change, at: time) }
        actSoon()
    }

    private func ended(_ source: ScanSource, _ error: ScannerError, at time: Instant) {
        log(.scannerEnded, "\(source.scanner.backend.rawValue) has ended: \(error.description)")
        if source.isUsed { stopAll(reason: "\(source.scanner.backend.rawValue) ended", at: time) }
        source.isEnded = true
        source.isUsed = false
        sources[source.index] = nil
        // It is in the middle of telling this; it is stopped when it is not.
        retired.append(source)
        chooser.failed(source.index, error, at: time)
        for place in watches.indices { holdUp(place, at: time) }
    }

    func apply(_ change: ScanChange, at time: Instant) {
        switch change {
        case .appeared(let adapter, let controller, let address):
            if let place = place(of: adapter) { appeared(place, controller, address, at: time) }
        case .disappeared(let adapter):
            if let place = place(of: adapter) { disappeared(place, reason: "it is no longer there", at: time) }
        case .listening(let adapter, let reason):
            if let place = place(of: adapter) { listening(place, reason: reason, at: time) }
        case .stopped(let adapter, let since, let reason):
            if let place = place(of: adapter) { stopped(place, since: since, reason: reason, at: time) }
        case .lost(let adapter, let count, let since):
            if let place = place(of: adapter) { lost(place, count: count, since: since, at: time) }
        case .needs(let adapter, let step, let reason):
            if let place = place(of: adapter) { needs(place, step, reason: reason, at: time) }
        case .obstacles: tellObstacles(at: time)
        case .ended: break
        }
    }

    private func appeared(_ place: Int, _ controller: String, _ address: DeviceAddress?, at time: Instant) {
        if let address, let known = watches[place].address, known.value != address.value {
            another(place, known, address, at: time)
        }
        // A way that does not tell it does not make another of one that has stayed.
        let address = address ?? (watches[place].isPresent ? watches[place].address : nil)
        let isNews =
            !watches[place].isPresent || watches[place].controller != controller || watches[place].address != address
        watches[place].address = address
        watches[place].isPresent = true
        watches[place].isUnconfirmed = false
        watches[place].controller = controller
        watches[place].ladder.appeared(at: time)
        holdUp(place, at: time)
        guard isNews else { return }
        watches[place].note(reason: "it appeared", at: time)
        log(.adapterAppeared, "\(watches[place].name) is there: \(controller)")
        handler?.changed(
            .appeared(adapter: watches[place].number, controller: controller, address: address), at: time)
    }

    /// The name is another controller's now (rule L7): nothing that is known of the one that had it holds for this one.
    private func another(_ place: Int, _ known: DeviceAddress, _ address: DeviceAddress, at time: Instant) {
        let number = watches[place].number
        disappeared(place, reason: "hci\(number) is \(address) now, and was \(known)", at: time)
        cadence.interrupted(number, at: time)
        canary?.forget(number)
        watches[place] = AdapterWatch(number: number, deafAfter: options.deafAfter, now: time)
    }

    func disappeared(_ place: Int, reason: String, at time: Instant) {
        guard watches[place].isPresent || watches[place].isTold else { return }
        stopped(place, since: time, reason: reason, at: time)
        watches[place].isPresent = false
        watches[place].isUnconfirmed = false
        watches[place].ladder.disappeared()
        watches[place].note(reason: reason, at: time)
        log(.adapterGone, "\(watches[place].name) is gone: \(reason)")
        handler?.changed(.disappeared(adapter: watches[place].number), at: time)
    }

    private func listening(_ place: Int, reason: String, at time: Instant) {
        watches[place].isPresent = true
        watches[place].isUnconfirmed = false
        watches[place].isScanning = true
        canary?.listening(watches[place].number, at: time)
        holdUp(place, at: time)
        watches[place].ladder.listening(at: time)
        guard !watches[place].isTold else { return }
        if isDoubted(place) {
            watches[place].note(reason: "it scans, and nothing proves yet that it hears", at: time)
            log(
                .adapterUnproven, "\(watches[place].name) scans (\(reason)); it counts as listening once a report comes"
            )
        } else {
            tellListening(place, reason: reason, at: time)
        }
    }

    // Whether a scan that was begun anew is no proof any more: see the type's words on rule L5.
    private func isDoubted(_ place: Int) -> Bool {
        if canary?.isDeaf(watches[place].number) ?? false { return true }
        guard options.deafAfter != nil else { return false }
        return watches[place].ladder.isClimbing || watches[place].unproven >= watches[place].ladder.silence
    }

    // A scan that ends while the watchdog climbs had been silent for half of `deaf_after`, and nobody knows how much of that
    // it could have heard: it counts from the last report, as where `deaf_after` runs out (rule L5).
    private func doubtedSince(_ place: Int) -> Instant? {
        guard options.deafAfter != nil, watches[place].isTold, watches[place].ladder.isClimbing else { return nil }
        return max(watches[place].toldAt, watches[place].status.lastReport ?? .earliest)
    }

    private func stopped(_ place: Int, since: Instant, reason: String, at time: Instant) {
        let since = doubtedSince(place).map { min($0, since) } ?? since
        watches[place].isScanning = false
        canary?.stopped(watches[place].number)
        watches[place].ladder.stopped(at: time)
        holdUp(place, at: time)
        if watches[place].isTold {
            tellStopped(place, since: since, reason: reason, at: time)
        } else {
            watches[place].note(reason: reason, at: time)
        }
    }

    // It is taken in the turn that follows, as all steps are. A scanner says so again and again; it is news where it counts.
    private func needs(_ place: Int, _ step: WatchdogStep, reason: String, at time: Instant) {
        guard watches[place].ladder.needs(step, at: time) else { return }
        log(.adapterNeedsStep, "\(watches[place].name): \(reason)")
        watches[place].note(reason: reason, at: time)
    }

    private func lost(_ place: Int, count: Int, since: Instant, at time: Instant) {
        watches[place].status.losses &+= 1
        watches[place].status.lost &+= max(count, 0)
        interrupted(place, at: time)
        guard watches[place].isTold else { return }
        let messages = PlainText.count(count, "message was", "messages were")
        log(.reportsLost, "\(watches[place].name): \(messages) lost; the adapter counts as not listening meanwhile")
        // It has not listened longer than that, whatever its scanner received before.
        let since = min(max(since, watches[place].toldAt), time)
        handler?.changed(.lost(adapter: watches[place].number, count: count, since: since), at: time)
    }

    func interrupted(_ place: Int, at time: Instant) {
        cadence.interrupted(watches[place].number, at: time)
        watches[place].thinning.interrupted()
    }
}

// MARK: What the handler is told

extension ScanSupervisor {
    func tellListening(_ place: Int, reason: String, at time: Instant) {
        watches[place].isTold = true
        watches[place].toldAt = time
        watches[place].isProven = false
        if let deafAfter = options.deafAfter, watches[place].unproven > .zero {
            watches[place].proofDue = time + (deafAfter - watches[place].unproven)
        }
        watches[place].note(reason: reason, at: time)
        log(.adapterListens, "\(watches[place].name) listens: \(reason)")
        handler?.changed(.listening(adapter: watches[place].number, reason: reason), at: time)
    }

    func tellStopped(_ place: Int, since: Instant, reason: String, at time: Instant) {
        let since = min(since, time)
        // What it has counted as listening without a report: since it was told, or since the last one.
        let last = watches[place].status.lastReport ?? .earliest
        let silent = max(since - max(watches[place].toldAt, last), .zero)
        watches[place].unproven = watches[place].isProven ? silent : watches[place].unproven + silent
        watches[place].isTold = false
        watches[place].proofDue = nil
        interrupted(place, at: time)
        watches[place].note(reason: reason, at: time)
        log(.adapterNotListening, "\(watches[place].name) does not listen: \(reason)")
        handler?.changed(.stopped(adapter: watches[place].number, since: since, reason: reason), at: time)
    }

    func stopAll(reason: String, at time: Instant) {
        for place in watches.indices {
            watches[place].isScanning = false
            canary?.stopped(watches[place].number)
            watches[place].ladder.stopped(at: time)
            if watches[place].isTold { tellStopped(place, since: time, reason: reason, at: time) }
        }
    }

    /// Tells what stands in the way, where that has changed; ladders on which no step would help are left.
    func tellObstacles(at time: Instant) {
        var present = chooser.used.map { chooser.obstacles(of: $0) } ?? []
        if watches.contains(where: { $0.thinning.isThinned && $0.isPresent }) { present.insert(.thinned) }
        guard present != obstacles else { return }
        let words = present.map(\.words).sorted().joined(separator: ", ")
        if present.isEmpty {
            log(.hearingUnobstructed, "nothing stands in the way any more")
        } else {
            log(.hearingObstructed, words)
        }
        obstacles = present
        for place in watches.indices { holdUp(place, at: time) }
        handler?.changed(.obstacles(present), at: time)
    }

    func holdUp(_ place: Int, at time: Instant) {
        let isScanning = watches[place].isScanning
        if chooser.used == nil {
            // There is nobody who could take a step.
            watches[place].ladder.heldUp(unlessAfter: nil, at: time)
        } else if !obstacles.isDisjoint(with: [.denied, .blocked, .blockedByHardware]), !isScanning {
            watches[place].ladder.heldUp(unlessAfter: nil, at: time)
        } else if obstacles.contains(.unavailable), !isScanning {
            watches[place].ladder.heldUp(unlessAfter: .powerCycle, at: time)
        } else if obstacles.contains(.waiting), !isScanning {
            watches[place].ladder.heldUp(unlessAfter: .restartScan, at: time)
        } else {
            watches[place].ladder.released(at: time)
        }
    }

    func resumed(_ stretch: SuspendDetector.Stretch) {
        overall.suspensions &+= 1
        overall.suspended += stretch.suspended
        log(.machineSlept, "the machine was suspended for \(stretch.suspended.inSeconds) s; nothing listened meanwhile")
        canary?.resumed(at: stretch.end)
        for place in watches.indices {
            watches[place].ladder.resumed(at: stretch.end)
            guard watches[place].isTold else { continue }
            tellStopped(place, since: stretch.start, reason: "the machine was suspended", at: stretch.start)
            interrupted(place, at: stretch.end)
            if watches[place].isScanning, !isDoubted(place) {
                tellListening(place, reason: "the machine runs again", at: stretch.end)
            }
        }
        actSoon()
    }
}
