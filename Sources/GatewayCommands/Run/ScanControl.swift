import AdapterScanning
import BeaconMonitoring
import BeaconScanning
import BluetoothLE
import CommandSupport
import EventLoops
import GatewayConfiguration
import OperatorLogging

/// The scanners of a running gateway: they start and stop with the configuration and keep only the capabilities they need.
final class ScanControl {
    private let loop: EventLoop
    private let makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)?
    private let log: (MessageKind, String) -> Void
    private let service = ServiceRegistry()
    private var configuration: Configuration
    /// The scan that the configuration asks for.
    private var session: ServiceSession
    private var exitTimeouts: ExitTimeouts
    private var capabilities: CapabilityKeeper
    private var supervisor: ScanSupervisor?
    private var obstacles: Set<ScanObstacle> = []

    /// Scanners that have not started.
    ///
    /// - Parameters:
    ///   - configuration: the backend, the adapters and the exit timeouts.
    ///   - loop: the loop of the scanners.
    ///   - makeScanner: makes a backend's scanner without starting it, or `nil` for BlueZ's and the kernel's.
    ///   - process: the capabilities of the process.
    ///   - log: takes messages for the operator.
    init(
        _ configuration: Configuration, on loop: EventLoop,
        makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)?,
        process: ProcessCapabilities, log: @escaping (MessageKind, String) -> Void
    ) {
        self.configuration = configuration
        self.loop = loop
        self.makeScanner = makeScanner
        self.log = log
        session = ServiceSession(configuration, in: service)
        exitTimeouts = ExitTimeouts(configuration)
        capabilities = CapabilityKeeper(process, log: log)
    }

    /// The state of the scanners, or `nil` before their first start and after ``stop()``.
    var status: ScanStatus? { supervisor?.status }

    /// The adapters that the scanners know.
    var adapters: [ScanStatus.Adapter] { supervisor?.status.adapters ?? [] }

    /// The capabilities that the process keeps, with reasons.
    var needs: [CapabilityNeeds.Need] { capabilities.needs }

    /// Why the scan can't be started again with other settings: its capability was given up. `nil` if it can.
    var reasonToKeepScanning: String? { supervisor.flatMap { capabilities.reasonToKeepScanning($0.status) } }

    /// Starts the scanners. Their reports and changes go to `handler`.
    ///
    /// - Throws: ``ScannerError`` if this user can't open any backend on this machine.
    func start(_ handler: any ScanHandler) throws(ScannerError) {
        let supervisor = makeSupervisor()
        self.supervisor = supervisor
        try supervisor.start(handler)
    }

    /// Passes on the reports that the kernel has received.
    func drain() { supervisor?.drain() }

    /// Notes that the loop has woken up.
    func woke() { supervisor?.woke() }

    /// Stops the scanners.
    func stop() {
        supervisor?.stop()
        supervisor = nil
    }

    /// Takes a changed configuration. A changed backend or selection of adapters needs a restart of the scanners.
    func reload(_ configuration: Configuration) {
        self.configuration = configuration
        exitTimeouts = ExitTimeouts(configuration)
        // The new session starts before the old one ends, so the demand never falls in between.
        let former = session
        session = ServiceSession(configuration, in: service)
        former.invalidate()
    }

    /// Takes the obstacles that keep the scanners from receiving everything.
    func set(_ obstacles: Set<ScanObstacle>) { self.obstacles = obstacles }

    /// The diagnostics of the scanners.
    var diagnostics: Diagnostics {
        var diagnostics = Diagnostics(obstacles)
        if adapters.contains(where: \.isThinned) { diagnostics.insert(.accuracyLimited) }
        return diagnostics
    }

    /// Passes diagnostics on to the session.
    func report(_ diagnostics: Diagnostics) { service.report(diagnostics) }

    /// Gives up the capabilities that no backend needs any more.
    func dropCapabilities() {
        if let status { capabilities.update(status) }
    }

    /// Logs the settings that the present backend can't fulfil.
    func logShortfalls() {
        guard let backend = status?.backend, let demand = service.demand else { return }
        for shortfall in Backends.shortfalls(of: backend, for: demand) {
            log(.scannerLimited, "scanner.mode: with \(backend.rawValue), \(shortfall)")
        }
    }

    private func makeSupervisor() -> ScanSupervisor {
        var options = ScanSupervisor.Options()
        let scanner = configuration.scanner
        if let backend = ScannerBackend(rawValue: scanner.backend.rawValue) { options.backends = [backend] }
        options.adapters = AdapterSelection(scanner.adapters)
        options.latency = scanner.latency
        options.deafAfter =
            configuration.engine.settings(deafAfterUnlessSet: EngineConfiguration.liveDeafAfter).deafAfter
        options.canary = scanner.canary.map { Canary(uuid: $0.uuid, major: $0.major, minor: $0.minor) }
        return ScanSupervisor(
            loop: loop, options: options,
            make: { [unowned self] backend throws(ScannerError) in
                if let makeScanner { return try makeScanner(backend, loop) }
                return try Backends.make(
                    backend, on: loop, configuration.scanner, state: configuration.output.stateDirectory,
                    demand: service.demand)
            },
            exitTimeout: { [unowned self] beacon in exitTimeouts.shortest(for: beacon) },
            log: { [log] kind, text in
                // The engine reports these two itself, also for sources that are not radios, and with the names in lines.
                if kind != .adapterScans, kind != .adapterNotScanning { log(kind, text) }
            })
    }
}

/// The exit timeouts that the intervals between a beacon's advertisements are compared with.
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

    /// The shortest timeout of the conditions that match the beacon, or `nil` if none does.
    func shortest(for beacon: BeaconIdentity) -> Duration? {
        beacon.matchingConditions.compactMap { timeouts[$0] }.min()
    }
}
