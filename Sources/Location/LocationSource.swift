package import BaseTypes
package import BeaconMonitoring

/// One way to know where this gateway is: gpsd, a GPX file.
///
/// A source lives on one thread, its loop's where it has one, and hands everything over from there.
package protocol LocationSource: AnyObject {
    /// What lines call it, as an adapter (rule G3): `gpsd`, `gpx`.
    var name: String { get }

    /// Begins to tell `handler` where this gateway is. It comes back by itself after everything that happens to it.
    func start(_ handler: any LocationHandler)

    /// Hands over everything that has been received up to the call (rule T5), without waiting.
    func drain()

    /// Ends it. Nothing is handed over afterwards.
    func stop()
}

/// Who takes what a location source tells.
package protocol LocationHandler: AnyObject {
    /// The source gave a fix, never dated later than the call.
    func located(_ fix: LocationFix)

    /// Something became of the source.
    func changed(_ change: LocationSourceChange, at time: Instant)
}

/// What became of a location source.
package enum LocationSourceChange: Sendable, Hashable {
    /// It gives no fix since `since`, and why; its next fix ends that.
    case unavailable(since: Instant, reason: String)
    /// Which flags it raises from now on: who refuses this user, and whether that is known yet.
    case flags(Diagnostics)
    /// Something that operators want to know, and that changes nothing.
    case remark(String)
}
