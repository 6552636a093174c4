/// What knows where this gateway is, for a monitor: gpsd, a recorded track, a test's script.
///
/// It has the shape of what hears: a monitor that was made with one (`locating:`) has it run for as long as
/// ``BeaconMonitor/run()`` does. The `Location` library has those of a Linux machine.
public protocol LocatingSource: Sendable {
    /// What lines call it, as an adapter (rule G3): `gpsd`.
    var name: String { get }

    /// Hands over to `monitor` where this gateway is, until the task is cancelled or nothing more can come.
    ///
    /// It waits for what may come back by itself (a daemon, a satellite), and says meanwhile that there is no fix
    /// (``BeaconMonitor/lostLocation(since:reason:)``). Where it returns, as a track does at its end, the monitor goes on.
    ///
    /// - Throws: what stands in the way for good, in words for operators; `CancellationError` where the task was cancelled.
    func run(into monitor: BeaconMonitor) async throws

    /// Returns when everything that was received up to the call has been handed over to `monitor` (rule T5); at once where
    /// it does not run.
    func drain(into monitor: isolated BeaconMonitor) async
}

/// How a monitor knows where this gateway is: `.gpsd()`, `.gpx(…)` and `.scripted(…)` of the `Location` library, or a source
/// of one's own.
public struct Locating: Sendable {
    /// Where fixes come from.
    public let source: any LocatingSource

    /// Locates by a source of the caller's own.
    public init(_ source: any LocatingSource) { self.source = source }
}
