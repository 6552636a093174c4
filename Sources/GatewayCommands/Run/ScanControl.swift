import AdapterScanning
import BeaconMonitoring
import BeaconScanning
import BluetoothLE
import CommandSupport
import EventLoops
import GatewayConfiguration
import OperatorLogging

/// The scanners of a running gateway. They start and stop with the configuration, and the process keeps only the
/// capabilities that they need.
final class ScanControl {
    private let loop: EventLoop
    private let makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)?
    /// The capture that takes the place of the machine's adapters; `nil` if they scan.
    private let capture: CaptureOrigin?
    private let log: (MessageKind, String) -> Void
    private let service = ServiceRegistry()
    private var configuration: Configuration
    /// The session with the demand of the configuration.
    private var session: ServiceSession
    private var exitTimeouts: ExitTimeouts
    private var capabilities: CapabilityKeeper
    private var supervisor: ScanSupervisor?
    private var obstacles: Set<ScanObstacle> = []

    /// Creates the scanners without starting them.
    ///
    /// - Parameters:
    ///   - configuration: the backend, the adapters and the exit timeouts.
    ///   - loop: the loop of the scanners.
    ///   - capture: the capture that takes the place of the machine's adapters; `nil` if they scan.
    ///   - makeScanner: creates the scanner of a backend without starting it; `nil` means the scanners of BlueZ and the
    ///     kernel.
    ///   - process: the capabilities of the process.
    ///   - log: receives the messages for the operator.
    init(
        _ configuration: Configuration, on loop: EventLoop, from capture: CaptureOrigin?,
        makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)?,
        process: ProcessCapabilities, log: @escaping (MessageKind, String) -> Void
    ) {
        self.configuration = configuration
        self.loop = loop
        self.capture = capture
        self.makeScanner = makeScanner
        self.log = log
        session = ServiceSession(configuration, in: service)
        exitTimeouts = ExitTimeouts(configuration)
        capabilities = CapabilityKeeper(process, log: log)
    }

    /// The state of the scanners; `nil` before their first start and after ``stop()``.
    var status: ScanStatus? { supervisor?.status }

    /// The adapters that the scanners know.
    var adapters: [ScanStatus.Adapter] { supervisor?.status.adapters ?? [] }

    /// The capabilities that the process still needs, with reasons.
    var needs: [CapabilityNeeds.Need] { capabilities.needs }

    /// Why scanning cannot be started again with other settings: its capability was dropped, or a capture would start
    /// again. `nil` if it can.
    var reasonToKeepScanning: String? {
        if let capture { return "the gateway reads \(capture.name)" }
        return supervisor.flatMap { capabilities.reasonToKeepScanning($0.status) }
    }

    /// Starts the scanners, which pass their reports and changes to `handler`.
    ///
    /// - Throws: ``ScannerError`` if this user cannot open any backend on this machine.
    func start(_ handler: any ScanHandler) throws(ScannerError) {
        let supervisor = makeSupervisor()
        self.supervisor = supervisor
        try supervisor.start(handler)
    }

    /// Passes on the reports that the kernel has received.
    func drain() { supervisor?.drain() }

    /// Checks whether the machine was suspended. It must be called after each wait of the loop.
    func woke() { supervisor?.woke() }

    /// Stops the scanners.
    func stop() {
        supervisor?.stop()
        supervisor = nil
    }

    /// Applies a changed configuration. If the backend or the selected adapters change, the scanners must be restarted.
    func reload(_ configuration: Configuration) {
        self.configuration = configuration
        exitTimeouts = ExitTimeouts(configuration)
        // The new session starts before the old one ends, so the demand never falls in between.
        let former = session
        session = ServiceSession(configuration, in: service)
        former.invalidate()
    }

    /// Stores the obstacles that prevent the scanners from receiving all reports.
    func set(_ obstacles: Set<ScanObstacle>) { self.obstacles = obstacles }

    /// The diagnostics of the scanners.
    var diagnostics: Diagnostics {
        var diagnostics = Diagnostics(obstacles)
        if adapters.contains(where: \.isThinned) { diagnostics.insert(.accuracyLimited) }
        return diagnostics
    }

    /// Passes diagnostics to the session.
    func report(_ diagnostics: Diagnostics) { service.report(diagnostics) }

    /// Drops the capabilities that no backend needs any more.
    func dropCapabilities() {
        if let status { capabilities.update(status) }
    }

    /// Logs the settings that the backend in use cannot satisfy.
    func logShortfalls() {
        guard let backend = status?.backend, let demand = service.demand else { return }
        for shortfall in Backends.shortfalls(of: backend, for: demand) {
            log(.scannerLimited, "scanner.mode: with \(backend.rawValue), \(shortfall)")
        }
    }

    private func makeSupervisor() -> ScanSupervisor {
        var options = ScanSupervisor.Options()
        let scanner = configuration.scanner
        if capture != nil {
            options.backends = [.capture]
        } else {
            if let backend = ScannerBackend(rawValue: scanner.backend.rawValue) { options.backends = [backend] }
            options.adapters = AdapterSelection(scanner.adapters)
            options.canary = scanner.canary.map { Canary(uuid: $0.uuid, major: $0.major, minor: $0.minor) }
        }
        options.latency = scanner.latency
        options.deafAfter =
            configuration.engine.settings(deafAfterUnlessSet: EngineConfiguration.liveDeafAfter).deafAfter
        return ScanSupervisor(
            loop: loop, options: options,
            make: { [unowned self] backend throws(ScannerError) in
                if let capture { return try capture.makeScanner(on: loop, log: log) }
                if let makeScanner { return try makeScanner(backend, loop) }
                return try Backends.make(
                    backend, on: loop, configuration.scanner, state: configuration.output.stateDirectory,
                    demand: service.demand)
            },
            exitTimeout: { [unowned self] beacon in exitTimeouts.shortest(for: beacon) },
            log: { [log] kind, text in
                // The engine reports these two itself, also for sources that are not radios, and with the adapter names
                // in lines.
                if kind != .adapterScans, kind != .adapterNotScanning { log(kind, text) }
            })
    }
}

/// The exit timeouts for comparison with the intervals between a beacon's advertisements.
private struct ExitTimeouts {
    private var timeouts: [BeaconMonitor.BeaconIdentityCondition: Duration] = [:]

    init(_ configuration: Configuration) {
        for monitor in configuration.monitors {
            for condition in monitor.conditions {
                guard case .beacon(let identity) = condition.condition else { continue }
                let timeout = condition.settings.exitTimeout
                timeouts[identity] = min(timeouts[identity] ?? timeout, timeout)
            }
        }
    }

    /// Returns the shortest exit timeout of the conditions that match the beacon; `nil` if none does.
    func shortest(for beacon: BeaconIdentity) -> Duration? {
        beacon.matchingConditions.compactMap { timeouts[$0] }.min()
    }
}
