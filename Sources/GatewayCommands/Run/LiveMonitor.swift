import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BeaconScanning
import BluetoothLE

/// The engine of a live gateway. It takes the output of scanners, which name adapters by the kernel's numbers.
struct LiveMonitor: ReportHandler {
    var engine: MonitorEngine
    var actions = ActionBuffer()
    /// The adapters that the engine knows, by their numbers.
    private var adapters = LiveAdapters()
    /// The adapters of a capture, if it is used in place of them.
    private var captured = CapturedAdapters()
    /// The numbers of received reports and iBeacons.
    private(set) var reports = 0
    private(set) var sightings = 0
    /// The number of received fixes.
    private(set) var fixes = 0
    /// The number of reports of adapters for which the engine has no place.
    private(set) var reportsOfOthers = 0
    /// The counters of the engines before this one.
    private var formerCounters = EngineCounters()
    /// The counters of late inputs and of beacons without a place, since the start.
    var counters: EngineCounters { formerCounters + EngineCounters(engine) }
    /// The iBeacons that were received since this list was last emptied. The evidence recorder gets them only after the
    /// actions were delivered, so that an exit before one of them is explained without it.
    var latest: [(frame: BeaconFrame, adapter: AdapterID, time: Instant)] = []

    init(engine: MonitorEngine) { self.engine = engine }

    /// Handles a change of an adapter.
    mutating func changed(_ change: ScanChange, at time: Instant) {
        if case .capture(let change) = change {
            captured.changed(change, at: time, in: &engine, into: &actions)
        } else if captured.isUsed {
            changedInCapture(change, at: time)
        } else {
            adapters.changed(change, at: time, in: &engine, into: &actions)
        }
    }

    /// Handles a change that is not in the capture.
    private mutating func changedInCapture(_ change: ScanChange, at time: Instant) {
        switch change {
        case .listening(let number, let reason):
            captured.set(.started, number, reason, at: time, in: &engine, into: &actions)
        case .stopped(let number, let since, let reason):
            captured.set(.stopped(since: since), number, reason, at: time, in: &engine, into: &actions)
        case .appeared, .disappeared, .lost, .needs, .capture, .obstacles, .ended: break
        }
    }

    /// Returns the ID of an adapter, and adds it to the engine if it is new; `nil` if the engine has too many adapters.
    @inline(__always)
    private mutating func id(of number: Int, at time: Instant) -> AdapterID? {
        captured.isUsed ? captured.id(of: number) : adapters.id(of: number, at: time, in: &engine, into: &actions)
    }

    /// Handles everything that is due at or before `time`.
    mutating func advance(to time: Instant) { engine.advance(to: max(time, engine.now), into: &actions) }

    /// Starts the engine with the stored state (rule N4).
    mutating func begin(
        _ setups: [MonitorSetup], naming names: Set<BeaconIdentity> = [], from snapshot: MonitorSnapshot?,
        at time: Instant
    ) throws(MonitorError) {
        try engine.begin(setups, naming: names, from: snapshot, at: time, into: &actions)
    }

    /// Replaces the conditions with those of `setups` (rules C2, C3), and the named beacons with `names` (rule P4).
    mutating func apply(
        _ setups: [MonitorSetup], naming names: Set<BeaconIdentity>, at time: Instant
    ) throws(MonitorError) {
        try engine.apply(setups, naming: names, at: time, into: &actions)
    }

    /// Continues with another engine, which has started. The counters continue.
    mutating func takeOver(_ other: LiveMonitor) {
        formerCounters = counters
        captured.store(from: engine)
        engine = other.engine
        actions = other.actions
        adapters.forgetAll()
    }

    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
        reports &+= 1
        guard let adapter, let time, let id = id(of: adapter, at: time) else {
            reportsOfOthers &+= 1
            return
        }
        engine.received(by: id, at: time, into: &actions)
    }

    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
        sightings &+= 1
        guard let adapter, let time, let id = id(of: adapter, at: time) else { return }
        let frame = BeaconFrame(beacon, in: report)
        engine.sighted(frame, by: id, into: &actions)
        latest.append((frame, id, time))
    }

    /// Handles a fix of the location source.
    mutating func located(_ fix: LocationFix) {
        fixes &+= 1
        engine.located(fix, into: &actions)
    }

    /// Handles that the location source has given no fix since `since`.
    mutating func lostLocation(since: Instant, reason: String, at time: Instant) {
        guard let source = engine.locationSource else { return }
        engine.listening(
            ListeningChange(.stopped(since: since), adapter: source, reason: reason), at: time, into: &actions)
    }

    /// Adds the present adapters to a new engine.
    ///
    /// - Parameters:
    ///   - present: the adapters that the scanners know.
    ///   - reason: why those that scan are reported again.
    ///   - time: the present.
    mutating func restart(_ present: [ScanStatus.Adapter], because reason: String, at time: Instant) {
        if captured.isUsed { return captured.restart(at: time, in: &engine, into: &actions) }
        for adapter in present where adapter.activity != .absent {
            adapters.appeared(adapter.number, adapter.address, at: time, in: &engine, into: &actions)
        }
        for adapter in present where adapter.activity == .listening {
            adapters.started(adapter.number, reason: reason, at: time, in: &engine, into: &actions)
        }
    }

    /// Handles that an adapter stopped at `since`.
    mutating func stopped(_ number: Int, since: Instant, reason: String, at time: Instant) {
        adapters.stopped(number, since: since, reason: reason, at: time, in: &engine, into: &actions)
    }

    /// Handles that an adapter was removed from the configuration.
    mutating func removed(_ number: Int, reason: String, at time: Instant) {
        adapters.removed(number, reason: reason, at: time, in: &engine, into: &actions)
    }
}
