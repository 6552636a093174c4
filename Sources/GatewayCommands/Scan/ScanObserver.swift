import AdapterScanning
import BeaconMonitoring
import BeaconScanning
package import CommandSupport
import EventLoops
package import GatewayConfiguration
import Glibc
import OperatorLogging
import SystemPackage

/// The settings of scanning for `scan` and `record`. They scan as `run` does with the same configuration, but without
/// actions that affect other programs. They can run together with a gateway, which must control the adapters alone.
package struct ObserverOptions: Sendable {
    /// The configuration; `nil` means all adapters with the best backend.
    package var configuration: Configuration?
    /// The backend, instead of that of the configuration.
    package var backend: ScannerConfiguration.Backend?
    /// The adapters by name or address, instead of those of the configuration; empty means those of the configuration.
    package var adapters: [String] = []
    /// Whether all advertisements should be received, not only those of beacons. The raw HCI channel is then preferred.
    package var receivesAll = false
    /// Whether reports are withheld while the canary is silent, as `run` does.
    package var heedsCanary = false
    /// Whether advertisers are asked for their names, if the configuration does not decide it.
    package var asksForNames = false
    /// The end of the name of the file with the changes to undo after a crash.
    package var record = "observer"

    /// Returns the configuration at `path`. If that is `nil`, the configuration at the default path is returned, or
    /// `nil` if there is none.
    ///
    /// - Throws: ``ExitFailure`` if it cannot be read or has errors.
    package static func configuration(_ path: String?) throws(ExitFailure) -> Configuration? {
        if let path { return try ConfigurationFile.load(path, isReplay: false) }
        guard unsafe access(ConfigurationFile.defaultPath, F_OK) == 0 else { return nil }
        return try ConfigurationFile.load(ConfigurationFile.defaultPath, isReplay: false)
    }

    /// Returns the same with the names of beacons.
    ///
    /// If no configuration was named, and the names of the default one cannot be read, it has no names, and the remark
    /// gives the reason. A user who scans need not have the permission to read the names.
    ///
    /// - Throws: ``ExitFailure`` if the configuration cannot be read or has errors. If it was named, also if its names
    ///   cannot be read.
    package static func configurationWithNames(
        _ path: String?
    ) throws(ExitFailure) -> (configuration: Configuration?, remark: String?) {
        if let path { return (try ConfigurationFile.loadWithNames(path, isReplay: false), nil) }
        guard let plain = try configuration(nil) else { return (nil, nil) }
        do throws(ExitFailure) {
            return (try ConfigurationFile.loadWithNames(ConfigurationFile.defaultPath, isReplay: false), nil)
        } catch {
            return (plain, "beacons are shown without names: \(error.message)")
        }
    }

    /// Creates settings for a configuration; `nil` means all adapters with the best backend.
    package init(configuration: Configuration? = nil) { self.configuration = configuration }

    var scanner: ScannerConfiguration {
        var scanner = configuration?.scanner ?? ScannerConfiguration()
        if let backend { scanner.backend = backend }
        if !adapters.isEmpty { scanner.adapters = adapters }
        if asksForNames, scanner.mode == .auto { scanner.mode = .active }
        return scanner
    }

    /// Creates the supervisor without starting it.
    ///
    /// - Parameters:
    ///   - loop: the loop of the supervisor.
    ///   - makeScanner: creates the scanner of a backend without starting it; `nil` means the scanners of BlueZ and the
    ///     kernel.
    ///   - log: receives the messages for the operator.
    /// - Returns: the supervisor of the backends that the configuration permits.
    func supervisor(
        on loop: EventLoop, makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)?,
        log: @escaping (MessageKind, String) -> Void
    ) -> ScanSupervisor {
        var options = ScanSupervisor.Options()
        let scanner = scanner
        if let backend = ScannerBackend(rawValue: scanner.backend.rawValue) {
            options.backends = [backend]
        } else if receivesAll {
            options.backends = [.hci, .management, .dbus]
        }
        options.adapters = AdapterSelection(scanner.adapters)
        options.latency = scanner.latency
        options.deafAfter = EngineConfiguration.liveDeafAfter
        if let engine = configuration?.engine {
            options.deafAfter = engine.settings(deafAfterUnlessSet: EngineConfiguration.liveDeafAfter).deafAfter
        }
        if heedsCanary {
            options.canary = scanner.canary.map { Canary(uuid: $0.uuid, major: $0.major, minor: $0.minor) }
        }
        let state = configuration?.output.stateDirectory ?? OutputConfiguration().stateDirectory
        let record = record
        return ScanSupervisor(
            loop: loop, options: options,
            make: { backend throws(ScannerError) in
                if let makeScanner { return ObservingScanner(try makeScanner(backend, loop)) }
                return ObservingScanner(
                    try Backends.make(backend, on: loop, scanner, state: state, observer: record))
            }, log: log)
    }

    /// Starts the supervisor. If it uses `management`, the capabilities of the process are dropped, unless root runs
    /// it.
    func start(_ supervisor: ScanSupervisor, _ handler: any ScanHandler) throws(ExitFailure) {
        do throws(ScannerError) {
            try supervisor.start(handler)
        } catch {
            throw ExitFailure(error)
        }
        // Without its capabilities, root could not delete its own files at the end.
        guard supervisor.status.backend == .management, geteuid() != 0 else { return }
        _ = try? Capabilities.drop()
    }
}

/// A scanner for a command that only observes. It restarts its own scan, but must not switch or reset an adapter.
final class ObservingScanner: AdvertisingScanner {
    private let scanner: any AdvertisingScanner

    init(_ scanner: any AdvertisingScanner) { self.scanner = scanner }

    var backend: ScannerBackend { scanner.backend }

    func start(_ handler: any ScanHandler) throws(ScannerError) { try scanner.start(handler) }

    func drain() { scanner.drain() }

    func take(_ step: WatchdogStep, on adapter: Int) -> WatchdogStep.Outcome {
        switch step {
        case .widen, .restartScan: scanner.take(step, on: adapter)
        case .powerCycle, .reset: .skipped(reason: "only the gateway does this")
        }
    }

    func stop() { scanner.stop() }
}
