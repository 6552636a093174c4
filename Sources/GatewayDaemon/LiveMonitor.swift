import BeaconMonitoring
import BeaconScanning
import BluetoothLE

/// The engine while it is driven by scanners: what they tell goes in by the kernel's numbers of the adapters.
struct LiveMonitor: ReportHandler {
    var engine: MonitorEngine
    var actions = ActionBuffer()
    /// The adapters that the engine knows, by their numbers; few, and looked up for each report.
    private(set) var adapters: [(number: Int, id: AdapterID)] = []
    /// The controllers' addresses, by the numbers that they have now (rule L7).
    private var addresses: [Int: DeviceAddress] = [:]
    /// How many namings of adapters the journal has been told of; −1: it has been told none.
    var toldNamings = -1
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

    /// The ID of an adapter, made known where it is new.
    mutating func id(of number: Int) -> AdapterID? {
        if let entry = adapters.first(where: { $0.number == number }) { return entry.id }
        guard
            let id = try? engine.adapter(
                named: ScanSupervisor.Options.adapterName(of: number), address: addresses[number])
        else {
            return nil
        }
        adapters.append((number, id))
        return id
    }

    /// A controller is there under that number: it may be another than the last one, or one that had another number.
    mutating func appeared(_ number: Int, _ address: DeviceAddress?, at time: Instant) {
        advance(to: time)
        let former = adapters.first { $0.number == number }?.id
        addresses[number] = address
        adapters.removeAll { $0.number == number }
        guard let id = id(of: number), let former, former != id, !adapters.contains(where: { $0.id == former }) else {
            return
        }
        let change = ListeningChange(
            .stopped(since: nil), adapter: former,
            reason: "\(ScanSupervisor.Options.adapterName(of: number)) is another controller")
        engine.listening(change, at: time, into: &actions)
    }

    /// No controller has that number any more.
    mutating func disappeared(_ number: Int) {
        engine.adapterLeft(named: ScanSupervisor.Options.adapterName(of: number))
        adapters.removeAll { $0.number == number }
        addresses[number] = nil
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
        adapters = []
        toldNamings = -1
    }

    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
        reports &+= 1
        guard let adapter, let time, let id = id(of: adapter) else {
            reportsOfOthers &+= 1
            return
        }
        engine.heard(id, at: time, into: &actions)
    }

    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
        sightings &+= 1
        guard let adapter, let time, let id = id(of: adapter) else { return }
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

    /// An adapter began to listen.
    mutating func started(_ number: Int, reason: String, at time: Instant) {
        // It goes by its name again: where its address is another's too, that shows here.
        adapters.removeAll { $0.number == number }
        change(.started, number, reason, at: time)
    }

    /// An adapter stopped at `since`.
    mutating func stopped(_ number: Int, since: Instant, reason: String, at time: Instant) {
        change(.stopped(since: since), number, reason, at: time)
        engine.adapterLeft(named: ScanSupervisor.Options.adapterName(of: number))
    }

    /// An adapter was taken out of the configuration.
    mutating func removed(_ number: Int, reason: String, at time: Instant) {
        change(.removed, number, reason, at: time)
        disappeared(number)
    }

    private mutating func change(_ kind: ListeningChange.Kind, _ number: Int, _ reason: String, at time: Instant) {
        guard let id = id(of: number) else { return }
        engine.listening(ListeningChange(kind, adapter: id, reason: reason), at: time, into: &actions)
    }
}
