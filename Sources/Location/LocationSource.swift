public import BeaconMonitoring
public import BluetoothLE

/// One way to know where this gateway is: gpsd, a GPX file, a test's script.
///
/// A source lives on one thread, its loop's where it has one, and hands everything over from there.
public protocol LocationSource: AnyObject {
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
public protocol LocationHandler: AnyObject {
    /// The source gave a fix, never dated later than the call.
    func located(_ fix: LocationFix)

    /// Something became of the source.
    func changed(_ change: LocationSourceChange, at time: Instant)
}

/// What became of a location source.
public enum LocationSourceChange: Sendable, Hashable {
    /// It gives no fix since `since`, and why; its next fix ends that.
    case unavailable(since: Instant, reason: String)
    /// Which flags it raises from now on: who refuses this user, and whether that is known yet.
    case flags(Diagnostics)
    /// Something that operators want to know, and that changes nothing.
    case remark(String)
}

/// A source that tells what it is told to: for tests, and for whoever has fixes from elsewhere.
public final class ScriptedLocationSource: LocationSource {
    /// What lines call it.
    public let name: String
    private var handler: (any LocationHandler)?

    /// Makes one that has not begun.
    public init(name: String = "scripted") { self.name = name }

    /// Begins; what is given from now on is handed over at once.
    public func start(_ handler: any LocationHandler) { self.handler = handler }

    /// Does nothing: nothing ever waits in it.
    public func drain() {}

    /// Ends it.
    public func stop() { handler = nil }

    /// Gives a fix.
    public func give(_ fix: LocationFix) { handler?.located(fix) }

    /// Gives no fix from now on.
    public func lose(since: Instant, reason: String, at time: Instant) {
        handler?.changed(.unavailable(since: since, reason: reason), at: time)
    }
}
