import BaseTypes
import BeaconMonitoring

/// Converts the times of a plan to the times at which it is played, with the start and the speed of the options.
struct GPXTimeline: Sendable {
    var player: GPXPlayer
    private let options: GPXOptions
    private let begun: Instant

    init(_ plan: GPXPlan, _ options: GPXOptions, begun: Instant) {
        player = GPXPlayer(plan, loops: options.loops)
        self.options = options
        self.begun = begun
    }

    /// Returns the time at which an item is played.
    func time(of item: GPXPlayer.Item) -> Instant { live(item.time) }

    /// Returns a fix with the time at which it is played, and its speed multiplied by the factor of the options.
    func played(_ fix: LocationFix) -> LocationFix {
        var fix = fix
        fix.time = live(fix.time)
        if let speed = fix.speed { fix.speed = speed * options.speed }
        return fix
    }

    private func live(_ time: Instant) -> Instant {
        let start = player.plan.start
        // Exact if no scaling is needed.
        if options.speed == 1 { return begun + (time - start) }
        let seconds = Double((time - start).nanoseconds) / 1e9 / options.speed
        return begun + GPXPlan.duration(seconds)
    }
}
