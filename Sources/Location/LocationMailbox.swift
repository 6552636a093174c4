import BaseTypes
import BeaconMonitoring
import Synchronization

/// What waits on its way from where it became known to a monitor and a feed.
///
/// Bounded: of more than ``newsMax`` the oldest goes, counted. A receiver gives one fix a second.
final class LocationMailbox: Sendable {
    static let newsMax = 1024

    private struct State {
        var news: [LocationNews] = []
        var dropped = 0
        /// Those who wait, by their numbers: of what comes one of them gets each.
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var given = 0
        /// Nothing comes any more.
        var isEnded = false
    }

    private let state = Mutex(State())

    var dropped: Int { state.withLock { $0.dropped } }

    /// How many wait for what comes.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    func put(_ news: LocationNews) {
        let waiters = state.withLock { state in
            if state.news.count == Self.newsMax {
                state.news.removeFirst()
                state.dropped += 1
            }
            state.news.append(news)
            return Self.takeWaiters(&state)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Tells what waits, from within the monitor: taken and told in one go, so that a drain knows when nothing waits.
    func hand(at now: Instant, to monitor: isolated BeaconMonitor, _ feed: LocationFeed) {
        LocationNews.tell(takeAll(), at: now, to: monitor, feed)
    }

    private func takeAll() -> [LocationNews] {
        state.withLock { state in
            let news = state.news
            state.news = []
            return news
        }
    }

    private static func takeWaiters(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        defer { state.waiters = [:] }
        return Array(state.waiters.values)
    }

    /// Tells what comes, until nothing more does or the task is cancelled.
    func deliver(on clock: any MonitorClock, to monitor: BeaconMonitor?, _ feed: LocationFeed) async {
        let id = state.withLock { state in
            state.given += 1
            return state.given
        }
        await withTaskCancellationHandler {
            while await waits(id), !Task.isCancelled {
                if let monitor {
                    await hand(at: clock.now, to: monitor, feed)
                } else {
                    LocationNews.tell(takeAll(), at: clock.now, feed)
                }
            }
        } onCancel: {
            // Another may wait for the same.
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }

    /// Nothing comes any more.
    func end() {
        let waiters = state.withLock { state in
            state.isEnded = true
            return Self.takeWaiters(&state)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when something waits, or the task is cancelled.
    ///
    /// - Returns: whether it does; where not, nothing more comes.
    private func waits(_ id: Int) async -> Bool {
        while true {
            let isOver = state.withLock { state -> Bool? in
                if !state.news.isEmpty { return false }
                return state.isEnded || Task.isCancelled ? true : nil
            }
            if let isOver { return !isOver }
            await withCheckedContinuation { (waiter: CheckedContinuation<Void, Never>) in
                let isDue = state.withLock { state in
                    if !state.news.isEmpty || state.isEnded || Task.isCancelled { return true }
                    state.waiters[id] = waiter
                    return false
                }
                if isDue { waiter.resume() }
            }
        }
    }
}
