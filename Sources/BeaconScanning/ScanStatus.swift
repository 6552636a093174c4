public import BluetoothLE

/// What a supervisor knows at a moment: a value, for `status`, for `doctor` and for tests.
public struct ScanStatus: Sendable, Hashable {
    /// What an adapter is doing.
    public enum Activity: String, Sendable, Hashable {
        /// It is not there.
        case absent
        /// It is there and does not listen.
        case off
        /// It listens.
        case listening
        /// It scans, and whether it hears is not proven: it was silent, or does not hear the canary.
        case unproven
    }

    /// One adapter.
    public struct Adapter: Sendable, Hashable {
        /// The kernel's number: 0 for `hci0`.
        public let number: Int
        /// What it is, for people; empty until it appeared.
        public internal(set) var controller = ""
        /// The controller's address, where it is known (rule L7).
        public internal(set) var address: DeviceAddress?
        /// What it is doing.
        public internal(set) var activity: Activity = .absent
        /// When ``activity`` became what it is, on the timeline.
        public internal(set) var since: Instant
        /// Why it does that, in words for operators; empty before anything was tried.
        public internal(set) var reason = ""
        /// Where its watchdog stands.
        public internal(set) var watchdog: WatchdogLadder.State = .resting
        /// What its watchdog has done.
        public internal(set) var watchdogCounters = WatchdogLadder.Counters()
        /// The last step that could not be taken, and why.
        public internal(set) var lastSkipped: String?
        /// Its last report of any kind; absent before the first.
        public internal(set) var lastReport: Instant?
        /// How many reports it gave, of beacons or not, since scanning began.
        public internal(set) var reports = 0
        /// Reports that were kept back, since the canary was not heard.
        public internal(set) var withheld = 0
        /// Messages that the kernel dropped, where it told how many.
        public internal(set) var lost = 0
        /// How often messages were lost.
        public internal(set) var losses = 0
        /// The canary's last report; absent before the first, and without one.
        public internal(set) var canary: Instant?
        /// Whether its reports are thinned out.
        public internal(set) var isThinned = false
    }

    /// One way of hearing, and how it stands.
    public struct Way: Sendable, Hashable {
        /// The interface that this way hears by.
        public let backend: ScannerBackend
        /// Whether it is in use, stands by, or was closed and why: in words for operators.
        public let standing: String
        /// Whether it is begun.
        public let isOpen: Bool
        /// Whether this process has not the right to it, which does not come back.
        public let isDenied: Bool

        /// The standing of one way, as a supervisor composes it.
        public init(backend: ScannerBackend, standing: String, isOpen: Bool, isDenied: Bool) {
            self.backend = backend
            self.standing = standing
            self.isOpen = isOpen
            self.isDenied = isDenied
        }
    }

    /// The way that is in use; absent while none is open.
    public internal(set) var backend: ScannerBackend?
    /// Why that one.
    public internal(set) var reason = ""
    /// Since when.
    public internal(set) var since: Instant
    /// All ways that may be used, the best first.
    public internal(set) var ways: [Way] = []
    /// What stands in the way.
    public internal(set) var obstacles: Set<ScanObstacle> = []
    /// The adapters that there are and were, by number; at most ``ScanSupervisor/adaptersMax``.
    public internal(set) var adapters: [Adapter] = []
    /// Reports of adapters past that bound.
    public internal(set) var reportsOfOthers = 0
    /// Changes from one way to another.
    public internal(set) var changesOfWay = 0
    /// Beacons whose cadence is known.
    public internal(set) var followedBeacons = 0
    /// Reports of beacons past ``CadenceMeter/beaconsMax``.
    public internal(set) var unfollowedReports = 0
    /// How many beacons are heard too rarely for their exit timeouts.
    public internal(set) var exitTimeoutsTooShort = 0
    /// Suspensions of the machine.
    public internal(set) var suspensions = 0
    /// How long they were, all together.
    public internal(set) var suspended: Duration = .zero

    /// Whether an adapter listens.
    public var isListening: Bool { adapters.contains { $0.activity == .listening } }
}
