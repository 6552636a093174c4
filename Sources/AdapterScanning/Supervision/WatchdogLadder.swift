package import BaseTypes

/// The watchdog of one adapter: it decides which step to take, and when, while the adapter should receive reports but
/// does not.
///
/// A controller that hangs and a scan that the kernel has lost give no signal: only silence shows them. The steps are
/// taken from the cheapest to the most disruptive, each with time to take effect. A step that cannot be taken is
/// skipped at once. After the last step, the attempts are repeated. Any proof that the adapter receives ends the climb.
///
/// A value without side effects: events and times are passed in, and ``next(at:)`` returns the actions.
package struct WatchdogLadder: Sendable, Hashable {
    /// The state of the watchdog.
    package enum State: Sendable, Hashable {
        /// No report is expected: the adapter is not present, or it has an obstacle that no step can remove.
        case resting
        /// The adapter receives, or it has not been silent long enough.
        case receiving
        /// The adapter is silent. The step is the last one that was taken, if any.
        case climbing(WatchdogStep?)
        /// All steps were tried. They are repeated.
        case retrying
    }

    /// An action that the watchdog requests.
    package enum Action: Sendable, Hashable {
        /// Report that the adapter has been silent since then. A climb starts.
        case fellSilent(since: Instant)
        /// Take a step. It counts as taken unless ``skipped(_:at:)`` follows.
        case take(WatchdogStep)
        /// Report that all steps were tried without success.
        case exhausted
    }

    /// The end of a climb.
    package struct Recovery: Sendable, Hashable {
        /// How long the adapter was silent.
        package let silence: Duration
        /// The last step that was taken; `nil` if there was none.
        package let step: WatchdogStep?
    }

    /// The numbers of actions. They wrap around after 2⁶³.
    package struct Counters: Sendable, Hashable {
        /// The number of climbs that were started.
        package internal(set) var climbs = 0
        /// The number of climbs that ended with a proof that the adapter receives.
        package internal(set) var recoveries = 0
        var taken = [0, 0, 0, 0]
        var skipped = [0, 0, 0, 0]

        /// Returns how many times `step` was taken.
        package func taken(_ step: WatchdogStep) -> Int { taken[step.rawValue] }
        /// Returns how many times `step` could not be taken.
        package func skipped(_ step: WatchdogStep) -> Int { skipped[step.rawValue] }
    }

    private enum Phase: Hashable {
        case resting, watching, climbing, retrying
    }

    /// The silence that starts a climb if `deaf_after` is off.
    package static let silenceByDefault: Duration = .seconds(5)
    /// The longest pause between two attempts at the top of the ladder.
    package static let pauseMax: Duration = .seconds(5)
    // After the first climb, steps that disturb other users of the adapter are taken at growing intervals. Otherwise,
    // in a place where no device advertises at night, the adapter would be switched off and on all night.
    static let disruptionPauseMin: Duration = .seconds(30)
    static let disruptionPauseMax: Duration = .seconds(300)
    // The number of steps of a round at the top: all except the first of the ladder.
    private static let round = WatchdogStep.allCases.count - 1
    // The time that an adapter gets from the start of listening until the next step, and the limit up to which that can
    // extend the time of a step.
    static let startingTime: Duration = .seconds(3)
    static let startingTimeMax: Duration = .seconds(8)

    /// Returns how long to wait for the effect of a step.
    package static func patience(for step: WatchdogStep) -> Duration {
        switch step {
        // A filter, which is effective from the next advertisement on.
        case .widen: .seconds(2)
        // A few commands of some 10 ms each; in the worst case a restart of bluetoothd's discovery.
        case .restartScan: .seconds(3)
        // Switching off and on takes a second or two with real controllers, because firmware is loaded again. USB
        // adapters are removed and added.
        case .powerCycle, .reset: .seconds(5)
        }
    }

    /// The silence that starts a climb: half of `deaf_after`, so that a cheap step can still prevent that rule L5
    /// applies.
    package let silence: Duration
    /// Whether there are steps that it can take. If there are none, it always rests.
    private let hasSteps: Bool
    /// The numbers of actions.
    package private(set) var counters = Counters()

    private var phase: Phase = .resting
    private var isPresent = false
    private var isHeldUp = false
    private var isListening = false
    // The time of the last proof that the adapter receives, or the time from which one is expected.
    private var proof: Instant = .earliest
    private var silentSince: Instant = .earliest
    private var due: Instant = .earliest
    // The step to take when it is due; `nil`: the top was reached.
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

    /// Creates the watchdog of an adapter that is not present yet.
    ///
    /// - Parameters:
    ///   - deafAfter: the time of rule L5; `nil` if the rule is off.
    ///   - hasSteps: whether there are steps that it can take.
    package init(deafAfter: Duration?, hasSteps: Bool = true) {
        self.hasSteps = hasSteps
        silence = deafAfter.map { max($0 / 2, .nanoseconds(1)) } ?? Self.silenceByDefault
    }

    /// The present state.
    package var state: State {
        switch phase {
        case .resting: .resting
        case .watching: .receiving
        case .climbing: .climbing(lastTaken)
        case .retrying: .retrying
        }
    }

    /// Whether the adapter has been silent long enough that steps are being taken.
    package var isClimbing: Bool { phase == .climbing || phase == .retrying }

    /// The next time at which ``next(at:)`` returns an action, unless a report is received before; `nil`: never.
    package var nextDeadline: Instant? {
        switch phase {
        case .resting: nil
        case .watching: proof + silence
        case .climbing, .retrying: due
        }
    }
}

// MARK: Events

extension WatchdogLadder {
    /// The adapter proved that it receives, with a report; if it must receive a canary, with a report of the canary.
    ///
    /// - Returns: the end of the climb, if it ended one.
    @inline(__always)
    package mutating func received(at time: Instant) -> Recovery? {
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

    /// The adapter is present.
    package mutating func appeared(at time: Instant) {
        guard !isPresent else { return }
        isPresent = true
        watch(from: time)
    }

    /// The adapter is no longer present.
    ///
    /// The interval between disruptive steps is kept, because a reset removes and adds some adapters.
    package mutating func disappeared() {
        isPresent = false
        isListening = false
        phase = .resting
    }

    /// The adapter is scanning, as far as its scanner knows.
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

    /// The adapter stopped scanning. Its scanner gets the usual time to recover by itself.
    package mutating func stopped(at time: Instant) {
        isListening = false
        if phase == .watching { watch(from: time) }
    }

    /// An obstacle exists that no step can remove: rfkill blocks the adapter, a permission is missing, or another
    /// process is waited for.
    ///
    /// - Parameters:
    ///   - step: if the present climb has reached this step, the obstacle may be an effect of the climb, and no other
    ///     process would remove it: a scan that the watchdog stopped and that does not start, or an adapter that it
    ///     switched off. Then the obstacle is ignored.
    ///   - time: since when the obstacle exists.
    package mutating func heldUp(unlessAfter step: WatchdogStep?, at time: Instant) {
        if let step, isClimbing, let lastTaken, lastTaken >= step { return }
        isHeldUp = true
        phase = .resting
    }

    /// The obstacle was removed.
    package mutating func released(at time: Instant) {
        guard isHeldUp else { return }
        isHeldUp = false
        watch(from: time)
    }

    /// No adapter could receive up to `time`, because the machine was suspended.
    package mutating func resumed(at time: Instant) {
        if phase == .watching { watch(from: time) }
        if isClimbing { due = max(due, time + Self.startingTime) }
    }

    /// It is known that the adapter does not receive and that `step` helps. The step is due now, and starts a climb if
    /// there is none. Such a climb ends when the adapter is listening, because it did not start with a silence.
    ///
    /// - Returns: whether the step is due now. It is not in three cases: no report is expected of the adapter; the same
    ///   step was just taken in the present climb and has not had its time; or the step disturbs other users, the
    ///   adapter is listening, and the interval between disruptive steps has not passed.
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
        guard isPresent, !isHeldUp, hasSteps else { return }
        phase = .watching
        if time > proof { proof = time }
    }
}

// MARK: Actions

extension WatchdogLadder {
    /// Returns the next action that is due by `now`. Call it until it returns `nil`.
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
            // An adapter that is removed and added during a climb starts a new one, which must not disturb other users
            // earlier for that reason.
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

    /// Records that the step that ``next(at:)`` returned cannot be taken. The following step is due at once. At the top
    /// this is only so if it is a different step, and after a round in which no step could be taken there is a pause.
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
        // From the start of the round, which includes a power cycle only if that is due.
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

    // If the adapter does not even scan, a disruptive step cannot make it worse, so it is allowed at any time.
    private func mayDisrupt(at now: Instant) -> Bool { !isListening || now >= nextDisruption }

    // Restarts the scan, and from time to time takes a round of the more disruptive steps.
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
