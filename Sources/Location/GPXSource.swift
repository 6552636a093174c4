import BaseTypes
import BeaconMonitoring
package import EventLoops

/// Where this gateway would be, as a GPX file says: played from the start on, on the thread of a loop.
///
/// The file's own dates are not used, only how far they are apart: it begins when it is started.
package final class GPXSource: LocationSource {
    /// `gpx`.
    package let name = "gpx"

    private let loop: EventLoop
    private let options: GPXOptions
    private let plan: GPXPlan
    private var timeline: GPXTimeline
    private var upcoming: GPXPlayer.Item?
    private var handler: (any LocationHandler)?
    private var timer: EventLoop.Timer?

    // Handed over in one go, after the process stood still.
    private static let itemsMax = 100_000

    /// Makes one that has not begun.
    package init(_ plan: GPXPlan, options: GPXOptions = GPXOptions(), on loop: EventLoop) {
        self.plan = plan
        self.options = options
        self.loop = loop
        timeline = GPXTimeline(plan, options, begun: .earliest)
    }

    /// Begins with the plan's first point.
    package func start(_ handler: any LocationHandler) {
        self.handler = handler
        let begun = loop.now
        timeline = GPXTimeline(plan, options, begun: begun)
        upcoming = timeline.player.next()
        timer = loop.makeTimer { [unowned self] now in advance(to: now, atMost: EventLoop.recordsPerTurn) }
        advance(to: begun, atMost: EventLoop.recordsPerTurn)
    }

    /// Hands over what is due by now.
    package func drain() { if handler != nil { advance(to: loop.now, atMost: Self.itemsMax) } }

    /// Ends it.
    package func stop() {
        handler = nil
        if let timer { loop.end(timer) }
        timer = nil
    }

    private func advance(to now: Instant, atMost itemsMax: Int) {
        var count = 0
        while let item = upcoming, count < itemsMax {
            let time = timeline.time(of: item)
            guard time <= now else { break }
            count += 1
            upcoming = timeline.player.next()
            switch item {
            case .fix(let fix):
                handler?.located(timeline.played(fix))
                if upcoming == nil {
                    handler?.changed(.unavailable(since: time, reason: "the file has ended"), at: now)
                }
            case .pause:
                handler?.changed(.unavailable(since: time, reason: "the file has a break"), at: now)
            }
        }
        if let timer { loop.set(timer, at: upcoming.map { timeline.time(of: $0) }) }
    }
}
