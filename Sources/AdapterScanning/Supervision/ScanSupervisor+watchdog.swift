import BaseTypes
import EventLoops
import OperatorLogging

// What is done when its time has come: ways are chosen, ladders climbed.
extension ScanSupervisor {
    /// Has ``act(at:)`` called in this turn of the loop or the next, and not in the middle of what a scanner tells.
    func actSoon() {
        if let timer { loop.set(timer, at: loop.now) }
    }

    func act(at now: Instant) {
        guard timer != nil else { return }
        for source in retired { source.scanner.stop() }
        retired = []
        // Silence counts only once all that was received is known (rule T5). The clock is read first: where the process is
        // stopped in between, what came meanwhile is not read yet, and nothing up to its end may be judged.
        let now = max(now, loop.now)
        drain()
        while let action = chooser.next(at: now) { perform(action, at: now) }
        dropUnconfirmed(at: now)
        hearCanary(at: now)
        for place in watches.indices {
            doubt(place, at: now)
            while let action = watches[place].ladder.next(at: now) { perform(action, on: place, at: now) }
        }
        setTimer()
    }

    // A report moves a ladder's deadline and leaves the timer where it is: it is put right when it fires.
    private func setTimer() {
        guard let timer else { return }
        var next = chooser.nextDeadline
        func consider(_ time: Instant?) { if let time { next = min(next ?? .latest, time) } }
        consider(confirmationDue)
        consider(canary?.nextDeadline)
        for place in watches.indices {
            consider(watches[place].ladder.nextDeadline)
            consider(watches[place].proofDue)
        }
        loop.set(timer, at: next)
    }

    // MARK: Ways

    private func perform(_ action: WayChooser.Action, at now: Instant) {
        switch action {
        case .begin(let index): begin(index, at: now)
        case .end(let index):
            log(.scannerUnneeded, "\(chooser.backend(of: index).rawValue) is not needed any more")
            sources[index]?.isEnded = true
            sources[index]?.scanner.stop()
            sources[index] = nil
        case .use(let index, let because): use(index, because: because, at: now)
        }
    }

    private func begin(_ index: Int, at now: Instant) {
        let backend = chooser.backend(of: index)
        do throws(ScannerError) {
            let source = ScanSource(index: index, scanner: try make(backend), supervisor: self)
            sources[index] = source
            // What it tells while it starts belongs to it already.
            chooser.began(index, at: now)
            try source.scanner.start(source)
            log(.scannerBegun, "\(backend.rawValue) has been begun")
        } catch {
            sources[index]?.isEnded = true
            sources[index] = nil
            chooser.failed(index, error, at: now)
            log(.scannerClosed, "\(backend.rawValue) is closed: \(error.description)")
        }
    }

    private func use(_ index: Int, because: String, at now: Instant) {
        let name = chooser.backend(of: index).rawValue
        let before = sources.compactMap { $0 }.first { $0.isUsed }
        if let before {
            overall.changesOfWay &+= 1
            stopAll(reason: "changing from \(before.scanner.backend.rawValue) to \(name)", at: now)
            before.isUsed = false
        }
        log(.scannerUsed, "listening by \(name): \(because)")
        overall.reason = because
        overall.since = now
        for place in watches.indices where watches[place].isPresent { watches[place].isUnconfirmed = true }
        confirmationDue = now + .seconds(5)
        guard let source = sources[index] else { return }
        source.isUsed = true
        tellObstacles(at: now)
        for place in watches.indices { holdUp(place, at: now) }
        for adapter in source.adapters where adapter.isPresent {
            apply(
                .appeared(adapter: adapter.number, controller: adapter.controller, address: adapter.address), at: now)
            if adapter.isListening { apply(.listening(adapter: adapter.number, reason: adapter.reason), at: now) }
        }
    }

    private func dropUnconfirmed(at now: Instant) {
        guard let due = confirmationDue, due <= now else { return }
        confirmationDue = nil
        for place in watches.indices where watches[place].isUnconfirmed {
            disappeared(place, reason: "the present way does not know it", at: now)
        }
    }

    // MARK: Watchdogs

    private func hearCanary(at now: Instant) {
        guard let deaf = canary?.advance(to: now), !deaf.isEmpty else { return }
        for deafness in deaf {
            guard let place = place(of: deafness.adapter) else { continue }
            let silence = (now - deafness.since).inSeconds
            let what = canary?.isProven ?? false ? "the canary has been silent" : "the canary has not been heard"
            log(
                .canarySilent,
                "\(watches[place].name) counts as deaf: \(what) for \(silence) s; what else it hears is kept back")
            let reason = "\(what) for \(silence) s"
            if watches[place].isTold { tellStopped(place, since: deafness.since, reason: reason, at: now) }
        }
    }

    private func doubt(_ place: Int, at now: Instant) {
        guard let due = watches[place].proofDue, due <= now else { return }
        watches[place].proofDue = nil
        guard watches[place].isTold, !watches[place].isProven else { return }
        let since = watches[place].toldAt
        tellStopped(place, since: since, reason: "nothing was heard since it began to listen anew", at: now)
    }

    private func perform(_ action: WatchdogLadder.Action, on place: Int, at now: Instant) {
        let name = watches[place].name
        switch action {
        case .fellSilent(let since):
            log(.adapterSilent, "\(name) has given no report for \((now - since).inSeconds) s")
        case .exhausted:
            log(.adapterStaysSilent, "\(name) stays silent after all steps; they are tried again and again")
        case .take(let step):
            take(step, on: place, at: now)
        }
    }

    private func take(_ step: WatchdogStep, on place: Int, at now: Instant) {
        let (name, number) = (watches[place].name, watches[place].number)
        let source = chooser.used.flatMap { sources[$0] }
        // The tries at the top go on for as long as the silence does, and stand in the status.
        let kind: MessageKind = watches[place].ladder.state == .retrying ? .adapterStepRepeated : .adapterStep
        switch source?.scanner.take(step, on: number) ?? .skipped(reason: "no way of hearing is open") {
        case .taken:
            log(kind, "\(name): to \(step.words)")
        case .skipped(let reason):
            watches[place].ladder.skipped(step, at: now)
            watches[place].status.lastSkipped = "\(step.words): \(reason)"
            log(kind, "\(name): not to \(step.words): \(reason)")
        }
    }
}
