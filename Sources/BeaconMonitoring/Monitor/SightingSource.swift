/// A source of sightings for a monitor: Bluetooth adapters, a capture, or the script of a test.
///
/// A monitor that was created with a source receives from it during ``BeaconMonitor/run()``. The library
/// `BeaconScanning` has sources for the backends on Linux, and `BeaconMonitoringTesting` has one for tests.
///
/// All inputs must have times of the source's ``clock``, which the monitor also uses.
/// ``BeaconMonitor/adapter(named:address:at:)`` adds an adapter, ``BeaconMonitor/listening(_:at:)`` reports that it
/// scans, and `sighted(_:)` and ``BeaconMonitor/received(by:at:)`` pass in its reports.
///
///     struct OneSighting: SightingSource {
///         let clock: any MonitorClock
///         let badge: BeaconIdentity
///         func run(into monitor: BeaconMonitor) async throws {
///             let adapter = try await monitor.adapter(named: "hci0")
///             await monitor.listening(ListeningChange(.started, adapter: adapter), at: clock.now)
///             await monitor.sighted(
///                 Sighting(time: clock.now, adapter: adapter, beacon: badge, measuredPower: -59, rssi: nil))
///         }
///         func drain() async {}
///     }
public protocol SightingSource: Sendable {
    /// The timeline of its inputs, and the wall clock.
    var clock: any MonitorClock { get }

    /// Scans and passes reports to `monitor` until the task is cancelled or no more reports can follow.
    ///
    /// If an adapter or a daemon is temporarily unavailable, the source should wait for it and set the diagnostics of
    /// the monitor. If it returns, as at the end of a capture, the monitor ends.
    ///
    /// - Throws: an error whose `description` is for operators, if scanning is impossible; `CancellationError` if the
    ///   task was cancelled.
    func run(into monitor: BeaconMonitor) async throws

    /// Returns when all reports that were received before the call have been passed in (rule T5), so that no exit is
    /// decided before the report that prevents it. It must return immediately if the source does not run or has ended,
    /// or if the task is cancelled.
    func drain() async
}
