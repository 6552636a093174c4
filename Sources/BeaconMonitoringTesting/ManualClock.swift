public import BaseTypes
public import BeaconMonitoring
import Synchronization

/// A clock that only a test moves forward, so that tests of hours take no time and no task really sleeps.
///
///     let clock = ManualClock()
///     let monitor = try BeaconMonitor("minutes", clock: clock)
///     clock.advance(by: .seconds(30))
///
/// Like CLOCK_BOOTTIME, it never goes back. It can be used from any thread.
public final class ManualClock: MonitorClock {
    private struct Sleeper {
        let until: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: Instant
        var offset: ClockOffset
        var given = 0
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var watchers: [(until: Instant, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Mutex<State>

    /// Creates a clock that stays at `start` until it is moved.
    ///
    /// - Parameters:
    ///   - start: the first time of the clock; 1,000 s by default, so that tests can use earlier times.
    ///   - offset: how far the wall clock is ahead of this clock.
    public init(_ start: Instant = Instant(nanoseconds: 1_000_000_000_000), offset: ClockOffset = .zero) {
        state = Mutex(State(now: start, offset: offset))
    }

    /// The current time of the clock.
    public var now: Instant { state.withLock { $0.now } }

    /// How far the wall clock is ahead of this clock. Set it to simulate a step of the wall clock.
    public var offset: ClockOffset {
        get { state.withLock { $0.offset } }
        set { state.withLock { $0.offset = newValue } }
    }

    /// The number of tasks that currently wait in ``sleep(until:)``.
    public var sleepers: Int { state.withLock { $0.sleepers.count } }

    /// Moves the clock forward and wakes the tasks whose time is reached. A negative duration counts as zero.
    ///
    /// - Returns: the new time.
    @discardableResult public func advance(by duration: Duration) -> Instant { advance { $0 + max(duration, .zero) } }

    /// Moves the clock to a time and wakes the tasks whose time is reached. Nothing changes if the time has passed.
    ///
    /// - Returns: the time of the clock after the call.
    @discardableResult public func advance(to time: Instant) -> Instant { advance { max($0, time) } }

    private func advance(_ body: (Instant) -> Instant) -> Instant {
        let (now, due) = state.withLock { state in
            state.now = body(state.now)
            let due = state.sleepers.filter { $0.value.until <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return (state.now, due.values.map(\.continuation))
        }
        for continuation in due { continuation.resume() }
        return now
    }

    /// Returns when the clock has reached `instant`; immediately if it has already.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    public func sleep(until instant: Instant) async throws {
        let id = state.withLock { state in
            state.given += 1
            return state.given
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let (answer, watchers) = state.withLock {
                    state -> (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) in
                    if state.cancelled.remove(id) != nil { return (.failure(CancellationError()), []) }
                    if state.now >= instant { return (.success(()), []) }
                    state.sleepers[id] = Sleeper(until: instant, continuation: continuation)
                    let watchers = state.watchers.filter { $0.until == instant }.map(\.continuation)
                    state.watchers.removeAll { $0.until == instant }
                    return (nil, watchers)
                }
                for watcher in watchers { watcher.resume() }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let sleeper = state.withLock { state -> Sleeper? in
                if let sleeper = state.sleepers.removeValue(forKey: id) { return sleeper }
                state.cancelled.insert(id)
                return nil
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
        state.withLock { _ = $0.cancelled.remove(id) }
    }

    /// Returns as soon as a task sleeps until exactly `instant`. A test can use it to wait until a monitor has set a
    /// deadline.
    public func waitForSleeper(until instant: Instant) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.sleepers.values.contains(where: { $0.until == instant }) { return true }
                state.watchers.append((instant, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
