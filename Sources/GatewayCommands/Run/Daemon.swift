package import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BeaconScanning
import BluetoothLE
package import CommandSupport
import EventLog
package import EventLoops
import GatewayConfiguration
import Glibc
package import OperatorLogging
import SystemPackage

/// `run`: scanner → monitor → event files, for years, on one thread.
///
/// All happens in the turns of one loop. What was heard goes into the engine at once; at the end of each turn what came of
/// it is put on the disk, and only then do records move (rule N3). A deadline is handled after the sources have been
/// drained (rule T5), so no exit overtakes the report that prevents it.
package final class Daemon {
    let loop: EventLoop
    let log: (MessageKind, String) -> Void
    let path: String
    let makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)?
    let startTime: Instant
    var configuration: Configuration
    let gateway: Identifier
    var supervisor: ScanSupervisor?
    /// Where the gateway is.
    private(set) lazy var location = LocationTracker(on: loop, log: log) { [unowned self] in hear($0) }
    var monitor: LiveMonitor
    var decoder = ReportDecoder()
    /// What explains an exit: the last sightings of each beacon.
    var recorder = EvidenceRecorder()
    /// Who is in view, for the conditions that ask for it.
    var ranging: RangingWriter
    let journal: Journal
    let locks: [StateLock]
    var clock: ClockWatcher
    var obstacles: Set<ScanObstacle> = []
    /// Where it is asked what the scanners are to do, and told how the machine stands.
    let service = ServiceRegistry()
    /// What the configuration asks of them.
    var session: ServiceSession
    var exitTimeouts: ExitTimeouts
    var capabilities: CapabilityKeeper
    /// What tells reports until when the gateway was alive.
    private var life: LifeSigns
    /// The error that ends the daemon, where one does.
    var failure: ExitFailure?
    let manager: ManagerReports
    /// Whether something became of an adapter or a way of hearing since the status was last said.
    var statusIsStale = true
    var saidTrouble: String?
    /// The reversed UUIDs that were logged.
    var saidReversed: [ReversedUUID] = []
    var reloads = 0
    var statusServer: StatusServer?
    /// The broker's side, where one is configured.
    var broker: BrokerLink?
    // What wakes the loop beside the scanners.
    var engineTimer: EventLoop.Timer?
    var journalTimer: EventLoop.Timer?
    var rangingTimer: EventLoop.Timer?
    var probeTimer: EventLoop.Timer?
    private var lifeTimer: EventLoop.Timer?
    var signals: SignalWatch?

    /// Reads the configuration, recovers what the last one left, and is ready to ``run()``.
    ///
    /// - Parameters:
    ///   - path: the configuration, which SIGHUP reads again.
    ///   - makeScanner: makes a way's scanner, not started: a test's own, or BlueZ's and the kernel's.
    ///   - log: takes lines for the operator.
    /// - Throws: ``ExitFailure`` where the configuration is bad, another gateway holds a monitor's name, or what is there
    ///   can't be read.
    package init(
        configuration path: String,
        makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)? = nil,
        log: @escaping (MessageKind, String) -> Void
    ) throws(ExitFailure) {
        self.path = path
        self.makeScanner = makeScanner
        self.log = log
        configuration = try ConfigurationFile.loadWithNames(path, isReplay: false)
        if let name = configuration.gatewayName { gateway = name } else { gateway = try Program.hostName() }
        manager = ManagerReports(log: log)
        capabilities = CapabilityKeeper(log: log)
        do throws(Errno) {
            loop = try EventLoop()
        } catch {
            throw ExitFailure(.failed, "the process can't wait for events: \(error)")
        }
        let now = loop.now
        startTime = now
        locks = try Self.locks(configuration)
        let options = JournalOptions(configuration.output, gateway: gateway, mqtt: configuration.mqtt)
        let reading = ClockWatcher.Reading.machine
        do throws(EventLogError) {
            let boot = try Self.boot()
            life = LifeSigns(in: options.directory, gateway: gateway, boot: boot)
            journal = try Journal(
                options, boot: boot, now: now, clockOffset: reading.offset,
                isClockSynchronized: reading.isSynchronized)
        } catch {
            throw ExitFailure(error)
        }
        // After a restart of the process alone, what became of the clock meanwhile is told by the first reading.
        let known = journal.recovery.clock ?? (journal.clockOffset, journal.isClockSynchronized)
        clock = ClockWatcher(known: ClockWatcher.Reading(offset: known.0, isSynchronized: known.1))
        session = ServiceSession(configuration, in: service)
        exitTimeouts = ExitTimeouts(configuration)
        ranging = RangingWriter(configuration)
        monitor = LiveMonitor(
            engine: MonitorEngine(
                settings: configuration.liveEngineSettings, start: now, clockOffset: clock.offset))
        for remark in locks.compactMap(\.remark) { log(.recovered, remark) }
        for remark in journal.recovery.remarks { log(.recovered, remark) }
        if let remark = life.remark { log(.recovered, remark) }
        observeClock()
        journal.append(
            life.started(
                ConfigurationFile.digest(path), machine: journal.boot.machine, at: now, clockOffset: clock.offset))
        try begin(from: journal.recovery.snapshot, at: now)
    }

    private static let signals = [SIGTERM, SIGINT, SIGHUP, SIGUSR1]

    /// Has the signals that ``run()`` answers wait for it; to be called before a daemon is made.
    ///
    /// To read what was written before takes as long as it takes. A SIGHUP or SIGUSR1 that comes meanwhile would end the
    /// process, and a SIGTERM would end it without a word.
    /// - Throws: ``ExitFailure`` where the kernel does not let it, which is a mistake of ours.
    public static func holdSignals() throws(ExitFailure) {
        do throws(Errno) {
            try SignalWatch.hold(signals)
        } catch {
            throw ExitFailure(.failed, "signals can't be held: \(error)")
        }
    }

    /// Hears, monitors and writes until SIGTERM or SIGINT.
    ///
    /// - Throws: ``ExitFailure`` where no way of hearing is open to this user on this machine, and what ends it later.
    package func run() throws(ExitFailure) {
        do throws(Errno) {
            try arrange()
        } catch {
            throw ExitFailure(.failed, "the process can't wait for events: \(error)")
        }
        try startStatusServer()
        startPublishing()
        let supervisor = makeSupervisor()
        self.supervisor = supervisor
        do throws(ScannerError) {
            try supervisor.start(self)
        } catch {
            self.supervisor = nil
            let failure = ExitFailure(error)
            life.end(because: failure.message)
            close()
            throw failure
        }
        location.start(configuration)
        // Asked of the process before this one, which ended before it could answer.
        _ = forgetWhereAsked()
        capabilities.update(supervisor.status)
        log(.gatewayRuns, opening(supervisor.status))
        sayShortfalls(of: supervisor.status)
        do throws(Errno) {
            try loop.run()
        } catch {
            let failure = ExitFailure(.failed, "the process can't wait for events: \(error)")
            life.end(because: failure.message)
            close()
            throw failure
        }
        manager.end()
        // What was received until now counts; it is not known yet what comes next, so nothing is said to have stopped. The
        // clock is read before what was received is (rule T5).
        let end = loop.now
        supervisor.drain()
        location.drain()
        advance(to: end)
        location.stop()
        supervisor.stop()
        self.supervisor = nil
        close()
        if let failure { throw failure }
        log(.gatewayEnds, "ended; \(PlainText.count(journal.counters.lines, "line was", "lines were")) written")
    }

    func close() {
        deliver()
        if let failure { life.end(because: failure.message) }
        let end = loop.now
        journal.append(life.stopped(at: end, clockOffset: clock.offset))
        finishTurn()
        journal.close(monitor.engine.snapshot, at: end)
        tellOfLife(at: end, isLast: true)
        stopPublishing()
        statusServer = nil
        for lock in locks { lock.release() }
    }

    // MARK: The loop

    private func arrange() throws(Errno) {
        engineTimer = loop.makeTimer { [unowned self] now in
            supervisor?.drain()
            location.drain()
            advance(to: now)
        }
        journalTimer = loop.makeTimer { [unowned self] now in journal.advance(to: now) }
        signals = try SignalWatch(Self.signals, on: loop) { [unowned self] signal in
            handle(signal)
        }
        try clock.start(on: loop) { [unowned self] in observeClock() }
        loop.afterWaiting = { [unowned self] in supervisor?.woke() }
        loop.beforeWaiting = { [unowned self] in finishTurn() }
        if let interval = manager.watchdogInterval {
            let timer = loop.makeTimer { [unowned self] now in
                probe(at: now)
                if let probeTimer { loop.set(probeTimer, at: now + interval) }
            }
            probeTimer = timer
            loop.set(timer, at: loop.now + interval)
        }
        if LifeSigns.needsTimer(watchdogInterval: manager.watchdogInterval) {
            // What is due is done at the end of the turn.
            lifeTimer = loop.makeTimer { _ in }
        }
        observeClock()
    }

    /// Says in the folder of the event files that the gateway is alive, where it is time.
    private func tellOfLife(at now: Instant, isLast: Bool = false) {
        let said = life.tell(
            at: now, clockOffset: clock.offset, after: journal.durableSequence, isLast: isLast)
        if let said { log(.aliveNotTold, said) }
    }

    /// Goes through scanner, engine and writer: where one of them does not return, systemd is not told that all is well.
    private func probe(at now: Instant) {
        supervisor?.drain()
        location.drain()
        advance(to: now)
        observeClock()
        journal.commit(at: now)
        manager.live()
    }

    func advance(to time: Instant) {
        monitor.advance(to: time)
    }

    /// What was said and done in a turn goes to the disk; then everybody waits for what is next due.
    func finishTurn() {
        deliver()
        journal.commit(at: loop.now)
        updatePublishing()
        noteTrouble()
        noteReversed()
        for remark in journal.drainRemarks() { log(.eventFilesRemark, remark) }
        if journal.wantsSnapshot { journal.keep(monitor.engine.snapshot, at: loop.now) }
        if let engineTimer { loop.set(engineTimer, at: monitor.engine.nextDeadline) }
        tellOfLife(at: loop.now)
        if let lifeTimer { loop.set(lifeTimer, at: life.due) }
        if let journalTimer { loop.set(journalTimer, at: journal.nextDeadline) }
        setRangingTimer()
        // Reading all of it costs more than a report does.
        if statusIsStale { noteStanding() }
        statusIsStale = false
    }

    /// Hands the engine's actions to the journal.
    func deliver() {
        guard !monitor.actions.isEmpty else { return }
        journal.append(monitor.actions, evidence: &recorder)
        for action in monitor.actions.actions { say(action) }
        monitor.actions.removeAll()
    }

    private func handle(_ signal: Int32) {
        switch signal {
        case SIGHUP: reload()
        case SIGUSR1: if !forgetWhereAsked() { journal.rotate() }
        default:
            let reason = signal == SIGINT ? "interrupted" : "asked to end"
            log(.gatewayEnds, reason)
            life.end(because: reason)
            loop.stop()
        }
    }

    // MARK: The wall clock

    /// Looks at the wall clock: what became of it is a line, and what dates lines from now on.
    func observeClock() {
        if let change = clock.observe(at: loop.now) {
            // What came before is dated as it was.
            deliver()
            journal.append(change)
            log(.clockChanged, "the wall clock \(change.before == change.after ? "is synchronised" : "was set")")
        }
        monitor.engine.clockOffset = clock.offset
        updateDiagnostics()
    }

    func updateDiagnostics() {
        var diagnostics = Diagnostics(obstacles)
        if !journal.isKeeping { diagnostics.insert(.persistenceUnavailable) }
        if !clock.isSynchronized { diagnostics.insert(.clockUnsynchronized) }
        if supervisor?.status.adapters.contains(where: \.isThinned) ?? false { diagnostics.insert(.accuracyLimited) }
        monitor.engine.ambientDiagnostics = diagnostics
        service.report(diagnostics)
    }

    private func noteTrouble() {
        guard journal.trouble != saidTrouble else { return }
        saidTrouble = journal.trouble
        if let trouble = saidTrouble {
            log(
                .linesNotKept,
                "\(trouble); monitoring goes on, and lines \(journal.linesWait ? "wait in memory" : "are kept")"
            )
        } else {
            log(.linesKeptAgain, "lines and records are kept again")
        }
        updateDiagnostics()
    }
}
