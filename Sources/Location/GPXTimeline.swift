import BaseTypes
import BeaconMonitoring

/// A plan's times as they are played: from a beginning on, as fast as was asked for.
struct GPXTimeline: Sendable {
    var player: GPXPlayer
    private let options: GPXOptions
    private let begun: Instant

    init(_ plan: GPXPlan, _ options: GPXOptions, begun: Instant) {
        player = GPXPlayer(plan, loops: options.loops)
        self.options = options
        self.begun = begun
    }

    /// When something comes.
    func time(of item: GPXPlayer.Item) -> Instant { live(item.time) }

    /// A fix as it is played.
    func played(_ fix: LocationFix) -> LocationFix {
        var fix = fix
        fix.time = live(fix.time)
        if let speed = fix.speed { fix.speed = speed * options.speed }
        return fix
    }

    private func live(_ time: Instant) -> Instant {
        let start = player.plan.start
        // Exact where nothing has to be scaled.
        if options.speed == 1 { return begun + (time - start) }
        let seconds = Double((time - start).nanoseconds) / 1e9 / options.speed
        return begun + GPXPlan.duration(seconds)
    }
}
