package import BaseTypes
package import BluetoothLE

/// The state of a supervisor at a point in time: a value for `status`, for `doctor` and for tests.
package struct ScanStatus: Sendable, Hashable {
    /// The activity of an adapter.
    package enum Activity: String, Sendable, Hashable {
        /// The adapter is not present.
        case absent
        /// The adapter is present and not listening.
        case off
        /// The adapter is listening.
        case listening
        /// The adapter scans, but it is not proven that it receives anything: it was silent, or it does not receive the
        /// canary.
        case unproven
    }

    /// One adapter.
    package struct Adapter: Sendable, Hashable {
        /// The kernel's number: 0 for `hci0`.
        package let number: Int
        /// The name in lines: the kernel's, unless the backend reports another one.
        package internal(set) var name = ""
        /// A description of the controller for operators; empty until it appeared.
        package internal(set) var controller = ""
        /// The controller's address, if it is known (rule L7).
        package internal(set) var address: DeviceAddress?
        /// The adapter's activity.
        package internal(set) var activity: Activity = .absent
        /// When ``activity`` changed to its present value, on the timeline.
        package internal(set) var since: Instant
        /// The reason for the activity, for operators; empty before the first attempt.
        package internal(set) var reason = ""
        /// The state of the adapter's watchdog.
        package internal(set) var watchdog: WatchdogLadder.State = .resting
        /// The steps that the adapter's watchdog has taken.
        package internal(set) var watchdogCounters = WatchdogLadder.Counters()
        /// The last step that could not be taken, with the reason.
        package internal(set) var lastSkipped: String?
        /// When the last report of any kind was received; `nil` before the first.
        package internal(set) var lastReport: Instant?
        /// The number of reports since scanning started, whether they are of beacons or not.
        package internal(set) var reports = 0
        /// The number of reports that were withheld because the canary was not received.
        package internal(set) var withheld = 0
        /// The number of messages that the kernel dropped, if it reported it.
        package internal(set) var lost = 0
        /// How many times messages were lost.
        package internal(set) var losses = 0
        /// When the canary was last received; `nil` before the first time, and without a canary.
        package internal(set) var canary: Instant?
        /// Whether the adapter's reports are thinned out: only one report of each beacon per scan.
        package internal(set) var isThinned = false
    }

    /// A backend and its state.
    package struct BackendStatus: Sendable, Hashable {
        /// The kind of the backend.
        package let backend: ScannerBackend
        /// Whether it is in use, standing by or not available, with the reason, for operators.
        package let state: String
        /// Whether its sockets are open or its calls were made: it can scan, or it waits for the machine.
        package let isOpen: Bool
        /// Whether this process has no permission to use it. This is permanent.
        package let isDenied: Bool

        /// Creates the state of a backend.
        package init(backend: ScannerBackend, state: String, isOpen: Bool, isDenied: Bool) {
            self.backend = backend
            self.state = state
            self.isOpen = isOpen
            self.isDenied = isDenied
        }
    }

    /// The backend in use; `nil` while none is open.
    package internal(set) var backend: ScannerBackend?
    /// The reason for using this backend.
    package internal(set) var reason = ""
    /// When the present or last backend was taken into use.
    package internal(set) var since: Instant
    /// All backends that can be used, the best first.
    package internal(set) var backends: [BackendStatus] = []
    /// The present obstacles to scanning.
    package internal(set) var obstacles: Set<ScanObstacle> = []
    /// The adapters, present and earlier, by number; at most ``ScanSupervisor/adaptersMax``.
    package internal(set) var adapters: [Adapter] = []
    /// The number of reports of adapters beyond that bound.
    package internal(set) var reportsOfOthers = 0
    /// The number of changes from one backend to another.
    package internal(set) var backendChanges = 0
    /// The number of beacons whose gaps between reports are measured; at most ``CadenceMeter/beaconsMax``.
    package internal(set) var followedBeacons = 0
    /// The number of reports of beacons beyond ``CadenceMeter/beaconsMax``.
    package internal(set) var unfollowedReports = 0
    /// The number of beacons that are received too rarely for their exit timeouts.
    package internal(set) var exitTimeoutsTooShort = 0
    /// The number of times the machine was suspended.
    package internal(set) var suspensions = 0
    /// The total time of suspensions.
    package internal(set) var suspended: Duration = .zero

    /// Whether at least one adapter is listening.
    package var isListening: Bool { adapters.contains { $0.activity == .listening } }
}
