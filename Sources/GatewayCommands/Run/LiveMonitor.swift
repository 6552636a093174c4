import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BeaconScanning
import BluetoothLE

/// The engine while it is driven by scanners: what they tell goes in by the kernel's numbers of the adapters.
struct LiveMonitor: ReportHandler {
    var engine: MonitorEngine
    var actions = ActionBuffer()
    /// The adapters that the engine knows, by their numbers.
    private var adapters = LiveAdapters()
    /// How many reports and iBeacons were heard.
    private(set) var reports = 0
    private(set) var sightings = 0
    /// How many fixes came.
    private(set) var fixes = 0
    /// The reports of adapters that the engine has no place for.
    private(set) var reportsOfOthers = 0
    /// What the engines before this one had counted.
    private var formerCounters = EngineCounters()
    /// What was counted of inputs and beacons that found no place, since the start.
    var counters: EngineCounters { formerCounters + EngineCounters(engine) }
    /// The iBeacons of the reports since this was emptied, for what remembers them: who left before one of them was heard
    /// is explained without it.
    var latest: [(frame: BeaconFrame, adapter: AdapterID, time: Instant)] = []

    init(engine: MonitorEngine) { self.engine = engine }

    /// Something became of an adapter.
    mutating func changed(_ change: ScanChange, at time: Instant) {
        adapters.changed(change, at: time, in: &engine, into: &actions)
    }

    /// Handles what is due at or before `time`.
    mutating func advance(to time: Instant) { engine.advance(to: max(time, engine.now), into: &actions) }

    /// Starts the engine on what survived (rule N4).
    mutating func begin(
        _ setups: [MonitorSetup], naming names: Set<BeaconIdentity> = [], from snapshot: MonitorSnapshot?,
        at time: Instant
    ) throws(MonitorError) {
        try engine.begin(setups, naming: names, from: snapshot, at: time, into: &actions)
    }

    /// Makes the conditions those of `setups` (rules C2, C3), and the beacons that have names those of `names` (rule P4).
    mutating func apply(
        _ setups: [MonitorSetup], naming names: Set<BeaconIdentity>, at time: Instant
    ) throws(MonitorError) {
        try engine.apply(setups, naming: names, at: time, into: &actions)
    }

    /// Goes on with another engine, which has begun; what is counted stays.
    mutating func takeOver(_ other: LiveMonitor) {
        formerCounters = counters
        engine = other.engine
        actions = other.actions
        adapters.forgetAll()
    }

    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
        reports &+= 1
        guard let adapter, let time, let id = adapters.id(of: adapter, at: time, in: &engine, into: &actions) else {
            reportsOfOthers &+= 1
            return
        }
        engine.heard(id, at: time, into: &actions)
    }

    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
        sightings &+= 1
        guard let adapter, let time, let id = adapters.id(of: adapter, at: time, in: &engine, into: &actions)
        else { return }
        let frame = BeaconFrame(beacon, in: report)
        engine.sighted(frame, by: id, into: &actions)
        latest.append((frame, id, time))
    }

    /// The location source gave a fix.
    mutating func located(_ fix: LocationFix) {
        fixes &+= 1
        engine.located(fix, into: &actions)
    }

    /// The location source gives no fix since then.
    mutating func lostLocation(since: Instant, reason: String, at time: Instant) {
        guard let source = engine.locationSource else { return }
        engine.listening(
            ListeningChange(.stopped(since: since), adapter: source, reason: reason), at: time, into: &actions)
    }

    /// An adapter is there for a new engine, too.
    mutating func appeared(_ number: Int, _ address: DeviceAddress?, at time: Instant) {
        adapters.appeared(number, address, at: time, in: &engine, into: &actions)
    }

    /// An adapter listens by a new engine, too.
    mutating func started(_ number: Int, reason: String, at time: Instant) {
        adapters.started(number, reason: reason, at: time, in: &engine, into: &actions)
    }

    /// An adapter stopped at `since`.
    mutating func stopped(_ number: Int, since: Instant, reason: String, at time: Instant) {
        adapters.stopped(number, since: since, reason: reason, at: time, in: &engine, into: &actions)
    }

    /// An adapter was taken out of the configuration.
    mutating func removed(_ number: Int, reason: String, at time: Instant) {
        adapters.removed(number, reason: reason, at: time, in: &engine, into: &actions)
    }
}
