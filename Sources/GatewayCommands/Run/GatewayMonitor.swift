import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import EventLoops
import GatewayConfiguration
import OperatorLogging
import SystemPackage

/// The engine of a running gateway and the effects of its decisions: lines, evidence, log messages, and short lines on
/// a terminal.
///
/// It has no scanner. The daemon passes in reports and times, and writes the lines at the end of a turn.
final class GatewayMonitor {
    /// The event files, with the records of the conditions.
    let journal: Journal
    /// The engine with its counters.
    private(set) var live: LiveMonitor
    /// The state of the `ranging` lines.
    private(set) var ranging: RangingWriter
    private var clock: ClockWatcher
    private var decoder = ReportDecoder()
    /// The last sightings of each beacon, as the evidence for an exit.
    private var recorder = EvidenceRecorder()
    private let log: (MessageKind, String) -> Void
    private let display: EventDisplay?
    private var loggedFailure: String?
    private var loggedReversed: [ReversedUUID] = []

    /// Opens the event files and recovers the state of the last process.
    ///
    /// - Parameters:
    ///   - configuration: the conditions and the folders.
    ///   - gateway: the name of the gateway.
    ///   - boot: the present start of the machine and the process.
    ///   - now: the present.
    ///   - display: shows the events; `nil` if they are only written.
    ///   - log: receives the messages for the operator.
    /// - Throws: ``EventLogError`` if the event files or records cannot be read or written.
    init(
        _ configuration: Configuration, gateway: Identifier, boot: BootID, at now: Instant,
        display: EventDisplay? = nil, log: @escaping (MessageKind, String) -> Void
    ) throws(EventLogError) {
        self.log = log
        self.display = display
        let reading = ClockWatcher.Reading.machine
        journal = try Journal(
            JournalOptions(configuration.output, gateway: gateway, mqtt: configuration.mqtt), boot: boot, now: now,
            clockOffset: reading.offset, isClockSynchronized: reading.isSynchronized)
        // If only the process was restarted, the first reading returns the changes of the clock since then.
        let known = journal.recovery.clock ?? (journal.clockOffset, journal.isClockSynchronized)
        clock = ClockWatcher(known: ClockWatcher.Reading(offset: known.0, isSynchronized: known.1))
        ranging = RangingWriter(configuration)
        live = LiveMonitor(
            engine: MonitorEngine(settings: configuration.liveEngineSettings, start: now, clockOffset: clock.offset))
    }

    /// How far the wall clock is ahead of the timeline, for the dates of lines.
    var clockOffset: ClockOffset { clock.offset }

    /// The number of advertisements that could not be decoded, by reason.
    var malformations: MalformationCounts { decoder.malformations }

    /// Starts the engine with the recovered state (rule N4).
    ///
    /// - Throws: ``ExitFailure`` if the conditions exceed a bound.
    func begin(_ configuration: Configuration, at now: Instant) throws(ExitFailure) {
        EventFilesErasure.tidy(FilePath(configuration.output.directory))
        do throws(MonitorError) {
            try live.begin(
                configuration.setups, naming: configuration.beacons.beacons, from: journal.recovery.snapshot, at: now)
        } catch {
            throw ExitFailure(.configurationInvalid, error.description)
        }
        // The recorder must explain the exits of these conditions too, although it has not seen them being added.
        for setup in configuration.monitors {
            for condition in setup.conditions { recorder.know(condition.identifier, condition.settings) }
        }
        deliver()
    }

    // MARK: Inputs

    /// Handles an advertising report, and the iBeacons in it.
    func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        if let due = ranging.nextDeadline, due <= time { range(until: time) }
        decoder.hand(report, data, adapter, time, to: &live)
        deliver()
        for entry in live.latest {
            recorder.sighted(entry.frame.beacon.identity, by: entry.adapter, rssi: entry.frame.rssi, at: entry.time)
        }
        if ranging.isOn { for entry in live.latest { ranging.sighted(entry.frame, at: entry.time) } }
        live.latest.removeAll(keepingCapacity: true)
    }

    /// Handles a change of an adapter.
    func changed(_ change: ScanChange, at time: Instant) { live.changed(change, at: time) }

    /// Handles a fix, or the report that there is none.
    func located(_ input: LocationTracker.Input) {
        switch input {
        case .fix(let fix): live.located(fix)
        case .lost(let since, let reason, let time): live.lostLocation(since: since, reason: reason, at: time)
        }
        deliver()
    }

    /// Handles the deadlines at or before `time`.
    func advance(to time: Instant) { live.advance(to: time) }

    /// Writes the `ranging` lines that are due at or before `time`. The lines of the engine up to each of them must be
    /// first, so that lines are in the order of their times.
    func range(until time: Instant) {
        while let due = ranging.nextDeadline, due <= time {
            advance(to: due)
            deliver()
            ranging.report(at: due, clockOffset: clock.offset) { ranging, name in
                journal.append(ranging, monitor: name.monitor, identifier: name.identifier)
            }
        }
    }

    // MARK: The wall clock

    /// Calls `body` when the wall clock is set.
    ///
    /// - Throws: `Errno` of timerfd_create(2) or timerfd_settime(2).
    func watchClock(on loop: EventLoop, _ body: @escaping () -> Void) throws(Errno) {
        try clock.start(on: loop, body)
    }

    /// Reads the wall clock. A change is written as a line, and applies to the dates of later lines.
    func observeClock(at time: Instant) {
        if let change = clock.observe(at: time) {
            // Earlier lines must have the earlier offset.
            deliver()
            journal.append(change)
            log(.clockChanged, "the wall clock \(change.before == change.after ? "is synchronised" : "was set")")
        }
        live.engine.clockOffset = clock.offset
    }

    /// The diagnostics of the journal and the clock.
    var diagnostics: Diagnostics {
        var diagnostics: Diagnostics = []
        if !journal.isStoring { diagnostics.insert(.persistenceUnavailable) }
        if !clock.isSynchronized { diagnostics.insert(.clockUnsynchronized) }
        return diagnostics
    }

    /// Sets the diagnostics of later events.
    func set(_ diagnostics: Diagnostics) { live.engine.ambientDiagnostics = diagnostics }

    // MARK: Output

    /// Passes the engine's actions to the journal and the log.
    func deliver() {
        guard !live.actions.isEmpty else { return }
        journal.append(live.actions, evidence: &recorder)
        for action in live.actions.actions {
            log(action)
            display?.show(action)
        }
        live.actions.removeAll()
    }

    /// Writes the lines of this turn to the disk. The records change only after that (rule N3).
    func commit(at now: Instant) {
        deliver()
        journal.commit(at: now)
    }

    /// Logs an error of the journal if it is new or has ended.
    ///
    /// - Returns: whether there was such a change.
    func logFailureChange() -> Bool {
        guard journal.failure != loggedFailure else { return false }
        loggedFailure = journal.failure
        if let loggedFailure {
            log(
                .linesNotStored,
                "\(loggedFailure); monitoring continues, and lines \(journal.linesWait ? "wait in memory" : "are written")"
            )
        } else {
            log(.linesStoredAgain, "lines and records are stored again")
        }
        return true
    }

    /// Logs the remarks of the journal, and once each condition whose UUID is received with its bytes in reverse order.
    func logRemarks() {
        let found = live.engine.reversedUUIDs
        if found != loggedReversed {
            for reversed in found where !loggedReversed.contains(reversed) {
                log(.uuidReversed, "\(reversed.summary); \(reversed.remedy)")
            }
            loggedReversed = found
        }
        for remark in journal.drainRemarks() { log(.eventFilesChanged, remark) }
    }

    /// Stores the state of the engine on the disk.
    func keepSnapshot(at now: Instant) { journal.keep(live.engine.snapshot, at: now) }

    private func log(_ action: Action) {
        switch action {
        case .adapter(let change):
            let reason = change.reason.map { ": \($0)" } ?? ""
            log(
                change.state == .listening ? .adapterScans : .adapterNotScanning,
                "\(change.adapter) is \(change.state)\(reason)")
        case .trackingLimitExceeded(let identifier, .held):
            log(
                .beaconsDoNotFit,
                "not all beacons under \(identifier) are monitored, because max_beacons (\(live.engine.settings.maxBeacons)) is reached"
            )
        case .trackingLimitExceeded(let identifier, .new):
            log(
                .newBeaconsRefused,
                """
                more new beacons under \(identifier) than the limit: max_new_beacons (\(live.engine.settings.maxNewBeacons)), plus \
                one every 2 s. Name them in beacons or raise the limit; if they are forged, find their sender
                """)
        case .event(let event) where event.state == .unmonitored:
            log(.conditionNotMonitored, "\(event.identifier) is not monitored")
        case .event, .visit, .condition, .adapterNamed: break
        }
    }
}

// MARK: - Changes of the configuration

extension GatewayMonitor {
    /// Applies the differences of conditions and named beacons (rules C2, C3).
    ///
    /// - Throws: ``MonitorError`` if a bound is exceeded. Some conditions can have changed then.
    func apply(_ configuration: Configuration, at now: Instant) throws(MonitorError) {
        try live.apply(configuration.setups, naming: configuration.beacons.beacons, at: now)
    }

    /// Continues with the `ranging` lines that the configuration requests.
    func reloadRanging(_ configuration: Configuration) { ranging.reload(configuration) }

    /// Starts a new engine, for settings that an engine cannot change.
    ///
    /// It gets the states of the old engine, as after a restart (rule N4), and its adapters. If a bound is exceeded,
    /// the old engine continues.
    ///
    /// - Parameters:
    ///   - configuration: the conditions and settings.
    ///   - snapshot: the state to start from; `nil` means that of the old engine.
    ///   - adapters: the adapters that the scanners know.
    ///   - reason: why adapters that scan are reported again.
    ///   - now: the present.
    /// - Throws: ``MonitorError`` if a bound is exceeded.
    func replaceEngine(
        _ configuration: Configuration, from snapshot: MonitorSnapshot?, _ adapters: [ScanStatus.Adapter],
        because reason: String, at now: Instant
    ) throws(MonitorError) {
        advance(to: now)
        deliver()
        var replacement = LiveMonitor(
            engine: MonitorEngine(settings: configuration.liveEngineSettings, start: now, clockOffset: clock.offset))
        replacement.engine.ambientDiagnostics = live.engine.ambientDiagnostics
        try replacement.begin(
            configuration.setups, naming: configuration.beacons.beacons, from: snapshot ?? live.engine.snapshot, at: now
        )
        live.takeOver(replacement)
        live.restart(adapters, because: reason, at: now)
        deliver()
    }

    /// Stops the adapters before the scanners restart. If an adapter is no longer selected, it holds no beacon (rule
    /// L3).
    func stop(_ adapters: [ScanStatus.Adapter], keeping selection: AdapterSelection, at now: Instant) {
        for adapter in adapters where adapter.activity != .absent {
            if selection.includes(adapter.number, address: adapter.address) {
                live.stopped(adapter.number, since: now, reason: "the configuration was reloaded", at: now)
            } else {
                live.removed(adapter.number, reason: "it is no longer in the configuration", at: now)
            }
        }
    }

    /// Forgets a beacon: its state, its evidence and its lines.
    ///
    /// - Parameters:
    ///   - request: the beacon and the date limit.
    ///   - configuration: the conditions and settings.
    ///   - adapters: the adapters that the scanners know.
    ///   - now: the present.
    /// - Returns: the answer to the request.
    func forget(
        _ request: ErasureRequest, _ configuration: Configuration, _ adapters: [ScanStatus.Adapter], at now: Instant
    ) -> ErasureOrder {
        advance(to: now)
        deliver()
        var snapshot = live.engine.snapshot
        let refreshed = snapshot.forget(request, offset: live.engine.clockOffset)
        if snapshot != live.engine.snapshot {
            do throws(MonitorError) {
                try replaceEngine(configuration, from: snapshot, adapters, because: "a beacon was forgotten", at: now)
            } catch {
                return .refused("the state can't be transferred: \(error)")
            }
        }
        recorder.forget(request.beacon)
        ranging.forgetAll(configuration)
        guard let last = journal.forget(request, live.engine.snapshot, refreshed: refreshed, at: now) else {
            return .refused(journal.failure ?? "lines wait in memory")
        }
        return .done(upTo: last)
    }
}

extension Configuration {
    /// The monitors and conditions for the engine.
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
    /// Creates the options from the section `output`. With a broker, segments wait until they are published, unless all
    /// files together would become larger than `retain_size`.
    init(_ output: OutputConfiguration, gateway: Identifier, mqtt: MQTTConfiguration?) {
        self.init(
            directory: FilePath(output.directory), stateDirectory: FilePath(output.stateDirectory), gateway: gateway)
        if let mqtt {
            prefix = mqtt.prefix
            waitsForPublishing = true
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
