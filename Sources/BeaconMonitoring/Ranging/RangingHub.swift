import BaseTypes
import Synchronization

/// Where sightings become rangings for a monitor's subscribers.
///
/// Each subscriber has one place: what it did not fetch gives way to what is newer, and is counted. A hub without
/// subscribers does nothing.
final class RangingHub: Sendable {
    typealias Waiter = CheckedContinuation<Ranging?, Never>

    private let state: Mutex<State>
    // Asked for each batch of sightings, so outside of the lock.
    private let wanted = Atomic<Bool>(false)

    init(settings: RangingSettings) { state = Mutex(State(ranger: Ranger(settings: settings))) }

    /// Whether anybody subscribed.
    var isWanted: Bool { wanted.load(ordering: .acquiring) }
    /// When something is next to be told.
    var nextDeadline: Instant? { state.withLock { $0.ranger.nextDeadline } }
    /// Rangings that gave way to newer ones before their subscribers fetched them.
    var skipped: Int { state.withLock { $0.skipped } }

    /// Begins a subscription to a condition.
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

    /// Ends a subscription; who still waits on it gets `nil`.
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

    /// Ends all subscriptions, each after what still waits for it.
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

    /// Sightings, one after another; what is due before each is told first.
    func sighted(_ sightings: some Sequence<Sighting>, clockOffset: ClockOffset) {
        tell { state, rangings in
            for sighting in sightings {
                state.ranger.advance(to: sighting.time, clockOffset: clockOffset, into: &rangings)
                state.ranger.sighted(sighting)
            }
        }
    }

    /// Tells what is due at or before `time`.
    func advance(to time: Instant, clockOffset: ClockOffset) {
        guard isWanted else { return }
        tell { state, rangings in state.ranger.advance(to: time, clockOffset: clockOffset, into: &rangings) }
    }

    private func tell(_ body: (inout State, inout ContiguousArray<Ranging>) -> Void) {
        let answers = state.withLock { state -> [(Waiter, Ranging)] in
            guard !state.isFinished else { return [] }
            var rangings: ContiguousArray<Ranging> = []
            body(&state, &rangings)
            return rangings.flatMap { state.hand($0) }
        }
        for (waiter, ranging) in answers { waiter.resume(returning: ranging) }
    }

    /// A subscription's next ranging, and how many it missed before.
    func next(_ id: Int, isolation: isolated (any Actor)?) async -> Ranging? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                if case .some(let answer) = state.withLock({ $0.ask(id, waiter) }) { waiter.resume(returning: answer) }
            }
        } onCancel: {
            end(id)
        }
    }

    /// How many rangings of a subscription gave way to newer ones since this was asked last.
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

        /// Hands a ranging to who waits for it, and keeps it for who does not.
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

        /// The answer to who asks; without one, it waits.
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
