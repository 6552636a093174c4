package import AdapterScanning
package import BaseTypes
import BeaconMonitoring
package import BluetoothLE
package import CommandSupport
import EventLog
package import EventLoops
import GatewayConfiguration
import Glibc
package import OperatorLogging
import PublisherProtocol
package import SystemPackage

/// The command `run`: scans, monitors and writes event files on one thread.
///
/// Everything happens in the turns of one loop. Each report is passed to the engine at once. At the end of a turn its
/// lines are written to the disk, and only then do the records change (rule N3). A deadline is handled after all
/// reports that were received before it (rule T5), so no exit precedes the report that prevents it.
package final class Daemon {
    // A gateway with more conditions publishes their states only in their own topics, because a longer status would
    // delay scanning.
    private static let conditionsInStatusMax = 1000
    // The smallest limit of a known broker: AWS IoT Core accepts 128 KiB, including the topic.
    private static let statusBytesMax = 128_000
    private static let signals = [SIGTERM, SIGINT, SIGHUP, SIGUSR1]

    /// The loop of this process.
    let loop: EventLoop
    /// The running configuration.
    private(set) var configuration: Configuration
    /// The engine and its lines.
    let monitor: GatewayMonitor
    /// The scanners.
    let scanning: ScanControl
    /// The locks on the names of monitors and on the folder of event files.
    let locks: [StateLock]
    /// The error that ends the daemon, or `nil`.
    private(set) var failure: ExitFailure?

    private let path: String
    private let gateway: Identifier
    private let startTime: Instant
    private let log: (MessageKind, String) -> Void
    /// Shows the events on a terminal; `nil` if there is none.
    private let display: EventDisplay?
    private let manager: ManagerReports
    private var aliveRecorder: AliveRecorder
    private var broker: BrokerLink?
    private var statusServer: StatusServer?
    /// Whether a scanner has changed since the status was last reported.
    private var statusIsStale = true
    private var reloads = 0
    private var signals: SignalWatch?
    private lazy var location = LocationTracker(on: loop, log: log) { [unowned self] in monitor.located($0) }
    private lazy var engineTimer = loop.makeTimer { [unowned self] now in
        drain()
        monitor.advance(to: now)
    }
    private lazy var journalTimer = loop.makeTimer { [unowned self] now in monitor.journal.advance(to: now) }
    private var rangingTimer: EventLoop.Timer?
    private var probeTimer: EventLoop.Timer?
    private var lifeTimer: EventLoop.Timer?

    /// Reads the configuration, recovers the state of the last process, and prepares ``run()``.
    ///
    /// - Parameters:
    ///   - path: the configuration file. SIGHUP reads it again.
    ///   - capture: the capture that takes the place of the machine's adapters; `nil` if they scan.
    ///   - makeScanner: creates the scanner of a backend without starting it; `nil` means the scanners of BlueZ and the
    ///     kernel.
    ///   - terminal: the terminal that shows the events as short lines; `nil` if they are only written.
    ///   - log: receives the messages for the operator.
    /// - Throws: ``ExitFailure`` if the configuration is invalid, another gateway uses the name of a monitor, or the
    ///   state cannot be read.
    package convenience init(
        configuration path: String, from capture: CaptureOrigin? = nil,
        makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)? = nil,
        showingEventsOn terminal: FileDescriptor? = nil, log: @escaping (MessageKind, String) -> Void
    ) throws(ExitFailure) {
        try self.init(
            configuration: path, from: capture, makeScanner: makeScanner, capabilities: ProcessCapabilities(),
            showingEventsOn: terminal, log: log)
    }

    init(
        configuration path: String, from capture: CaptureOrigin? = nil,
        makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)?,
        capabilities: ProcessCapabilities, showingEventsOn terminal: FileDescriptor? = nil,
        log: @escaping (MessageKind, String) -> Void
    ) throws(ExitFailure) {
        self.path = path
        self.log = log
        let configuration = try ConfigurationFile.loadWithNames(path, isReplay: false)
        self.configuration = configuration
        if let name = configuration.gatewayName { gateway = name } else { gateway = try Program.hostName() }
        manager = ManagerReports(log: log)
        let loop = try ExitFailure.ofLoop(EventLoop())
        self.loop = loop
        let now = loop.now
        startTime = now
        if let terminal {
            display = try ExitFailure.ofLoop(EventDisplay(terminal, configuration.beacons, on: loop))
        } else {
            display = nil
        }
        do throws(EventLogError) {
            locks = try Self.lock(configuration)
            let boot = try Self.boot()
            aliveRecorder = AliveRecorder(in: FilePath(configuration.output.directory), gateway: gateway, boot: boot)
            monitor = try GatewayMonitor(
                configuration, gateway: gateway, boot: boot, at: now, display: display, log: log)
        } catch {
            throw ExitFailure(error)
        }
        scanning = ScanControl(
            configuration, on: loop, from: capture, makeScanner: makeScanner, process: capabilities, log: log)
        for remark in locks.compactMap(\.remark) { log(.recovered, remark) }
        for remark in monitor.journal.recovery.remarks { log(.recovered, remark) }
        if let remark = aliveRecorder.remark { log(.recovered, remark) }
        observeClock()
        monitor.journal.append(
            aliveRecorder.started(
                ConfigurationFile.digest(path), machine: monitor.journal.boot.machine, at: now,
                clockOffset: monitor.clockOffset))
        try monitor.begin(configuration, at: now)
    }

    /// Blocks the signals that ``run()`` handles until it runs. It must be called before a daemon is created.
    ///
    /// Recovery can take long. A SIGHUP or SIGUSR1 during that time would end the process, and a SIGTERM would end it
    /// without a line.
    ///
    /// - Throws: ``ExitFailure`` if pthread_sigmask(3) fails, which is a defect of the program.
    public static func holdSignals() throws(ExitFailure) {
        do throws(Errno) {
            try SignalWatch.hold(signals)
        } catch {
            throw ExitFailure(.failed, "signals can't be blocked: \(error)")
        }
    }

    // Only one gateway can use the name of a monitor on this machine (rule N1), and only one a folder of event files.
    private static func lock(_ configuration: Configuration) throws(EventLogError) -> [StateLock] {
        let program = "beacon-gateway run"
        let directory = FilePath(configuration.output.stateDirectory)
        var locks = [try StateLock(in: directory, program: program)]
        for monitor in configuration.monitors {
            locks.append(try StateLock(monitor.name, in: directory, program: program))
        }
        locks.append(try StateLock(events: FilePath(configuration.output.directory), program: program))
        return locks
    }

    private static func boot() throws(EventLogError) -> BootID {
        try EventLogError.reading("/proc/sys/kernel/random/boot_id", BootID.current())
    }
}

// MARK: - The loop

extension Daemon {
    /// Scans, monitors and writes until SIGTERM or SIGINT.
    ///
    /// - Throws: ``ExitFailure`` if this user cannot open any backend on this machine, or if scanning fails later.
    package func run() throws(ExitFailure) {
        try ExitFailure.ofLoop(prepareLoop())
        try startStatusServer()
        startPublishing()
        do throws(ScannerError) {
            try scanning.start(self)
        } catch {
            scanning.stop()
            throw close(after: ExitFailure(error))
        }
        location.start(configuration)
        // The last process can have ended before it answered a request.
        _ = answerErasure()
        scanning.dropCapabilities()
        log(.gatewayRuns, opening)
        scanning.logShortfalls()
        do throws(Errno) { try loop.run() } catch { throw close(after: ExitFailure(ofLoop: error)) }
        manager.end()
        finish()
        if let failure { throw failure }
        let lines = PlainText.count(monitor.journal.counters.lines, "line was", "lines were")
        log(.gatewayStops, "stopped; \(lines) written")
    }

    /// Handles all received reports, and closes everything.
    ///
    /// The lines do not report that the adapters stopped, because the reports of the next process are not known yet.
    func finish() {
        let end = loop.now
        drain()
        monitor.advance(to: end)
        location.stop()
        scanning.stop()
        close()
    }

    /// Writes the last lines, closes the event files, stops the publisher process, and releases the locks.
    func close() {
        monitor.deliver()
        if let failure { aliveRecorder.end(because: failure.message) }
        let end = loop.now
        monitor.journal.append(aliveRecorder.stopped(at: end, clockOffset: monitor.clockOffset))
        finishTurn()
        monitor.journal.close(monitor.live.engine.snapshot, at: end)
        writeAlive(at: end, isLast: true)
        display?.close()
        broker?.stop(durable: monitor.journal.durableSequence)
        broker = nil
        statusServer = nil
        for lock in locks { lock.release() }
    }

    private func close(after failure: ExitFailure) -> ExitFailure {
        aliveRecorder.end(because: failure.message)
        close()
        return failure
    }

    private func prepareLoop() throws(Errno) {
        // If two timers are due at the same time, the loop handles the one that was created first.
        _ = (engineTimer, journalTimer)
        signals = try SignalWatch(Self.signals, on: loop) { [unowned self] signal in handle(signal) }
        try monitor.watchClock(on: loop) { [unowned self] in observeClock() }
        loop.afterWaiting = { [unowned self] in scanning.woke() }
        loop.beforeWaiting = { [unowned self] in finishTurn() }
        if let interval = manager.watchdogInterval {
            let timer = loop.makeTimer { [unowned self] now in
                probe(at: now)
                if let probeTimer { loop.set(probeTimer, at: now + interval) }
            }
            probeTimer = timer
            loop.set(timer, at: loop.now + interval)
        }
        if AliveRecorder.needsTimer(watchdogInterval: manager.watchdogInterval) {
            // This timer only wakes the loop. The end of the turn does the work.
            lifeTimer = loop.makeTimer { _ in }
        }
        observeClock()
    }

    private func handle(_ signal: Int32) {
        switch signal {
        case SIGHUP: reload()
        case SIGUSR1: if !answerErasure() { monitor.journal.rotate() }
        default:
            let reason = signal == SIGINT ? "stopped by SIGINT" : "stopped by SIGTERM"
            log(.gatewayStops, reason)
            aliveRecorder.end(because: reason)
            loop.stop()
        }
    }

    private func drain() {
        scanning.drain()
        location.drain()
    }

    /// Handles everything that was received before now, and returns the present. The clock must be read first (rule
    /// T5).
    private func drained() -> Instant {
        let now = loop.now
        drain()
        return max(now, monitor.live.engine.now)
    }

    /// Runs scanners, engine and journal once, and then notifies systemd's watchdog. If one of them hangs, the watchdog
    /// is not notified.
    private func probe(at now: Instant) {
        drain()
        monitor.advance(to: now)
        observeClock()
        monitor.journal.commit(at: now)
        manager.live()
    }

    /// Writes the lines of the turn to the disk, and sets the timers for the next deadlines.
    func finishTurn() {
        monitor.commit(at: loop.now)
        updatePublishing()
        if monitor.logFailureChange() { updateDiagnostics() }
        monitor.logRemarks()
        if monitor.journal.wantsSnapshot { monitor.keepSnapshot(at: loop.now) }
        loop.set(engineTimer, at: monitor.live.engine.nextDeadline)
        writeAlive(at: loop.now)
        if let lifeTimer { loop.set(lifeTimer, at: aliveRecorder.due) }
        loop.set(journalTimer, at: monitor.journal.nextDeadline)
        setRangingTimer()
        // Reading the complete status costs more than handling a report, so it is read only after a change.
        if statusIsStale, let status = scanning.status {
            scanning.dropCapabilities()
            manager.reportStatus(status.words, isListening: status.isListening)
        }
        statusIsStale = false
    }

    private func setRangingTimer() {
        guard monitor.ranging.isOn || rangingTimer != nil else { return }
        let timer =
            rangingTimer
            ?? loop.makeTimer { [unowned self] now in
                // Reports that were received by then belong to the previous seconds (rule T5).
                scanning.drain()
                monitor.range(until: now)
            }
        rangingTimer = timer
        loop.set(timer, at: monitor.ranging.nextDeadline)
    }

    /// Writes the file `alive` in the folder of event files, if it is due.
    private func writeAlive(at now: Instant, isLast: Bool = false) {
        let remark = aliveRecorder.writeIfDue(
            at: now, clockOffset: monitor.clockOffset, after: monitor.journal.durableSequence, isLast: isLast)
        if let remark { log(.aliveNotWritten, remark) }
    }

    private func observeClock() {
        monitor.observeClock(at: loop.now)
        updateDiagnostics()
    }

    private func updateDiagnostics() {
        var diagnostics = monitor.diagnostics
        diagnostics.formUnion(scanning.diagnostics)
        monitor.set(diagnostics)
        scanning.report(diagnostics)
    }
}

// MARK: - Scanning

extension Daemon: ScanHandler {
    /// Handles an advertising report of an adapter.
    package func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        monitor.received(report, data: data, on: adapter, at: time)
    }

    /// Handles a change of an adapter or a backend.
    package func changed(_ change: ScanChange, at time: Instant) {
        statusIsStale = true
        switch change {
        case .obstacles(let obstacles):
            scanning.set(obstacles)
            updateDiagnostics()
        case .ended(let error): fail(error)
        case .appeared, .disappeared, .listening, .stopped, .lost, .needs, .capture: monitor.changed(change, at: time)
        }
    }

    private func fail(_ error: ScannerError) {
        failure = ExitFailure(error)
        loop.stop()
    }

    private func restartScanning(_ old: ScannerConfiguration, at now: Instant) {
        let before = scanning.adapters
        scanning.stop()
        monitor.stop(before, keeping: AdapterSelection(configuration.scanner.adapters), at: now)
        do throws(ScannerError) {
            try scanning.start(self)
            scanning.logShortfalls()
        } catch {
            log(.configurationRejected, "\(error); the gateway continues with the old scanner settings")
            configuration.scanner = old
            scanning.reload(configuration)
            do throws(ScannerError) {
                try scanning.start(self)
            } catch {
                fail(error)
            }
        }
    }
}

// MARK: - Requests

extension Daemon {
    /// Reads the configuration file again, and applies the differences (rule C2). If the file is invalid, nothing
    /// changes.
    func reload() {
        manager.reload {
            do throws(ExitFailure) {
                apply(try ConfigurationFile.loadWithNames(path, isReplay: false))
            } catch {
                log(
                    .configurationRejected,
                    "\(path) was not applied; the gateway continues with the old configuration:\n\(error.message)")
            }
        }
    }

    private func apply(_ new: Configuration) {
        let change = ConfigurationChange(
            from: configuration, to: new, gateway: gateway, scanningStaysBecause: scanning.reasonToKeepScanning)
        for refusal in change.refusals { log(.configurationPostponed, refusal) }
        // The old configuration applies to everything that was received before.
        let now = drained()
        let old = configuration
        let wanted = change.wanted
        for line in change.postponed { log(.configurationPostponed, line) }
        if change.needsNewEngine {
            do throws(MonitorError) {
                try monitor.replaceEngine(
                    wanted, from: nil, scanning.adapters, because: "the configuration was reloaded", at: now)
            } catch {
                return log(
                    .configurationRejected,
                    "\(path) was not applied; the gateway continues with the old configuration: \(error)")
            }
        } else {
            do throws(MonitorError) {
                try monitor.apply(wanted, at: now)
            } catch {
                // Every bound was checked when the file was read.
                log(.configurationRejected, "\(path) was partly applied: \(error)")
            }
        }
        configuration = wanted
        // The changes so far are about beacons with the old names.
        monitor.deliver()
        display?.use(wanted.beacons)
        monitor.reloadRanging(wanted)
        scanning.reload(wanted)
        for line in change.words(for: path) { log(.configurationApplied, line) }
        if change.restartsScanning { restartScanning(old.scanner, at: now) }
        if change.restartsLocation { location.restart(wanted, at: now) }
        broker?.reload()
        reloads += 1
    }

    /// Forgets the beacon if `erase` has stored a request in the state directory.
    ///
    /// - Returns: whether there was a request; `true` also if it could not be read or answered.
    func answerErasure() -> Bool {
        let directory = FilePath(configuration.output.stateDirectory)
        do throws(EventLogError) {
            guard case .wanted(let request)? = try ErasureOrder.read(from: directory) else { return false }
            // Draining can change the adapters, so it must be first.
            let now = drained()
            let answer = monitor.forget(request, configuration, scanning.adapters, at: now)
            switch answer {
            case .refused(let reason):
                log(.beaconNotForgotten, "the request of `erase` to forget a beacon failed: \(reason)")
            case .done(let last):
                eraseAtBroker(request, upTo: last)
                log(.beaconForgotten, "a beacon was forgotten at the request of `erase`")
            case .wanted: break
            }
            try answer.write(in: directory)
        } catch {
            log(.beaconNotForgotten, "the request of `erase` failed: \(error)")
        }
        return true
    }

    /// Makes the publisher delete the retained messages about the beacon. A request with a date limit does not delete
    /// them, because they describe the present.
    private func eraseAtBroker(_ request: ErasureRequest, upTo last: Int) {
        guard let broker, request.before == nil else { return }
        do throws(EventLogError) {
            try ErasedBeacon(request.beacon, upTo: last).add(in: FilePath(configuration.output.stateDirectory))
        } catch {
            log(.beaconNotForgotten, "the broker keeps retained messages of a forgotten beacon: \(error)")
        }
        broker.reload()
    }
}

// MARK: - Publishing

extension Daemon {
    private func startPublishing() {
        guard let mqtt = configuration.mqtt else { return }
        for exposure in mqtt.exposures { log(.brokerExposed, exposure) }
        let broker = BrokerLink(
            mqtt, on: loop, settings: { [unowned self] in publisherSettings(mqtt, start: $0) },
            names: { [unowned self] in
                configuration.beacons.all.map { ($0.beacon, PublishedName($0.name, group: $0.group)) }
            },
            status: { [unowned self] in statusAtBroker }, log: log)
        // The publisher starts with the state that is stored here. All lines that led to this state must be on the disk
        // before anyone receives one of them.
        monitor.commit(at: loop.now)
        monitor.keepSnapshot(at: loop.now)
        // The checkpoint counts until the publisher reports its own number.
        let journal = monitor.journal
        if let last = PublisherSettings.lastAcknowledged(configuration.output) {
            journal.publishedSequence = max(journal.publishedSequence, last)
        }
        self.broker = broker
        broker.start(durable: journal.durableSequence)
    }

    private func publisherSettings(_ mqtt: MQTTConfiguration, start: Int) -> PublisherSettings {
        let journal = monitor.journal
        return PublisherSettings(
            configuration, mqtt, gateway: gateway.text, beaconsMax: monitor.live.engine.settings.maxBeacons,
            // Before the first start of the publisher, no line since the start of the gateway is published. After that,
            // a publisher that crashed can have published all of them.
            lastWritten: start == 0 ? journal.recovery.sequence : journal.durableSequence)
    }

    /// Reports the last durable line to the publisher, which can publish up to it. The journal can delete the lines
    /// that the broker has.
    private func updatePublishing() {
        guard let broker else { return }
        let journal = monitor.journal
        broker.update(durable: journal.durableSequence, unnumbered: monitor.ranging.written)
        journal.publishedSequence = max(journal.publishedSequence, broker.released)
        guard statusIsStale, let adapters = scanning.status?.adapters else { return }
        broker.note(listening: adapters.filter { $0.activity == .listening }.map(\.number))
    }
}

// MARK: - Status

extension Daemon {
    /// The present state, for `status` and the broker.
    var report: StatusReport {
        StatusReport(
            gateway: gateway, startTime: startTime, now: loop.now, clockOffset: monitor.clockOffset,
            scanning: scanning.status, needs: scanning.needs, configuration: configuration, monitor: monitor.live,
            malformations: monitor.malformations, ranging: monitor.ranging, journal: monitor.journal,
            location: location.sourceState, broker: broker, reloads: reloads, wakeUps: loop.wakeUps)
    }

    private var statusAtBroker: String {
        let conditions = configuration.monitors.reduce(0) { $0 + $1.conditions.count }
        return report.json(
            leavingOut: conditions <= Self.conditionsInStatusMax ? [] : [.conditions],
            bytesMax: Self.statusBytesMax)
    }

    private func startStatusServer() throws(ExitFailure) {
        statusServer = try StatusServer(at: configuration.output.statusSocket, on: loop) { [unowned self] in
            let report = report
            return report.json() + report.page
        }
    }

    private var opening: String {
        let conditions = configuration.monitors.reduce(0) { $0 + $1.conditions.count }
        let status = scanning.status
        let backendText = status?.backend.map { backend in
            "\(backend.rawValue)\(status.map { $0.reason.isEmpty ? "" : ": \($0.reason)" } ?? "")"
        }
        return """
            gateway \(gateway): \(PlainText.count(conditions, "condition")); \(backendText.map { "scans with \($0)" } ?? "no backend is in use yet"); \
            writes to \(configuration.output.directory) from line \(monitor.journal.sequence + 1) on
            """
    }
}
