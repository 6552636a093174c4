import BaseTypes
import BeaconMonitoring
package import EventLoops

/// Fixes from a GPX file, played from the start on the thread of an event loop.
///
/// Only the differences of the file's times are used. The file starts when the source is started.
package final class GPXSource: LocationSource {
    /// The name in lines, `gpx`.
    package let name = "gpx"

    private let loop: EventLoop
    private let options: GPXOptions
    private let plan: GPXPlan
    private var timeline: GPXTimeline
    private var upcoming: GPXPlayer.Item?
    private var handler: (any LocationHandler)?
    private var timer: EventLoop.Timer?

    // The maximum number of items at once, after the process was stopped.
    private static let itemsMax = 100_000

    /// Creates a source without starting it.
    package init(_ plan: GPXPlan, options: GPXOptions = GPXOptions(), on loop: EventLoop) {
        self.plan = plan
        self.options = options
        self.loop = loop
        timeline = GPXTimeline(plan, options, begun: .earliest)
    }

    /// Starts with the first point of the plan.
    package func start(_ handler: any LocationHandler) {
        self.handler = handler
        let begun = loop.now
        timeline = GPXTimeline(plan, options, begun: begun)
        upcoming = timeline.player.next()
        timer = loop.makeTimer { [unowned self] now in advance(to: now, atMost: EventLoop.recordsPerTurn) }
        advance(to: begun, atMost: EventLoop.recordsPerTurn)
    }

    /// Delivers everything that is due.
    package func drain() { if handler != nil { advance(to: loop.now, atMost: Self.itemsMax) } }

    /// Stops playing.
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
