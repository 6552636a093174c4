package import BaseTypes
package import BeaconMonitoring
package import EventLoops

/// Hands what sources tell on to a feed, and tells it the time: on the thread of their loop.
///
///     let driver = LocationFeedDriver(feed: .shared, on: loop)
///     source.start(driver)
///     try loop.run()
package final class LocationFeedDriver: LocationHandler {
    private let feed: LocationFeed
    private let loop: EventLoop
    private var timer: EventLoop.Timer?

    /// Makes one; subscribers that come later are seen to within a second.
    package init(feed: LocationFeed = .shared, on loop: EventLoop) {
        self.feed = feed
        self.loop = loop
        timer = loop.makeTimer { [unowned self] now in advance(to: now) }
        advance(to: loop.now)
    }

    deinit { if let timer { loop.end(timer) } }

    /// A source gave a fix.
    package func located(_ fix: LocationFix) { feed.located(fix) }

    /// Something became of a source; that there is no fix, the feed's own patience tells.
    package func changed(_ change: LocationSourceChange, at time: Instant) {
        if case .flags(let flags) = change { feed.set(flags) }
        feed.advance(to: time)
    }

    private func advance(to now: Instant) {
        feed.advance(to: now)
        // Subscribers come from other threads and wake nobody.
        if let timer { loop.set(timer, at: now + .seconds(1)) }
    }
}
