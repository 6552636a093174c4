package import BaseTypes
package import BluetoothLE

/// What a supervisor knows at a moment: a value, for `status`, for `doctor` and for tests.
package struct ScanStatus: Sendable, Hashable {
    /// What an adapter is doing.
    package enum Activity: String, Sendable, Hashable {
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
    package struct Adapter: Sendable, Hashable {
        /// The kernel's number: 0 for `hci0`.
        package let number: Int
        /// What it is, for people; empty until it appeared.
        package internal(set) var controller = ""
        /// The controller's address, where it is known (rule L7).
        package internal(set) var address: DeviceAddress?
        /// What it is doing.
        package internal(set) var activity: Activity = .absent
        /// When ``activity`` became what it is, on the timeline.
        package internal(set) var since: Instant
        /// Why it does that, in words for operators; empty before anything was tried.
        package internal(set) var reason = ""
        /// Where its watchdog stands.
        package internal(set) var watchdog: WatchdogLadder.State = .resting
        /// What its watchdog has done.
        package internal(set) var watchdogCounters = WatchdogLadder.Counters()
        /// The last step that could not be taken, and why.
        package internal(set) var lastSkipped: String?
        /// Its last report of any kind; absent before the first.
        package internal(set) var lastReport: Instant?
        /// How many reports it gave, of beacons or not, since scanning began.
        package internal(set) var reports = 0
        /// Reports that were kept back, since the canary was not heard.
        package internal(set) var withheld = 0
        /// Messages that the kernel dropped, where it told how many.
        package internal(set) var lost = 0
        /// How often messages were lost.
        package internal(set) var losses = 0
        /// The canary's last report; absent before the first, and without one.
        package internal(set) var canary: Instant?
        /// Whether its reports are thinned out.
        package internal(set) var isThinned = false
    }

    /// One way of hearing, and how it stands.
    package struct Way: Sendable, Hashable {
        /// The interface that this way hears by.
        package let backend: ScannerBackend
        /// Whether it is in use, stands by, or was closed and why: in words for operators.
        package let standing: String
        /// Whether its sockets are open, or its calls were made: it may hear, or wait for the machine.
        package let isOpen: Bool
        /// Whether this process has not the right to it, which does not come back.
        package let isDenied: Bool

        /// The standing of one way, as a supervisor composes it.
        package init(backend: ScannerBackend, standing: String, isOpen: Bool, isDenied: Bool) {
            self.backend = backend
            self.standing = standing
            self.isOpen = isOpen
            self.isDenied = isDenied
        }
    }

    /// The way that is in use; absent while none is open.
    package internal(set) var backend: ScannerBackend?
    /// Why that one.
    package internal(set) var reason = ""
    /// When the way in use, or the last one that was, was taken into use.
    package internal(set) var since: Instant
    /// All ways that may be used, the best first.
    package internal(set) var ways: [Way] = []
    /// What stands in the way.
    package internal(set) var obstacles: Set<ScanObstacle> = []
    /// The adapters that there are and were, by number; at most ``ScanSupervisor/adaptersMax``.
    package internal(set) var adapters: [Adapter] = []
    /// Reports of adapters past that bound.
    package internal(set) var reportsOfOthers = 0
    /// Changes from one way to another.
    package internal(set) var changesOfWay = 0
    /// Beacons whose cadence is known.
    package internal(set) var followedBeacons = 0
    /// Reports of beacons past ``CadenceMeter/beaconsMax``.
    package internal(set) var unfollowedReports = 0
    /// How many beacons are heard too rarely for their exit timeouts.
    package internal(set) var exitTimeoutsTooShort = 0
    /// Suspensions of the machine.
    package internal(set) var suspensions = 0
    /// How long they were, all together.
    package internal(set) var suspended: Duration = .zero

    /// Whether an adapter listens.
    package var isListening: Bool { adapters.contains { $0.activity == .listening } }
}
