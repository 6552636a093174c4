import BeaconMonitoring
import BluetoothLE

/// What is known of one subject at present: what its retained topic says.
struct SubjectPresence: Sendable, Hashable {
    /// Its state.
    var state: BeaconMonitor.Event.State
    /// Since when; absent where no line told.
    var date: WallDate?
    /// The line that made it so; absent where no line did.
    var sequence: Int?
    /// Whether nothing was heard that made it so: the configuration says to assume it (rule C1).
    var isAssumed = false
    /// The beacon that a condition was satisfied by; in a beacon's own the beacon.
    var refinement: BeaconIdentity?
    /// The last refresh; absent where there was none.
    var lastSeen: WallDate?
    /// The flags that held then.
    var diagnostics: Diagnostics = []

    /// The same subject, of which it is not known any more what it is.
    func doubted(since date: WallDate, sequence: Int, isBeacon: Bool) -> SubjectPresence {
        SubjectPresence(
            state: .unknown, date: date, sequence: sequence, refinement: isBeacon ? refinement : nil,
            lastSeen: lastSeen)
    }
}

/// A condition with the beacons under it.
struct ConditionPresence: Sendable, Hashable {
    /// The monitor that it belongs to.
    var monitor: String
    /// What is monitored.
    var condition: Condition
    /// Its own presence.
    var own: SubjectPresence
    /// The beacons that have events of their own and are not `unsatisfied` (rule P1).
    var beacons: [BeaconIdentity: SubjectPresence] = [:]
    /// Those that have left and have a tracker still; none where nobody asked for trackers.
    var away: [BeaconIdentity: SubjectPresence] = [:]
}
