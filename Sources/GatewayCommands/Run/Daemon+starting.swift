import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BeaconScanning
import BluetoothLE
import CommandSupport
import EventLog
import EventLoops
import GatewayConfiguration
import Glibc
import OperatorLogging
import SystemPackage

// How a daemon comes up: what it takes over, what it locks, by which way it hears.
extension Daemon {
    /// Starts the engine on what survived (rule N4).
    func begin(from snapshot: MonitorSnapshot?, at now: Instant) throws(ExitFailure) {
        EventFilesErasure.tidy(FilePath(configuration.output.directory))
        do throws(MonitorError) {
            try monitor.begin(
                configuration.setups, naming: configuration.beacons.beacons, from: snapshot, at: now)
        } catch {
            throw ExitFailure(.configurationInvalid, error.description)
        }
        explainFrom(configuration)
        deliver()
    }

    /// Tells what explains exits how conditions are left that were there before.
    func explainFrom(_ configuration: Configuration) {
        for setup in configuration.monitors {
            for condition in setup.conditions { recorder.know(condition.identifier, condition.settings) }
        }
    }

    /// One monitor of a name at a time on this machine (rule N1), and one gateway in a folder of event files.
    static func locks(_ configuration: Configuration) throws(ExitFailure) -> [StateLock] {
        var locks: [StateLock] = []
        do throws(EventLogError) {
            let directory = FilePath(configuration.output.stateDirectory)
            locks.append(try StateLock(in: directory, program: "beacon-gateway run"))
            for monitor in configuration.monitors {
                locks.append(try StateLock(monitor.name, in: directory, program: "beacon-gateway run"))
            }
            locks.append(
                try StateLock(events: FilePath(configuration.output.directory), program: "beacon-gateway run"))
        } catch {
            throw ExitFailure(error)
        }
        return locks
    }

    static func boot() throws(EventLogError) -> BootID {
        do throws(Errno) {
            return try BootID.current()
        } catch {
            throw .readFailed("/proc/sys/kernel/random/boot_id", error)
        }
    }

    func makeSupervisor() -> ScanSupervisor {
        var options = ScanSupervisor.Options()
        let scanner = configuration.scanner
        if let backend = ScannerBackend(rawValue: scanner.backend.rawValue) { options.backends = [backend] }
        options.adapters = AdapterSelection(scanner.adapters)
        options.latency = scanner.latency
        options.deafAfter =
            configuration.engine.settings(
                deafAfterUnlessSet: EngineConfiguration.liveDeafAfter
            ).deafAfter
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
                // The engine says it too, for what is no radio as well, and with the name that its lines have.
                if kind != .adapterListens, kind != .adapterNotListening { log(kind, text) }
            })
    }

    /// Says what the way that is in use can't do of what is asked.
    func sayShortfalls(of status: ScanStatus) {
        guard let backend = status.backend, let demand = service.demand else { return }
        for shortfall in Backends.shortfalls(of: backend, for: demand) {
            log(.scannerLimited, "scanner.mode: by \(backend.rawValue), \(shortfall)")
        }
    }

    func opening(_ status: ScanStatus) -> String {
        let conditions = configuration.monitors.reduce(0) { $0 + $1.conditions.count }
        let way = status.backend.map { "\($0.rawValue)\(status.reason.isEmpty ? "" : ": \(status.reason)")" }
        return """
            gateway \(gateway): \(PlainText.count(conditions, "condition")); hears by \(way ?? "no way yet"); \
            writes to \(configuration.output.directory) from line \(journal.sequence + 1) on
            """
    }
}

extension Configuration {
    /// What the engine is to have.
    var setups: [MonitorSetup] {
        monitors.map { monitor in
            MonitorSetup(
                name: monitor.name, settings: monitor.settings,
                conditions: monitor.conditions.map {
                    MonitorSetup.Condition(
                        identifier: $0.identifier, condition: $0.condition, assuming: $0.assuming,
                        settings: $0.settings)
                })
        }
    }
}

extension JournalOptions {
    /// What the configuration's `output` says.
    init(_ output: OutputConfiguration, gateway: Identifier, mqtt: MQTTConfiguration?) {
        self.init(
            directory: FilePath(output.directory), stateDirectory: FilePath(output.stateDirectory), gateway: gateway)
        if let mqtt {
            prefix = mqtt.prefix
            waitsForShipping = true
        }
        envelope = output.envelope
        rotateSize = Int(output.rotateSize)
        rotateInterval = output.rotateInterval
        retain = output.retain
        retainSize = Int(output.retainSize)
        durability =
            switch output.durability {
            case .event: .event
            case .every(let interval): .every(interval)
            }
    }
}

/// The shortest exit timeout that holds for a beacon: what its cadence is held against.
struct ExitTimeouts {
    private var timeouts: [Key: Duration] = [:]

    private struct Key: Hashable {
        var uuid: ProximityUUID
        var major: UInt16?
        var minor: UInt16?
    }

    init(_ configuration: Configuration) {
        for monitor in configuration.monitors {
            for condition in monitor.conditions {
                guard case .beacon(let identity) = condition.condition else { continue }
                let key = Key(uuid: identity.uuid, major: identity.major, minor: identity.minor)
                timeouts[key] = min(timeouts[key] ?? condition.settings.exitTimeout, condition.settings.exitTimeout)
            }
        }
    }

    func shortest(for beacon: BeaconIdentity) -> Duration? {
        [
            timeouts[Key(uuid: beacon.uuid)], timeouts[Key(uuid: beacon.uuid, major: beacon.major)],
            timeouts[Key(uuid: beacon.uuid, major: beacon.major, minor: beacon.minor)],
        ].compactMap(\.self).min()
    }
}
