/// A source of the position of this gateway: gpsd, a recorded track, or the script of a test.
///
/// A monitor that was created with a source (`locating:`) runs it during ``BeaconMonitor/run()``. The `Location`
/// library has sources for Linux.
public protocol LocatingSource: Sendable {
    /// The name of the source in lines, as that of an adapter (rule G3): `gpsd`.
    var name: String { get }

    /// Passes fixes to `monitor` until the task is cancelled or no more fixes can follow.
    ///
    /// If a daemon or a satellite is temporarily unavailable, the source should wait for it and report that there is no
    /// fix (``BeaconMonitor/lostLocation(since:reason:)``). If the function returns, as at the end of a track, the
    /// monitor continues.
    ///
    /// - Throws: an error for operators, if the source cannot work; `CancellationError` if the task was cancelled.
    func run(into monitor: BeaconMonitor) async throws

    /// Returns when everything that was received before the call has been passed to `monitor` (rule T5); immediately if
    /// the source does not run.
    func drain(into monitor: isolated BeaconMonitor) async
}

/// The error of a source of the `Location` library that cannot deliver fixes, as for a file that cannot be read.
///
///     do { try await monitor.run() } catch let error as LocationError { print("no position: \(error)") }
public struct LocationError: Error, Hashable, CustomStringConvertible {
    /// A text for operators: what failed, where, and what to do.
    ///
    ///     do { try await monitor.run() } catch let error as LocationError { problems.append(error.description) }
    public let description: String

    package init(description: String) { self.description = description }
}

/// The way in which a monitor gets the position of this gateway: `.gpsd()`, `.gpx(…)` and `.scripted(…)` of the
/// `Location` library, or a source of the caller.
public struct Locating: Sendable {
    /// The source of the fixes.
    public let source: any LocatingSource

    /// Uses a source of the caller.
    public init(_ source: any LocatingSource) { self.source = source }
}
