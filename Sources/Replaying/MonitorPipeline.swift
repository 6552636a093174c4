import BaseTypes
import BeaconMonitoring
import BluetoothLE
import Captures
import CommandSupport
import EventLog
import GatewayConfiguration

/// Passes the reports of a replay to the engine, and the actions of the engine to the lines.
struct MonitorPipeline: ReplayHandler, ~Copyable {
    /// The maximum number of UUIDs that become conditions without a configuration.
    static let conditionsMadeMax = 1000

    private var engine: MonitorEngine
    private var actions = ActionBuffer()
    private var lines: ReplayLines
    private var hasStarted = false

    /// The adapters of each source, by their index in its table. The adapters of the selected source are in `current`
    /// meanwhile.
    private var adaptersBySource: [[AdapterID?]]
    /// The adapters of each source that have had a record.
    private var adapters: [[AdapterID]]
    private var selected = 0
    private var current: [AdapterID?] = []
    /// The controllers with each name (rules L4, L7).
    private var controllers = ReplayControllers()
    /// The adapter of the present record, after the engine has received its report.
    private var reportedAdapter: Int?
    /// For each adapter, by its index in the engine's table: the number of sources that have a record of it and have
    /// not ended (rule L4).
    private var open: [UInt16: Int] = [:]
    /// The adapters whose last source has ended, and the time of the end. They stop when a later record follows.
    private var ending: [(adapter: AdapterID, time: Instant)] = []

    private let configuration: Configuration?
    /// Whether each new UUID becomes a condition, because there is no configuration.
    private let makesConditions: Bool
    private let monitor: Identifier
    /// The time of the last record, after all records were handled; `nil` if there was none.
    private var lastRecord: Instant?
    /// The UUIDs that became conditions, if there is no configuration.
    private var made: Set<ProximityUUID> = []

    private(set) var statistics = ReplayStatistics()
    private let countsGaps: Bool
    private let keepsEvidence: Bool
    /// The beacons in view, for the conditions with ranging; `nil` if no condition has it.
    private var ranging: RangingLines?

    /// Creates a pipeline.
    ///
    /// - Throws: ``ExitFailure`` if the folder for the lines cannot be used.
    init(_ options: ReplayOptions, locationSource: String? = nil) throws(ExitFailure) {
        let names = try Self.names(options)
        lines = try ReplayLines(gateway: names.gateway, options)
        configuration = options.configuration
        makesConditions = options.configuration == nil
        monitor = names.monitor
        var settings = configuration?.engine.settings(deafAfterUnlessSet: nil) ?? EngineSettings()
        settings.locationSource = locationSource
        engine = MonitorEngine(settings: settings, start: .earliest)
        adaptersBySource = Array(repeating: [], count: options.inputs.count)
        adapters = Array(repeating: [], count: options.inputs.count)
        controllers = ReplayControllers(sources: options.inputs.count)
        countsGaps = options.writesStatistics
        ranging = configuration.flatMap { RangingLines($0) }
        keepsEvidence = options.writesEvidence
        if countsGaps { statistics.gaps = GapTable() }
    }

    private static func names(
        _ options: ReplayOptions
    ) throws(ExitFailure) -> (gateway: Identifier, monitor: Identifier) {
        do {
            return (try options.configuration?.gatewayName ?? Identifier("replay"), try Identifier("site"))
        } catch {
            throw ExitFailure(.failed, "\(error)")
        }
    }

    var sightings: Int { statistics.sightings }

    mutating func select(source: Int) {
        adaptersBySource[selected] = current
        selected = source
        current = adaptersBySource[source]
    }

    mutating func addAdapter(_ adapter: ReplayAdapter, time: Instant?) throws(ExitFailure) {
        while current.count <= adapter.index { current.append(nil) }
        guard let time else { return }
        do {
            let id = try controllers.add(adapter, source: selected, at: time, in: &engine, into: &actions)
            current[adapter.index] = id
            if !adapters[selected].contains(id) {
                adapters[selected].append(id)
                open[id.index, default: 0] += 1
            }
            if let index = ending.firstIndex(where: { $0.adapter == id }) { ending.remove(at: index) }
        } catch {
            // The engine has reached its maximum number of adapters. The reports of this one are counted and not used.
            statistics.malformations.count(.adaptersTooMany)
        }
    }

    func knowsAddresses(besides name: String) -> Bool { controllers.knowsAddresses(besides: name) }

    @inline(__always)
    mutating func advance(to time: Instant) throws(ExitFailure) {
        if !hasStarted { try start(at: time) }
        reportedAdapter = nil
        if !ending.isEmpty { stopEnded(before: time) }
        if ranging != nil { try range(until: time) }
        engine.advance(to: time, into: &actions)
    }

    /// Starts the monitor at the time of the first record, and adds the conditions.
    @inline(never)
    private mutating func start(at time: Instant) throws(ExitFailure) {
        hasStarted = true
        engine = MonitorEngine(settings: engine.settings, start: time)
        do {
            guard let configuration else { return try engine.addMonitor(monitor) }
            engine.name(configuration.beacons.beacons, at: time, into: &actions)
            for monitor in configuration.monitors {
                try engine.addMonitor(monitor.name, settings: monitor.settings)
                for condition in monitor.conditions {
                    try engine.add(
                        condition.condition, identifier: condition.identifier, monitor: monitor.name,
                        assuming: condition.assuming, settings: condition.settings, at: time, into: &actions)
                    // Many conditions give many lines, so the lines of each condition are written without waiting for
                    // the others.
                    try deliver(isUrgent: false)
                }
            }
        } catch let error as ExitFailure {
            throw error
        } catch {
            throw ExitFailure(.configurationInvalid, "\(error)")
        }
    }

    mutating func listening(_ isListening: Bool, adapter: Int, time: Instant, since: Instant?) {
        guard let id = adapter < current.count ? current[adapter] : nil else { return }
        reportedAdapter = nil
        controllers.mark(
            isListening, since: since, adapter, id, source: selected, at: time, in: &engine, into: &actions)
    }

    @inline(__always)
    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
        statistics.reports &+= 1
        // All reports of a record have the same time, so one notification of the engine is enough.
        if reportedAdapter != adapter { receive(adapter, at: time) }
    }

    @inline(never)
    private mutating func receive(_ adapter: Int?, at time: Instant?) {
        guard let time, let adapter, adapter < current.count, let id = current[adapter] else { return }
        reportedAdapter = adapter
        engine.received(by: id, at: time, into: &actions)
    }

    @inline(__always)
    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
        statistics.sightings &+= 1
        if countsGaps { noteGap(beacon.identity, at: time) }
        guard let time, let adapter, adapter < current.count, let id = current[adapter] else { return }
        if makesConditions { makeCondition(beacon.identity.uuid, at: time) }
        if keepsEvidence { noteEvidence(beacon.identity, by: id, report.rssi, at: time) }
        let frame = BeaconFrame(beacon, in: report)
        engine.sighted(frame, by: id, into: &actions)
        if ranging != nil { ranging?.sighted(frame, at: time) }
    }

    /// Writes the beacons in view for each second that ends at or before `time`, after the events of the engine up to
    /// that second.
    @inline(never)
    private mutating func range(until time: Instant) throws(ExitFailure) {
        while let due = ranging?.nextDeadline, due <= time {
            engine.advance(to: max(due, engine.now), into: &actions)
            try deliver(isUrgent: false)
            guard var seconds = ranging.take() else { return }
            var reported: [(Ranging, RangingLines.Name)] = []
            seconds.report(at: due, clockOffset: engine.clockOffset) { reported.append(($0, $1)) }
            ranging = consume seconds
            try lines.write(reported, at: engine.now)
        }
    }

    /// Batches are not possible before the first record, or while an adapter waits to stop, because the time of each
    /// record must be handled. They are not possible with evidence or ranging either, because those lines are written
    /// between sightings.
    var wantsBatches: Bool { hasStarted && ending.isEmpty && !keepsEvidence && ranging == nil }

    mutating func received(_ batch: borrowing FrameBatch) {
        statistics.reports &+= batch.counts.reports
        statistics.sightings &+= batch.counts.beacons
        if countsGaps { noteGaps(batch) }
        if makesConditions, hasNewUUID(batch) {
            receiveEach(batch)
        } else {
            engine.received(batch, of: current, into: &actions)
        }
        reportedAdapter = nil
    }

    private func hasNewUUID(_ batch: borrowing FrameBatch) -> Bool {
        for index in 0..<batch.counts.entries where batch.entries[index].kind.isBeacon {
            if !made.contains(batch.entries[index].frame.uuid) { return true }
        }
        return false
    }

    /// Passes the entries one by one, so that each condition is added after the entries that precede its first beacon.
    private mutating func receiveEach(_ batch: borrowing FrameBatch) {
        for index in 0..<batch.counts.entries {
            let entry = batch.entries[index]
            if entry.kind.isFirst { engine.advance(to: entry.time, into: &actions) }
            let adapter = Int(entry.adapter)
            guard adapter < current.count, let id = current[adapter] else { continue }
            if entry.kind.hasReports { engine.received(by: id, at: entry.time, into: &actions) }
            guard entry.kind.isBeacon else { continue }
            makeCondition(entry.frame.uuid, at: entry.time)
            engine.sighted(entry.frame, by: id, into: &actions)
        }
    }

    private mutating func noteGaps(_ batch: borrowing FrameBatch) {
        for index in 0..<batch.counts.entries where batch.entries[index].kind.isBeacon {
            let entry = batch.entries[index]
            noteGap(entry.frame.beacon.identity, at: entry.time)
        }
    }

    @inline(never)
    private mutating func noteGap(_ beacon: BeaconIdentity, at time: Instant?) {
        statistics.gaps?.note(beacon, at: time)
    }

    @inline(never)
    private mutating func noteEvidence(
        _ beacon: BeaconIdentity, by adapter: AdapterID, _ rssi: RSSI?, at time: Instant
    ) {
        lines.noteEvidence(beacon, by: adapter, rssi, at: max(time, engine.now))
    }

    /// Adds a condition for a UUID at its first sighting, if there is no configuration.
    @inline(never)
    private mutating func makeCondition(_ uuid: ProximityUUID, at time: Instant) {
        guard !made.contains(uuid) else { return }
        guard made.count < Self.conditionsMadeMax else {
            statistics.unmonitored += 1
            return
        }
        made.insert(uuid)
        var settings = ConditionSettings()
        settings.perBeacon = true
        do {
            try engine.add(
                .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid)), identifier: Identifier(uuid.description),
                monitor: monitor, settings: settings, at: time, into: &actions)
        } catch {
            // This cannot happen: the text of a UUID is a valid identifier, and no other condition has it.
            statistics.unmonitored += 1
        }
    }

    mutating func meetLocation(time: Instant) {
        guard let id = engine.locationSource else { return }
        current = [id]
        adapters[selected] = [id]
        open[id.index, default: 0] += 1
        if let index = ending.firstIndex(where: { $0.adapter == id }) { ending.remove(at: index) }
        engine.listening(ListeningChange(.started, adapter: id, reason: "first record"), at: time, into: &actions)
    }

    mutating func located(_ fix: LocationFix) { engine.located(fix, into: &actions) }

    mutating func lostLocation(at time: Instant) {
        guard let id = engine.locationSource else { return }
        let change = ListeningChange(.stopped(since: nil), adapter: id, reason: "marked in the capture")
        engine.listening(change, at: time, into: &actions)
    }

    mutating func end(at time: Instant) {
        for id in adapters[selected] {
            open[id.index, default: 1] -= 1
            guard open[id.index] == 0 else { continue }
            ending.append((id, time))
            controllers.ended(id, in: &engine)
        }
        adapters[selected] = []
        current = []
    }

    /// Stops the adapters whose last source has ended before `time`, the time of a later record (rule L4).
    private mutating func stopEnded(before time: Instant) {
        while let index = ending.firstIndex(where: { $0.time < time }) {
            let (adapter, end) = ending.remove(at: index)
            engine.listening(
                ListeningChange(.stopped(since: nil), adapter: adapter, reason: "last record"),
                at: max(end, engine.now),
                into: &actions)
        }
    }

    @inline(__always)
    mutating func deliver(isUrgent: Bool) throws(ExitFailure) {
        guard !actions.isEmpty || isUrgent else { return }
        try write(isUrgent: isUrgent)
    }

    @inline(never)
    private mutating func write(isUrgent: Bool) throws(ExitFailure) {
        for action in actions.actions { if case .event = action { statistics.events &+= 1 } }
        try lines.write(actions, of: engine, counted: statistics, isUrgent: isUrgent)
        actions.removeAll()
    }

    var nextDeadline: Instant? {
        guard let second = ranging?.nextDeadline else { return engine.nextDeadline }
        return engine.nextDeadline.map { min($0, second) } ?? second
    }

    mutating func finish(settles: Bool) throws(ExitFailure) {
        if hasStarted { lastRecord = engine.now }
        if settles, hasStarted {
            try deliver(isUrgent: false)
            engine.silenceMeansNotScanning = false
            while let deadline = nextDeadline {
                if ranging != nil { try range(until: deadline) }
                engine.advance(to: deadline, into: &actions)
                try deliver(isUrgent: false)
                // This is the end of the timeline, so nothing after it can become due.
                if deadline == .latest { break }
            }
        }
        statistics.untracked = engine.untrackedBeacons
        statistics.displaced = engine.displacedBeacons
        statistics.refused = engine.refusedBeacons
        statistics.reversedUUIDs = engine.reversedUUIDs
        try deliver(isUrgent: true)
        if let lastRecord { try lines.reportLife(at: lastRecord) }
    }
}
