/// What hears for a monitor: the machine's Bluetooth adapters, a capture, a test's script.
///
/// A monitor that was made with one needs nothing else: ``BeaconMonitor/run()`` receives from it while it runs. The
/// library `BeaconScanning` has sources for the backends of a Linux machine; `BeaconMonitoringTesting` has one for tests.
///
/// What it hands over it stamps by its own ``clock``, which is the monitor's too: ``BeaconMonitor/adapter(named:address:at:)``
/// makes an adapter known, ``BeaconMonitor/listening(_:at:)`` says that it listens, and `sighted(_:)`
/// and ``BeaconMonitor/heard(_:at:)`` hand over what it heard.
public protocol SightingSource: Sendable {
    /// The timeline that it stamps by, and the wall clock beside it.
    var clock: any MonitorClock { get }

    /// Hears, and hands over to `monitor` what it hears, until the task is cancelled or nothing more can come.
    ///
    /// It waits for what may come back by itself (an adapter, a daemon) and says so in the monitor's diagnostics; it throws
    /// what stands in the way for good. Where it returns, as a capture does at its end, the monitor ends.
    ///
    /// - Throws: why nothing can be heard, in words for operators (`description`); `CancellationError` where the task was
    ///   cancelled.
    func run(into monitor: BeaconMonitor) async throws

    /// Returns when everything that was received up to the call has been handed over (rule T5), so that no exit overtakes
    /// the report that prevents it; at once where it does not run, has ended, or the task is cancelled.
    func drain() async
}
