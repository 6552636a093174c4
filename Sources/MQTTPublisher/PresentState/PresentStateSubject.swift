import BeaconMonitoring
import BluetoothLE

/// The known state of one subject, as published in its retained topic.
struct SubjectPresence: Sendable, Hashable {
    /// The state.
    var state: BeaconMonitor.Event.State
    /// The date at which the state started; `nil` if no line has it.
    var date: WallDate?
    /// The sequence number of the line that led to the state; `nil` if there is no such line.
    var sequence: Int?
    /// Whether no sighting led to the state, because it is the assumption of the configuration (rule C1).
    var isAssumed = false
    /// The beacon that satisfied a condition; for a beacon, the beacon itself.
    var refinement: BeaconIdentity?
    /// The date of the last refresh; `nil` if there was none.
    var lastSeen: WallDate?
    /// The diagnostics of the event that led to the state.
    var diagnostics: Diagnostics = []

    /// Returns the same subject with the state `unknown` since `date`. For a condition, the refinement is removed.
    func doubted(since date: WallDate, sequence: Int, isBeacon: Bool) -> SubjectPresence {
        SubjectPresence(
            state: .unknown, date: date, sequence: sequence, refinement: isBeacon ? refinement : nil,
            lastSeen: lastSeen)
    }
}

/// A condition with the beacons under it.
struct ConditionPresence: Sendable, Hashable {
    /// The monitor of the condition.
    var monitor: String
    /// The condition.
    var condition: Condition
    /// The state of the condition itself.
    var own: SubjectPresence
    /// The beacons that have their own events and are not `unsatisfied` (rule P1).
    var beacons: [BeaconIdentity: SubjectPresence] = [:]
    /// The beacons that have exited and still have a tracker; empty if there are no trackers.
    var away: [BeaconIdentity: SubjectPresence] = [:]
}
