package import BaseTypes
package import BeaconMonitoring
package import EventLoops

/// Passes the output of sources and the time to a feed, on the thread of their loop.
package final class LocationFeedDriver: LocationHandler {
    private let feed: LocationFeed
    private let loop: EventLoop
    private var timer: EventLoop.Timer?

    /// Creates a driver. A later subscriber is served within one second.
    package init(feed: LocationFeed = .shared, on loop: EventLoop) {
        self.feed = feed
        self.loop = loop
        timer = loop.makeTimer { [unowned self] now in advance(to: now) }
        advance(to: loop.now)
    }

    deinit { if let timer { loop.end(timer) } }

    /// Passes a fix to the feed.
    package func located(_ fix: LocationFix) { feed.located(fix) }

    /// Passes a change to the feed. The feed detects itself that there is no fix.
    package func changed(_ change: LocationSourceChange, at time: Instant) {
        if case .flags(let flags) = change { feed.set(flags) }
        feed.advance(to: time)
    }

    private func advance(to now: Instant) {
        feed.advance(to: now)
        // Subscribers are created on other threads and do not wake the loop.
        if let timer { loop.set(timer, at: now + .seconds(1)) }
    }
}
