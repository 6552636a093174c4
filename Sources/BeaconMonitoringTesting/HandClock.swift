public import BaseTypes
public import BeaconMonitoring
import Synchronization

/// A clock whose hands a test turns, so that a day passes in no time and nobody sleeps in earnest.
///
///     let clock = HandClock()
///     let monitor = try BeaconMonitor("site", clock: clock)
///     clock.turn(by: .seconds(30))
///
/// It only goes forward, as the machine's does. Safe from any thread.
public final class HandClock: MonitorClock {
    private struct Sleeper {
        let until: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Hands {
        var now: Instant
        var offset: ClockOffset
        var given = 0
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var watchers: [(until: Instant, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let hands: Mutex<Hands>

    /// A clock that stands.
    ///
    /// - Parameters:
    ///   - start: what it shows; 1,000 s unless told, so that there is a time before.
    ///   - offset: how far the wall clock is ahead of it.
    public init(_ start: Instant = Instant(nanoseconds: 1_000_000_000_000), offset: ClockOffset = .zero) {
        hands = Mutex(Hands(now: start, offset: offset))
    }

    /// What it shows.
    public var now: Instant { hands.withLock { $0.now } }

    /// How far the wall clock is ahead of it: setting it is what a step of the wall clock is.
    public var offset: ClockOffset {
        get { hands.withLock { $0.offset } }
        set { hands.withLock { $0.offset = newValue } }
    }

    /// How many sleep on it at present.
    public var sleepers: Int { hands.withLock { $0.sleepers.count } }

    /// Turns the hands forward, and wakes who slept until then.
    ///
    /// - Returns: what it shows then.
    @discardableResult public func turn(by duration: Duration) -> Instant { turn { $0 + max(duration, .zero) } }

    /// Turns the hands to a moment, and wakes who slept until then; nothing happens where it has passed.
    ///
    /// - Returns: what it shows then.
    @discardableResult public func turn(to time: Instant) -> Instant { turn { max($0, time) } }

    private func turn(_ body: (Instant) -> Instant) -> Instant {
        let (now, due) = hands.withLock { hands in
            hands.now = body(hands.now)
            let due = hands.sleepers.filter { $0.value.until <= hands.now }
            for id in due.keys { hands.sleepers[id] = nil }
            return (hands.now, due.values.map(\.continuation))
        }
        for continuation in due { continuation.resume() }
        return now
    }

    /// Returns once somebody turned the hands to `instant`, at once where they are there already.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    public func sleep(until instant: Instant) async throws {
        let id = hands.withLock { hands in
            hands.given += 1
            return hands.given
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let (answer, watchers) = hands.withLock {
                    hands -> (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) in
                    if hands.cancelled.remove(id) != nil { return (.failure(CancellationError()), []) }
                    if hands.now >= instant { return (.success(()), []) }
                    hands.sleepers[id] = Sleeper(until: instant, continuation: continuation)
                    let watchers = hands.watchers.filter { $0.until == instant }.map(\.continuation)
                    hands.watchers.removeAll { $0.until == instant }
                    return (nil, watchers)
                }
                for watcher in watchers { watcher.resume() }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let sleeper = hands.withLock { hands -> Sleeper? in
                if let sleeper = hands.sleepers.removeValue(forKey: id) { return sleeper }
                hands.cancelled.insert(id)
                return nil
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
        hands.withLock { _ = $0.cancelled.remove(id) }
    }

    /// Returns as soon as somebody sleeps until exactly `instant`: what a monitor waits for is known then.
    public func sleeper(until instant: Instant) async {
        await withCheckedContinuation { continuation in
            let isThere = hands.withLock { hands in
                if hands.sleepers.values.contains(where: { $0.until == instant }) { return true }
                hands.watchers.append((instant, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
