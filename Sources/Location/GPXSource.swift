import BeaconMonitoring
import BluetoothLE
public import Polling

/// Where this gateway would be, as a GPX file says: played from the start on, on the thread of a loop.
///
/// The file's own dates are not used, only how far they are apart: it begins when it is started.
public final class GPXSource: LocationSource {
    /// How it is played.
    public struct Options: Sendable, Hashable {
        /// How many times as fast, above 0.
        public var speed = 1.0
        /// Whether it begins again at its end.
        public var loops = false

        /// As fast as it was, and once.
        public init() {}
    }

    /// `gpx`.
    public let name = "gpx"

    private let loop: EventLoop
    private let options: Options
    private let plan: GPXPlan
    private var player: GPXPlayer
    private var upcoming: GPXPlayer.Item?
    private var begun: Instant = .earliest
    private var handler: (any LocationHandler)?
    private var timer: EventLoop.Timer?

    // Handed over in one go, after the process stood still.
    private static let itemsMax = 100_000

    /// Makes one that has not begun.
    public init(_ plan: GPXPlan, options: Options = Options(), on loop: EventLoop) {
        self.plan = plan
        self.options = options
        self.loop = loop
        player = GPXPlayer(plan, loops: options.loops)
    }

    /// Begins with the plan's first point.
    public func start(_ handler: any LocationHandler) {
        self.handler = handler
        begun = loop.now
        player = GPXPlayer(plan, loops: options.loops)
        upcoming = player.next()
        timer = loop.makeTimer { [unowned self] now in advance(to: now) }
        advance(to: begun)
    }

    /// Hands over what is due by now.
    public func drain() { if handler != nil { advance(to: loop.now) } }

    /// Ends it.
    public func stop() {
        handler = nil
        if let timer { loop.end(timer) }
        timer = nil
    }

    private func advance(to now: Instant) {
        var count = 0
        while let item = upcoming, count < Self.itemsMax {
            let time = live(item.time)
            guard time <= now else { break }
            count += 1
            upcoming = player.next()
            switch item {
            case .fix(var fix):
                fix.time = time
                if let speed = fix.speed { fix.speed = speed * options.speed }
                handler?.located(fix)
                if upcoming == nil {
                    handler?.changed(.unavailable(since: time, reason: "the file has ended"), at: now)
                }
            case .pause:
                handler?.changed(.unavailable(since: time, reason: "the file has a break"), at: now)
            }
        }
        if let timer { loop.set(timer, at: upcoming.map { live($0.time) }) }
    }

    /// A time of the plan as it is played.
    private func live(_ time: Instant) -> Instant {
        // Exact where nothing has to be scaled.
        if options.speed == 1 { return begun + (time - plan.start) }
        let seconds = Double((time - plan.start).nanoseconds) / 1e9 / options.speed
        return begun + GPXPlan.duration(seconds)
    }
}
