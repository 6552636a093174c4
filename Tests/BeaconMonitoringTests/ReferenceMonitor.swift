import BaseTypes
import BluetoothLE

@testable import BeaconMonitoring

/// The rules a second time, as naively as they can be written down, to compare the engine with.
///
/// Arrays, full scans, nothing remembered that can be looked up: the next thing that is due is found by asking
/// every adapter and every subject. It is a class of classes because nobody copies it.
final class ReferenceMonitor: Monitoring {
    var clockOffset: ClockOffset
    var ambientDiagnostics: Diagnostics = []
    var takesSilenceForDeafness = true
    var now: Instant
    var lateInputs = 0
    var untrackedBeacons = 0
    var displacedBeacons = 0
    var refusedBeacons = 0
    /// The beacons that have a name (rule P4).
    var named: Set<BeaconIdentity> = []
    /// Rule P5's.
    var tokens: Int
    var nextToken: Instant
    var lastRefusal: Instant?
    /// How many refreshes there have been.
    var refreshes = 0

    let settings: EngineSettings
    /// The adapter of all circles (rule G3).
    let source: Adapter?
    /// When it stopped; before it ever listened, the start.
    var sourceStopped: Instant
    /// The conditions with a place, while a restart decides on that (rule C4).
    var decidedPlaces: Set<Identifier>?
    var monitors: [Monitor] = []
    /// By name.
    var adapters: [Adapter] = []
    /// The addresses that two had at once, with their gateways (rule L7).
    var sharedAddresses: Set<String> = []
    /// In place order (rule C4).
    var entries: [Entry] = []
    /// The same in T3's order.
    var entriesByIdentifier: [Entry] = []
    /// How long at least one adapter has listened: the clock of what is held by all together.
    var togetherClock = Clock()
    /// The latest moment at which an adapter stopped, as rule L2 counts it.
    var watermark: Instant
    /// What the present input has led to.
    var made = ActionBuffer()
    /// The adapters' names in the actions so far.
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

    func heard(_ adapter: AdapterID, at time: Instant, into actions: inout ActionBuffer) {
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

    /// What every input has in common: time, what is due first (rules T2, T3), and what the input makes due at once.
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

    /// Time spent listening.
    struct Clock {
        /// What is over, in nanoseconds.
        var past: Int64 = 0
        /// Since when it runs; absent while it stands still.
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
        /// What lines call it.
        var name: String
        /// The controller's; absent where it has none that is its own.
        var address: DeviceAddress?
        /// What it goes by, or did last, and whether it still does (rule L7).
        var presentName: String
        var isPresent = false
        /// Whether nothing but what lines called it before a restart is known of its name.
        var isRestored = false
        /// What its last adapter action said; absent before the first.
        var state: AdapterChange.State?
        /// Its last report, or when it began to listen if that is later.
        var lastSign: Instant = .earliest
        /// When it stopped for rules L2 and L3; absent while it listens and where it never did.
        var stopped: Instant?
        /// When it really did, where a restart has moved that (rule N4).
        var stoppedInFact: Instant?
        /// Whether it is no more than a name in what was remembered over a restart.
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
        /// In order.
        var beacons: [Subject] = []
        /// Whether P2 was raised for it in this episode.
        var limitRaised = false
        /// Whether P5 was.
        var refusalRaised = false

        init(identifier: Identifier, monitor: Monitor, condition: Condition, settings: ConditionSettings) {
            self.identifier = identifier
            self.monitor = monitor
            self.condition = condition
            self.settings = settings
        }

    }

    final class Subject {
        /// Absent: it is the condition itself.
        let beacon: BeaconIdentity?
        var state: BeaconMonitor.Event.State = .unsatisfied
        /// Whether L2 made it unknown when it was satisfied.
        var wasSatisfied = false
        /// The least recently refreshed first.
        var holds: [Hold] = []
        /// When the qualifying sightings on the way in were.
        var progress: [Instant] = []
        var lastRefresh: Sighting?
        /// The last fix inside, of a circle.
        var lastInside: Instant?
        var previous: BeaconMonitor.Event.Previous?
        var visit: OpenVisit?
        /// Which of all refreshes its last one was.
        var refreshNumber = 0

        init(beacon: BeaconIdentity?) { self.beacon = beacon }

        /// Whether it is a beacon on its way in (rule P1).
        var isOnItsWayIn: Bool { beacon != nil && state == .unsatisfied }
    }

    struct Hold {
        /// Absent: all together.
        let adapter: Adapter?
        /// The holder's clock when the hold began.
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
