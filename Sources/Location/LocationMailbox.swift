import BeaconMonitoring
import BluetoothLE
import Synchronization

/// What waits on its way from where it became known to a monitor and a feed.
///
/// Bounded: of more than ``newsMax`` the oldest goes, counted. A receiver gives one fix a second.
final class LocationMailbox: Sendable {
    static let newsMax = 1024

    private struct State {
        var news: [LocationNews] = []
        var dropped = 0
        var waiter: CheckedContinuation<Void, Never>?
        /// Nothing comes any more, or nobody waits any more.
        var isEnded = false
    }

    private let state = Mutex(State())

    var dropped: Int { state.withLock { $0.dropped } }

    func put(_ news: LocationNews) {
        let waiter = state.withLock { state in
            if state.news.count == Self.newsMax {
                state.news.removeFirst()
                state.dropped += 1
            }
            state.news.append(news)
            return state.waiter.take()
        }
        waiter?.resume()
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

    /// Begins anew after an end: what came meanwhile has waited.
    func begin() { state.withLock { $0.isEnded = false } }

    /// Tells what comes, until nothing more does or the task is cancelled.
    func deliver(on clock: any MonitorClock, to monitor: BeaconMonitor?, _ feed: LocationFeed) async {
        await withTaskCancellationHandler {
            while !Task.isCancelled, await waits() {
                if let monitor {
                    await hand(at: clock.now, to: monitor, feed)
                } else {
                    LocationNews.tell(takeAll(), at: clock.now, feed)
                }
            }
        } onCancel: {
            end()
        }
    }

    /// Nothing comes any more.
    func end() {
        let waiter = state.withLock { state in
            state.isEnded = true
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Returns when something waits.
    ///
    /// - Returns: whether it does; where not, nothing more comes.
    private func waits() async -> Bool {
        await withCheckedContinuation { (waiter: CheckedContinuation<Void, Never>) in
            let isDue = state.withLock { state in
                if !state.news.isEmpty || state.isEnded { return true }
                state.waiter = waiter
                return false
            }
            if isDue { waiter.resume() }
        }
        return state.withLock { !$0.news.isEmpty }
    }
}
