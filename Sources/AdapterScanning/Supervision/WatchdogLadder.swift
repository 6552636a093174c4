package import BaseTypes

/// The watchdog of one adapter: what is to be done, and when, while it should hear something and hears nothing.
///
/// A controller that hangs, and a scan that the kernel forgot, give no signal at all: only silence shows them. The ladder
/// is climbed from the cheap to the disruptive, each step with time to take effect; one that can't be taken is passed at
/// once. At the top it goes on trying. Any proof of hearing ends the climb.
///
/// A value: events and time go in, actions come out of ``next(at:)``.
package struct WatchdogLadder: Sendable, Hashable {
    /// Where the adapter stands on its ladder.
    package enum State: Sendable, Hashable {
        /// Nothing is expected of it: it is not there, or something stands in its way that no step can mend.
        case resting
        /// It hears, or has not been silent for long enough to worry.
        case hearing
        /// It is silent; the step was the last that was taken, where any could be.
        case climbing(WatchdogStep?)
        /// All steps have been tried; they are tried again and again.
        case retrying
    }

    /// What is to be done.
    package enum Action: Sendable, Hashable {
        /// Say that nothing has been heard since then; the climb begins.
        case fellSilent(since: Instant)
        /// Take a step. It counts as taken unless ``skipped(_:at:)`` follows.
        case take(WatchdogStep)
        /// Say that all steps have been tried in vain.
        case exhausted
    }

    /// The end of a climb.
    package struct Recovery: Sendable, Hashable {
        /// How long nothing was heard.
        package let silence: Duration
        /// The last step that was taken; absent where none was.
        package let step: WatchdogStep?
    }

    /// How often what has been done. Each wraps after 2⁶³.
    package struct Counters: Sendable, Hashable {
        /// Climbs begun.
        package internal(set) var climbs = 0
        /// Climbs that proof of hearing ended.
        package internal(set) var recoveries = 0
        var taken = [0, 0, 0, 0]
        var skipped = [0, 0, 0, 0]

        /// How often `step` was taken.
        package func taken(_ step: WatchdogStep) -> Int { taken[step.rawValue] }
        /// How often `step` could not be taken.
        package func skipped(_ step: WatchdogStep) -> Int { skipped[step.rawValue] }
    }

    private enum Phase: Hashable {
        case resting, watching, climbing, retrying
    }

    /// The silence that begins a climb where `deaf_after` is off.
    package static let silenceByDefault: Duration = .seconds(5)
    /// The longest pause between two tries at the top of the ladder.
    package static let pauseMax: Duration = .seconds(5)
    // Beyond the first climb, what disturbs others on the adapter comes at growing distances: a place in which nothing
    // advertises by night would else have its adapter switched off and on all night.
    static let disruptionPauseMin: Duration = .seconds(30)
    static let disruptionPauseMax: Duration = .seconds(300)
    // The steps of a round at the top: all but the first of the ladder.
    private static let round = WatchdogStep.allCases.count - 1
    // What an adapter gets from its beginning to listen until the next step, and what that can add to a step's time.
    static let startingTime: Duration = .seconds(3)
    static let startingTimeMax: Duration = .seconds(8)

    /// How long a step is given to take effect.
    package static func patience(for step: WatchdogStep) -> Duration {
        switch step {
        // A filter: effective with the next advertisement.
        case .widen: .seconds(2)
        // A few commands of some 10 ms each, and a restart of bluetoothd's discovery in the worst case.
        case .restartScan: .seconds(3)
        // Off and on take a second or two with real controllers, firmware being loaded anew; USB ones go and come.
        case .powerCycle, .reset: .seconds(5)
        }
    }

    /// The silence that begins a climb: half of `deaf_after`, so that a cheap step can still prevent deafness (rule L5).
    package let silence: Duration
    /// How often what has been done.
    package private(set) var counters = Counters()

    private var phase: Phase = .resting
    private var isPresent = false
    private var isHeldUp = false
    private var isListening = false
    // The last proof of hearing, or the moment from which one is expected.
    private var proof: Instant = .earliest
    private var silentSince: Instant = .earliest
    private var due: Instant = .earliest
    // The step to take when it is due; none: the top has been reached.
    private var upcoming: WatchdogStep?
    private var lastTaken: WatchdogStep?
    private var lastStepTime: Instant = .earliest
    private var isClimbByNeed = false
    private var backOff = BackOff(first: .seconds(1), most: WatchdogLadder.pauseMax)
    // At the top: whether the last step could not be taken, and how many in a row.
    private var isPassing = false
    private var passed = 0
    private var disruption = BackOff(first: disruptionPauseMin, most: disruptionPauseMax)
    private var nextDisruption: Instant = .earliest

    /// Makes the ladder of an adapter that is not there yet.
    ///
    /// - Parameter deafAfter: rule L5's; `nil` where that is off.
    package init(deafAfter: Duration?) {
        silence = deafAfter.map { max($0 / 2, .nanoseconds(1)) } ?? Self.silenceByDefault
    }

    /// Where it stands.
    package var state: State {
        switch phase {
        case .resting: .resting
        case .watching: .hearing
        case .climbing: .climbing(lastTaken)
        case .retrying: .retrying
        }
    }

    /// Whether the adapter is silent for long enough that steps are being taken.
    package var isClimbing: Bool { phase == .climbing || phase == .retrying }

    /// When ``next(at:)`` has something to say, unless something is heard before; `nil`: never.
    package var nextDeadline: Instant? {
        switch phase {
        case .resting: nil
        case .watching: proof + silence
        case .climbing, .retrying: due
        }
    }
}

// MARK: What happens

extension WatchdogLadder {
    /// The adapter gave proof that it hears: a report, or, where a canary is waited for, the canary's.
    ///
    /// - Returns: the end of the climb, where it ended one.
    @inline(__always)
    package mutating func heard(at time: Instant) -> Recovery? {
        if time > proof { proof = time }
        return phase == .climbing || phase == .retrying ? recover(at: time) : nil
    }

    private mutating func recover(at time: Instant) -> Recovery {
        phase = .watching
        counters.recoveries &+= 1
        disruption.reset()
        nextDisruption = .earliest
        return Recovery(silence: max(time - silentSince, .zero), step: lastTaken)
    }

    /// The adapter is there.
    package mutating func appeared(at time: Instant) {
        guard !isPresent else { return }
        isPresent = true
        watch(from: time)
    }

    /// The adapter is no longer there.
    ///
    /// The distance between disruptive steps is kept: a reset makes some adapters go and come.
    package mutating func disappeared() {
        isPresent = false
        isListening = false
        phase = .resting
    }

    /// The adapter scans, as far as its scanner knows.
    package mutating func listening(at time: Instant) {
        isListening = true
        isPresent = true
        if isClimbing, !isClimbByNeed {
            due = max(due, min(time + Self.startingTime, lastStepTime + Self.startingTimeMax))
        } else {
            if isClimbing { _ = recover(at: time) }
            watch(from: time)
        }
    }

    /// The adapter stopped scanning. Its scanner gets the usual time to come back by itself.
    package mutating func stopped(at time: Instant) {
        isListening = false
        if phase == .watching { watch(from: time) }
    }

    /// Something stands in the way that no step can mend: rfkill blocks it, rights are missing, somebody is waited for.
    ///
    /// - Parameters:
    ///   - step: where the ladder has got there in the present climb, it may be what it did that is waited for, and nobody
    ///     else would go on: a scan that it ended and that does not begin, an adapter that it switched off.
    ///   - time: since when.
    package mutating func heldUp(unlessAfter step: WatchdogStep?, at time: Instant) {
        if let step, isClimbing, let lastTaken, lastTaken >= step { return }
        isHeldUp = true
        phase = .resting
    }

    /// Nothing stands in the way any more.
    package mutating func released(at time: Instant) {
        guard isHeldUp else { return }
        isHeldUp = false
        watch(from: time)
    }

    /// Nothing could be heard up to `time`: the machine was suspended.
    package mutating func resumed(at time: Instant) {
        if phase == .watching { watch(from: time) }
        if isClimbing { due = max(due, time + Self.startingTime) }
    }

    /// It is known that the adapter does not hear, and that `step` is what helps: that is due now, and a climb begins with it
    /// where none is under way. Such a climb ends when the adapter listens: no silence began it.
    ///
    /// - Returns: whether it is due now; not where nothing is expected of the adapter, where the same step was just taken and
    ///   has not had its time, and where it would disturb others on an adapter that listens.
    package mutating func needs(_ step: WatchdogStep, at time: Instant) -> Bool {
        guard phase != .resting, step < .powerCycle || mayDisrupt(at: time) else { return false }
        if phase == .watching {
            phase = .climbing
            counters.climbs &+= 1
            silentSince = proof
            lastTaken = nil
            isClimbByNeed = true
        } else if lastTaken == step, time < lastStepTime + Self.patience(for: step) {
            return false
        }
        upcoming = step
        isPassing = false
        due = time
        return true
    }

    private mutating func watch(from time: Instant) {
        guard isPresent, !isHeldUp else { return }
        phase = .watching
        if time > proof { proof = time }
    }
}

// MARK: What is to be done

extension WatchdogLadder {
    /// What is to be done by `now`; to be asked again until there is nothing.
    package mutating func next(at now: Instant) -> Action? {
        guard let deadline = nextDeadline, deadline <= now else { return nil }
        switch phase {
        case .resting: return nil
        case .watching:
            phase = .climbing
            isClimbByNeed = false
            counters.climbs &+= 1
            silentSince = proof
            upcoming = .widen
            lastTaken = nil
            lastStepTime = now
            due = now
            return .fellSilent(since: proof)
        case .climbing:
            // An adapter that goes and comes in the climb begins a new one, which must not disturb others sooner for that.
            guard let step = upcoming, step < .powerCycle || mayDisrupt(at: now) else { return exhaust(at: now) }
            if step == .reset { nextDisruption = now + disruption.pause }
            upcoming = WatchdogStep(rawValue: step.rawValue + 1)
            due = now + Self.patience(for: step)
            return take(step, at: now)
        case .retrying:
            if !isPassing { passed = 0 }
            isPassing = false
            let step = retry(at: now)
            due = now + max(backOff.next(), Self.patience(for: step))
            return take(step, at: now)
        }
    }

    /// The step that ``next(at:)`` gave can't be taken here: the following one is due at once, at the top only where it is
    /// another one, and no round of them in which none could be taken is followed by the next without a pause.
    package mutating func skipped(_ step: WatchdogStep, at now: Instant) {
        counters.taken[step.rawValue] &-= 1
        counters.skipped[step.rawValue] &+= 1
        switch phase {
        case .resting, .watching: break
        case .climbing: due = now
        case .retrying:
            isPassing = true
            passed += 1
            if upcoming != step, passed < Self.round { due = now } else { passed = 0 }
        }
    }

    private mutating func exhaust(at now: Instant) -> Action {
        phase = .retrying
        backOff.reset()
        if nextDisruption <= now { nextDisruption = now + disruption.pause }
        // From the beginning of the round, which a power cycle belongs to only when its time has come.
        upcoming = .restartScan
        due = now
        return .exhausted
    }

    private mutating func take(_ step: WatchdogStep, at now: Instant) -> Action {
        counters.taken[step.rawValue] &+= 1
        lastTaken = step
        lastStepTime = now
        return .take(step)
    }

    // An adapter that does not even scan has nothing to lose.
    private func mayDisrupt(at now: Instant) -> Bool { !isListening || now >= nextDisruption }

    // Restarts of the scan, and now and then a round of what is more disruptive.
    private mutating func retry(at now: Instant) -> WatchdogStep {
        let step = upcoming ?? .restartScan
        switch step {
        case .widen, .restartScan:
            if mayDisrupt(at: now) { upcoming = .powerCycle }
            return .restartScan
        case .powerCycle:
            upcoming = .reset
            return .powerCycle
        case .reset:
            upcoming = .restartScan
            _ = disruption.next()
            nextDisruption = now + disruption.pause
            return .reset
        }
    }
}
