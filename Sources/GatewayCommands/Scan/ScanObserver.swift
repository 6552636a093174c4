import AdapterScanning
import BeaconMonitoring
import BeaconScanning
package import CommandSupport
import EventLoops
package import GatewayConfiguration
import Glibc
import OperatorLogging
import SystemPackage

/// How `scan` and `record` hear: as `run` does by the same configuration, but without taking a step that others would
/// notice. They are used beside a running gateway, which sees to the adapters itself.
package struct ObserverOptions: Sendable {
    /// The configuration; absent: all adapters, by the best way.
    package var configuration: Configuration?
    /// The way to hear, in place of the configuration's.
    package var backend: ScannerConfiguration.Backend?
    /// The adapters by name or address, in place of the configuration's; empty: those.
    package var adapters: [String] = []
    /// Whether everything is to be heard, beacons or not: then the raw channel comes first.
    package var hearsAll = false
    /// Whether a canary's silence keeps back what else is heard, as `run` has it.
    package var heedsCanary = false
    /// Whether advertisers are asked for their names, where the configuration leaves that open.
    package var asksForNames = false
    /// What the file is called that tells, after a crash, what is to be undone.
    package var record = "observer"

    /// The configuration at `path`, or where that is absent the one at the usual place, if there is one.
    ///
    /// - Throws: ``ExitFailure`` where it can't be read or has mistakes.
    package static func configuration(_ path: String?) throws(ExitFailure) -> Configuration? {
        if let path { return try ConfigurationFile.load(path, isReplay: false) }
        guard unsafe access(ConfigurationFile.defaultPath, F_OK) == 0 else { return nil }
        return try ConfigurationFile.load(ConfigurationFile.defaultPath, isReplay: false)
    }

    /// The same with the names of beacons. Where nobody named a configuration, and the names of the usual one can't be read,
    /// it is without, and says why: whoever looks around need not be who may know who is who.
    ///
    /// - Throws: ``ExitFailure`` where it can't be read or has mistakes; where it was named, for its names too.
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

    /// Hears by the configuration, or by the best way on all adapters.
    package init(configuration: Configuration? = nil) { self.configuration = configuration }

    var scanner: ScannerConfiguration {
        var scanner = configuration?.scanner ?? ScannerConfiguration()
        if let backend { scanner.backend = backend }
        if !adapters.isEmpty { scanner.adapters = adapters }
        if asksForNames, scanner.mode == .auto { scanner.mode = .active }
        return scanner
    }

    /// Makes what hears, not started yet.
    ///
    /// - Parameters:
    ///   - loop: where it lives.
    ///   - makeScanner: makes a way's scanner, not started; absent: BlueZ's and the kernel's.
    ///   - log: takes lines for the operator.
    /// - Returns: the supervisor of the ways that the configuration allows.
    func supervisor(
        on loop: EventLoop, makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)?,
        log: @escaping (MessageKind, String) -> Void
    ) -> ScanSupervisor {
        var options = ScanSupervisor.Options()
        let scanner = scanner
        if let backend = ScannerBackend(rawValue: scanner.backend.rawValue) {
            options.backends = [backend]
        } else if hearsAll {
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

    /// Starts it, and gives up what this process may that it no longer needs.
    func start(_ supervisor: ScanSupervisor, _ handler: any ScanHandler) throws(ExitFailure) {
        do throws(ScannerError) {
            try supervisor.start(handler)
        } catch {
            throw ExitFailure(error)
        }
        // Root's own files could not be put away at the end without them.
        guard supervisor.status.backend == .management, geteuid() != 0 else { return }
        _ = try? Capabilities.drop()
    }
}

/// A scanner for who only looks on: it begins its own scan anew, and switches or resets nothing.
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
