package import BaseTypes
package import BeaconMonitoring

/// A source of the position of this gateway: gpsd or a GPX file.
///
/// A source works on one thread, that of its loop if it has one, and calls its handler there.
package protocol LocationSource: AnyObject {
    /// The name in lines, as that of an adapter (rule G3): `gpsd`, `gpx`.
    var name: String { get }

    /// Starts to deliver fixes to `handler`. The source must recover automatically from all failures.
    func start(_ handler: any LocationHandler)

    /// Delivers everything that was received before the call (rule T5), without waiting.
    func drain()

    /// Stops the source. It must not call its handler afterwards.
    func stop()
}

/// Receives the output of a location source.
package protocol LocationHandler: AnyObject {
    /// Called for each fix. Its time is never later than the call.
    func located(_ fix: LocationFix)

    /// Called for each change of the source.
    func changed(_ change: LocationSourceChange, at time: Instant)
}

/// A change of a location source.
package enum LocationSourceChange: Sendable, Hashable {
    /// There is no fix since `since`, for the given reason. The next fix ends this.
    case unavailable(since: Instant, reason: String)
    /// The diagnostics of the source from now on, for example that access is denied.
    case flags(Diagnostics)
    /// Information for operators without an effect.
    case remark(String)
}
