import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BluetoothLE
import EventLog
import Foundation
import ProgramSupport
import SystemPackage
import Testing

@testable import GatewayCommands

/// A daemon in this process, with scripted scanners and its own files. A test decides which reports arrive, and how far
/// the time of the engine has advanced.
final class DaemonFixture {
    /// The state for the closures, which are created before the daemon.
    private final class Bench {
        var scanners: [ScriptedScanner] = []
        var closed: Set<ScannerBackend> = []
        var log: [String] = []
    }

    let daemon: Daemon
    let folder: Scratch
    private let bench: Bench
    /// The capabilities of the process, as it reports them.
    final class Rights { var present: Set<Capabilities.Capability> = [] }
    let rights = Rights()

    static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"

    /// Starts a daemon with the configuration in the folder, as `run` does, but without a turn of the loop.
    /// Capabilities that it drops are removed from ``rights``.
    init(
        _ folder: Scratch, capabilities: Set<Capabilities.Capability> = [],
        showingEventsOn terminal: FileDescriptor? = nil
    ) throws {
        let bench = Bench()
        self.bench = bench
        self.folder = folder
        let rights = rights
        rights.present = capabilities
        staff = try Identifier("staff")
        let process = ProcessCapabilities(
            present: { rights.present }, drop: { kept throws(Errno) in rights.present.formIntersection(kept) })
        daemon = try Daemon(
            configuration: folder.path("g.yaml"),
            makeScanner: { backend, loop throws(ScannerError) in
                // The kernel does the same when the socket is bound.
                if backend == .management, !rights.present.contains(.networkAdministration) {
                    throw ScannerError(.denied, "this user lacks CAP_NET_ADMIN")
                }
                let scanner = ScriptedScanner(backend, now: { loop.now })
                bench.scanners.append(scanner)
                return scanner
            }, capabilities: process, showingEventsOn: terminal,
            log: { kind, line in bench.log.append("\(kind.level): \(line)") })
        try daemon.scanning.start(daemon)
        daemon.scanning.dropCapabilities()
    }

    /// The scanner that was created last.
    var scanner: ScriptedScanner { bench.scanners[bench.scanners.count - 1] }
    var scannersMade: Int { bench.scanners.count }
    var log: [String] { bench.log }

    static func write(_ settings: String, in folder: Scratch) throws {
        let text = """
            gateway: {name: lobby}
            output:
              directory: \(folder.path("events"))
              state_directory: \(folder.path("state"))
            conditions:
            - {identifier: staff, uuid: \(uuid), assuming: unsatisfied}

            """
        _ = try folder.write("g.yaml", settings + "\n" + text)
    }

    func appear(_ number: Int, _ address: DeviceAddress) {
        scanner.say(.appeared(adapter: number, controller: "a test's", address: address))
        scanner.say(.listening(adapter: number, reason: "scripted"))
    }

    var state: BeaconMonitor.Event.State? { engine.state(of: staff) }
    var engine: MonitorEngine { daemon.monitor.live.engine }
    private let staff: Identifier

    /// Advances the time of the engine, as if no report had been received.
    func wait(_ duration: Duration) {
        daemon.monitor.advance(to: max(daemon.loop.now, engine.now) + duration)
        finishTurn()
    }

    func finishTurn() { daemon.finishTurn() }

    /// Ends the daemon. If it is killed, only the data that it has already written remain.
    func end(isKilled: Bool = false) {
        finishTurn()
        daemon.scanning.stop()
        if !isKilled { daemon.monitor.journal.close(engine.snapshot, at: daemon.loop.now) }
        for lock in daemon.locks { lock.release() }
    }

    /// Returns the payloads of one type in all event files.
    func payloads(_ type: String) throws -> [[String: Any]] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path("events"))
        return try names.filter { $0.hasPrefix("events-") }.sorted().flatMap { name in
            String(decoding: try contents(of: folder.path("events/\(name)")), as: UTF8.self).split(separator: "\n")
            // Lines that are not published, such as evidence, have no envelope.
        }.compactMap { try object(String($0))["payload"] as? [String: Any] }
            .filter { $0["type"] as? String == type }
    }
}
