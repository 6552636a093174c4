import BaseTypes
import BluetoothLE

@testable import BeaconMonitoring

/// A second implementation of the rules, as simple as possible, to compare the engine with.
///
/// It uses arrays, searches them completely, and does not store anything that it can compute: it checks every adapter
/// and every subject to find the next deadline. It consists of classes, because it is never copied.
final class ReferenceMonitor: Monitoring {
    var clockOffset: ClockOffset
    var ambientDiagnostics: Diagnostics = []
    var silenceMeansNotScanning = true
    var now: Instant
    var lateInputs = 0
    var untrackedBeacons = 0
    var displacedBeacons = 0
    var refusedBeacons = 0
    /// The beacons that have a name (rule P4).
    var named: Set<BeaconIdentity> = []
    /// The tokens of rule P5 that are left.
    var tokens: Int
    var nextToken: Instant
    var lastRefusal: Instant?
    /// The number of refreshes so far.
    var refreshes = 0

    let settings: EngineSettings
    /// The adapter of all circles (rule G3).
    let source: Adapter?
    /// When the location source stopped; the start of the model if the source has never been available.
    var sourceStopped: Instant
    /// The conditions with a place, while a restart assigns places (rule C4).
    var decidedPlaces: Set<Identifier>?
    var monitors: [Monitor] = []
    /// The adapters, ordered by name.
    var adapters: [Adapter] = []
    /// The addresses that two controllers had at the same time, each with its gateway (rule L7).
    var sharedAddresses: Set<String> = []
    /// The conditions in the order of places (rule C4).
    var entries: [Entry] = []
    /// The conditions in the order of rule T3.
    var entriesByIdentifier: [Entry] = []
    /// How long at least one adapter has scanned: the clock of shared holds.
    var togetherClock = Clock()
    /// The latest time at which an adapter stopped, as rule L2 counts it.
    var watermark: Instant
    /// The actions that the present input has caused so far.
    var made = ActionBuffer()
    /// The names of the adapters in the actions so far.
    var reportedNames: [AdapterID: String] = [:]

    init(settings: EngineSettings, start: Instant, clockOffset: ClockOffset) {
        self.settings = settings
        self.clockOffset = clockOffset
        now = start
        tokens = settings.maxNewBeacons
        nextToken = start + .seconds(2)
        watermark = start
        sourceStopped = start
        source = settings.locationSource.map { Adapter(id: AdapterID(index: 1), name: $0) }
        if let source { adapters = [source] }
    }

    func addMonitor(_ name: Identifier, settings: MonitorSettings) throws(MonitorError) {
        guard !monitors.contains(where: { $0.name == name }) else { throw .nameTaken(name.text) }
        monitors.append(Monitor(name: name, settings: settings))
    }

    func state(of identifier: Identifier) -> BeaconMonitor.Event.State? {
        entries.first { $0.identifier == identifier }?.own.state
    }

    // MARK: Inputs

    func advance(to time: Instant, into actions: inout ActionBuffer) {
        input(at: time, into: &actions) {}
    }

    func received(by adapter: AdapterID, at time: Instant, into actions: inout ActionBuffer) {
        input(at: time, into: &actions) { report(from: self[adapter]) }
    }

    func sighted(_ sighting: Sighting, into actions: inout ActionBuffer) {
        input(at: sighting.time, into: &actions) {
            report(from: self[sighting.adapter])
            var sighting = sighting
            sighting.time = now
            perceive(sighting)
        }
    }

    func listening(_ change: ListeningChange, at time: Instant, into actions: inout ActionBuffer) {
        input(at: time, into: &actions) {
            let adapter = self[change.adapter]
            switch change.kind {
            case .started: starts(adapter, reason: change.reason)
            case .stopped(let since): isOff(adapter, since: since, reason: change.reason)
            case .removed: isGone(adapter, reason: change.reason)
            }
        }
    }

    /// Handles what all inputs have in common: the time, the deadlines before the input (rules T2, T3), and the
    /// deadlines that the input makes due at once.
    func input(at time: Instant, into actions: inout ActionBuffer, _ body: () -> Void) {
        if time < now { lateInputs += 1 }
        let time = max(time, now)
        handleDue(until: time)
        now = time
        returnTokens()
        body()
        handleDue(until: time)
        for action in made.actions { actions.append(action) }
        made.removeAll()
    }

    // MARK: Parts

    struct Monitor {
        let name: Identifier
        let settings: MonitorSettings
    }

    /// A clock that runs while an adapter scans.
    struct Clock {
        /// The sum of the earlier stretches, in nanoseconds.
        var past: Int64 = 0
        /// The start of the present stretch; `nil` if the clock does not run.
        var runsSince: Instant?

        func value(at now: Instant) -> Int64 {
            guard let runsSince else { return past }
            return past + (now.nanoseconds - runsSince.nanoseconds)
        }

        mutating func run(_ runs: Bool, at now: Instant) {
            past = value(at: now)
            runsSince = runs ? now : nil
        }
    }

    final class Adapter {
        let id: AdapterID
        /// The name in lines.
        var name: String
        /// The address of the controller; `nil` if it has none of its own.
        var address: DeviceAddress?
        /// The present name, or the last one if ``isPresent`` is `false` (rule L7).
        var presentName: String
        var isPresent = false
        /// Whether only its name in lines from before a restart is known.
        var isRestored = false
        /// The state in its last adapter action; `nil` before the first.
        var state: AdapterChange.State?
        /// The time of its last report, or of its start if that is later.
        var lastSign: Instant = .earliest
        /// When it stopped, for rules L2 and L3; `nil` while it scans, and if it has never scanned.
        var stopped: Instant?
        /// When it really stopped, if a restart has moved ``stopped`` (rule N4).
        var stoppedInFact: Instant?
        /// Whether only its name is remembered over a restart: it holds nothing, and it has not been identified again.
        var isOnlyRemembered = false
        var clock = Clock()

        init(id: AdapterID, name: String) {
            self.id = id
            self.name = name
            presentName = name
        }

        var listens: Bool { state == .listening }
    }

    /// A condition of a monitor.
    final class Entry {
        let identifier: Identifier
        let monitor: Monitor
        var condition: Condition
        var settings: ConditionSettings
        var own = Subject(beacon: nil)
        /// The beacons in order.
        var beacons: [Subject] = []
        /// Whether P2 was raised for the condition in this episode.
        var limitRaised = false
        /// Whether P5 was raised for the condition in this episode.
        var refusalRaised = false

        init(identifier: Identifier, monitor: Monitor, condition: Condition, settings: ConditionSettings) {
            self.identifier = identifier
            self.monitor = monitor
            self.condition = condition
            self.settings = settings
        }

    }

    final class Subject {
        /// The beacon; `nil` if the subject is the condition itself.
        let beacon: BeaconIdentity?
        var state: BeaconMonitor.Event.State = .unsatisfied
        /// Whether L2 changed it from `satisfied` to `unknown`.
        var wasSatisfied = false
        /// The holds; the one with the oldest refresh is the first.
        var holds: [Hold] = []
        /// The times of the qualifying sightings before it enters.
        var progress: [Instant] = []
        var lastRefresh: Sighting?
        /// The time of the last fix inside a circle.
        var lastInside: Instant?
        var previous: BeaconMonitor.Event.Previous?
        var visit: OpenVisit?
        /// The number of its last refresh among all refreshes.
        var refreshNumber = 0

        init(beacon: BeaconIdentity?) { self.beacon = beacon }

        /// Whether it is a pending beacon (rule P1).
        var isOnItsWayIn: Bool { beacon != nil && state == .unsatisfied }
    }

    struct Hold {
        /// The adapter; `nil` if the hold is shared.
        let adapter: Adapter?
        /// The holder's clock at the start of the hold.
        var clock: Int64
    }

    struct OpenVisit {
        var arrival: Instant?
        var departure: Instant?
        var strengths: [Int8] = []
        var sightings = 0
    }

    subscript(id: AdapterID) -> Adapter { adapters.first { $0.id == id }! }
}
