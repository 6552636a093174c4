public import BaseTypes
public import BluetoothLE

// Which beacons have names, and what those without are (rule P4).
extension MonitorEngine {
    /// Says which beacons have names from now on (rule P4); which names those are is nobody's business here.
    ///
    /// A beacon without one loses its subject under each condition whose settings ignore or refuse it: its visit ends
    /// (`removed`).
    ///
    /// - Parameters:
    ///   - beacons: all that have a name.
    ///   - time: when, on the timeline.
    ///   - actions: where the visits go that end.
    public mutating func name(
        _ beacons: Set<BeaconIdentity>, at time: Instant, into actions: inout ActionBuffer
    ) {
        enter(time, into: &actions)
        setNames(beacons)
        removeStrangers(into: &actions)
        handleDueNow(into: &actions)
    }

    /// Forgets the beacons without a name under all conditions that do not track them.
    mutating func removeStrangers(into actions: inout ActionBuffer) {
        let concerned = conditions.all.filter { conditions[$0].beacons > 0 }
        for condition in concerned.sorted(by: { conditions.precedes($0, $1) }) {
            removeStrangers(from: condition, into: &actions)
        }
    }

    /// Forgets the beacons without a name under a condition that does not track them; their visits end.
    mutating func removeStrangers(from condition: ConditionIndex, into actions: inout ActionBuffer) {
        guard conditions[condition].settings.strangers != .track else { return }
        for subject in beacons(of: condition) where !subjects[subject].isNamed {
            if subjects[subject].isVisited { endVisit(subject, reason: .removed, into: &actions) }
            forgetBeacon(subject)
        }
    }
}
