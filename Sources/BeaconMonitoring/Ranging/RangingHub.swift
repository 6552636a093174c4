import BaseTypes
import Synchronization

/// Converts sightings to rangings for the subscribers of a monitor.
///
/// One ranging waits for each subscriber. A newer one replaces it, which is counted. A hub without subscribers does
/// nothing.
final class RangingHub: Sendable {
    typealias Waiter = CheckedContinuation<Ranging?, Never>

    private let state: Mutex<State>
    // Read for each batch of sightings, so it is outside the lock.
    private let wanted = Atomic<Bool>(false)

    private let runState: RunState?

    init(settings: RangingSettings, _ runState: RunState? = nil) {
        state = Mutex(State(ranger: Ranger(settings: settings)))
        self.runState = runState
    }

    /// Whether there are subscribers.
    var isWanted: Bool { wanted.load(ordering: .acquiring) }
    /// The time at which the next ranging is due; `nil` if there is none.
    var nextDeadline: Instant? { state.withLock { $0.ranger.nextDeadline } }
    /// The number of rangings that newer ones replaced before their subscribers requested them.
    var skipped: Int { state.withLock { $0.skipped } }

    /// Creates a subscription to a condition.
    func subscribe(to condition: BeaconMonitor.BeaconIdentityCondition) -> Int {
        state.withLock { state in
            state.given += 1
            guard !state.isFinished else { return state.given }
            state.subscribers[state.given] = Subscriber(condition: condition)
            state.ranger.add(condition)
            wanted.store(true, ordering: .releasing)
            return state.given
        }
    }

    /// Ends a subscription. Tasks that wait for it get `nil`.
    func end(_ id: Int) {
        let waiters = state.withLock { state -> [Waiter] in
            guard let gone = state.subscribers.removeValue(forKey: id) else { return [] }
            if !state.subscribers.values.contains(where: { $0.condition == gone.condition }) {
                state.ranger.remove(gone.condition)
            }
            if state.subscribers.isEmpty { wanted.store(false, ordering: .releasing) }
            return gone.waiters
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }

    /// Ends all subscriptions after their waiting rangings.
    func finish() {
        let waiters = state.withLock { state -> [Waiter] in
            state.isFinished = true
            wanted.store(false, ordering: .releasing)
            var waiters: [Waiter] = []
            for (id, subscriber) in state.subscribers {
                waiters += subscriber.waiters
                if subscriber.latest == nil {
                    state.subscribers[id] = nil
                } else {
                    state.subscribers[id]?.waiters = []
                }
            }
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }

    /// Adds sightings in their order. Rangings that are due before each are delivered first.
    func sighted(_ sightings: some Sequence<Sighting>, clockOffset: ClockOffset) {
        update { state, rangings in
            for sighting in sightings {
                state.ranger.advance(to: sighting.time, clockOffset: clockOffset, into: &rangings)
                state.ranger.sighted(sighting)
            }
        }
    }

    /// Delivers the rangings that are due at or before `time`.
    func advance(to time: Instant, clockOffset: ClockOffset) {
        guard isWanted else { return }
        update { state, rangings in state.ranger.advance(to: time, clockOffset: clockOffset, into: &rangings) }
    }

    private func update(_ body: (inout State, inout ContiguousArray<Ranging>) -> Void) {
        let answers = state.withLock { state -> [(Waiter, Ranging)] in
            guard !state.isFinished else { return [] }
            var rangings: ContiguousArray<Ranging> = []
            body(&state, &rangings)
            return rangings.flatMap { state.hand($0) }
        }
        for (waiter, ranging) in answers { waiter.resume(returning: ranging) }
    }

    /// Returns the next ranging of a subscription.
    func next(_ id: Int, isolation: isolated (any Actor)?) async -> Ranging? {
        guard let runState else { return await wait(id, isolation: isolation) }
        return await runState.check { await wait(id, isolation: isolation) }
    }

    private func wait(_ id: Int, isolation: isolated (any Actor)?) async -> Ranging? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                if case .some(let answer) = state.withLock({ $0.ask(id, waiter) }) { waiter.resume(returning: answer) }
            }
        } onCancel: {
            end(id)
        }
    }

    /// Returns the number of rangings of a subscription that were replaced since the last call.
    func takeSkipped(_ id: Int) -> Int {
        state.withLock { state in
            defer { state.subscribers[id]?.skipped = 0 }
            return state.subscribers[id]?.skipped ?? 0
        }
    }

    private struct Subscriber {
        let condition: BeaconMonitor.BeaconIdentityCondition
        var latest: Ranging?
        var skipped = 0
        var waiters: [Waiter] = []
    }

    private struct State {
        var ranger: Ranger
        var subscribers: [Int: Subscriber] = [:]
        var given = 0
        var skipped = 0
        var isFinished = false

        /// Delivers a ranging to waiting tasks, and stores it for the other subscribers.
        mutating func hand(_ ranging: Ranging) -> [(Waiter, Ranging)] {
            var answers: [(Waiter, Ranging)] = []
            for index in subscribers.indices where subscribers.values[index].condition == ranging.condition {
                if !subscribers.values[index].waiters.isEmpty {
                    answers.append((subscribers.values[index].waiters.removeFirst(), ranging))
                    continue
                }
                if subscribers.values[index].latest != nil {
                    subscribers.values[index].skipped += 1
                    skipped += 1
                }
                subscribers.values[index].latest = ranging
            }
            return answers
        }

        /// Returns the answer to a request; `.none` if the task must wait.
        mutating func ask(_ id: Int, _ waiter: Waiter) -> Ranging?? {
            guard let subscriber = subscribers[id] else { return .some(nil) }
            if let latest = subscriber.latest {
                subscribers[id]?.latest = nil
                return .some(latest)
            }
            if isFinished {
                subscribers[id] = nil
                return .some(nil)
            }
            subscribers[id]?.waiters.append(waiter)
            return .none
        }
    }
}
