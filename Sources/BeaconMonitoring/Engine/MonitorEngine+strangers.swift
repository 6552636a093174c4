public import BluetoothLE
import HeapModule

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
        settleNow(into: &actions)
    }

    /// Takes names over, and leaves it to ``removeStrangers(into:)`` what follows.
    mutating func setNames(_ beacons: Set<BeaconIdentity>) {
        namedBeacons = beacons
        for subject in subjects.indices where subjects[subject].condition >= 0 && subjects[subject].isBeacon {
            subjects[subject].isNamed = beacons.contains(beacon(of: subject))
        }
        giveWayValid = false
        displaceableValid = false
    }

    /// Forgets the beacons without a name under all conditions that do not track them.
    mutating func removeStrangers(into actions: inout ActionBuffer) {
        let concerned = conditionPlaces.values.filter { conditions[Int($0)].beacons > 0 }
        for condition in concerned.sorted(by: { precedes(condition: $0, $1) }) {
            removeStrangers(from: condition, into: &actions)
        }
    }

    /// Forgets the beacons without a name under a condition that does not track them; their visits end.
    mutating func removeStrangers(from condition: Int32, into actions: inout ActionBuffer) {
        guard conditions[Int(condition)].settings.strangers != .track else { return }
        for subject in beacons(of: condition) where !subjects[subject].isNamed {
            if subjects[subject].isVisited { endVisit(subject, reason: .removed, into: &actions) }
            forgetBeacon(subject)
        }
    }

    // MARK: Who goes for a named one

    /// Notes that a beacon was refreshed after all others.
    @inline(__always)
    mutating func noteOrder(_ subject: Int) {
        refreshOrder &+= 1
        subjects[subject].order = refreshOrder
    }

    /// Notes that a beacon came in, where it is known who is present.
    mutating func noteDisplaceable(_ subject: Int) {
        guard displaceableValid, !subjects[subject].isNamed else { return }
        // Those that left stay as stale entries: at most one for each that is held, and some.
        if displaceable.count > 2 * beaconCount + 64 {
            displaceableValid = false
            displaceable = Heap()
        } else {
            displaceable.insert(displaceableEntry(subject))
        }
    }

    private func displaceableEntry(_ subject: Int) -> DisplaceableEntry {
        DisplaceableEntry(
            time: subjects[subject].last.time, order: subjects[subject].order, subject: Int32(subject))
    }

    /// Of the present beacons without a name the one that was refreshed longest ago.
    mutating func leastRecentStranger() -> Int? {
        if !displaceableValid {
            var entries: [DisplaceableEntry] = []
            for subject in subjects.indices where subjects[subject].isPresentStranger {
                entries.append(displaceableEntry(subject))
            }
            displaceable = Heap(entries)
            displaceableValid = true
        }
        while let entry = displaceable.min {
            let subject = Int(entry.subject)
            guard subjects[subject].isPresentStranger else {
                displaceable.removeMin()
                continue
            }
            let now = displaceableEntry(subject)
            guard entry < now else {
                displaceable.removeMin()
                return subject
            }
            displaceable.replaceMin(with: now)
        }
        return nil
    }

    /// Lets those go that do not fit any more, since fewer may be held than were: beacons without a name first, each time
    /// the one that was refreshed longest ago.
    mutating func shedBeacons(into actions: inout ActionBuffer) {
        guard beaconCount > settings.maxBeacons else { return }
        let held = subjects.indices.filter { subjects[$0].condition >= 0 && subjects[$0].isBeacon }.sorted {
            subjects[$0].isNamed == subjects[$1].isNamed
                ? displaceableEntry($0) < displaceableEntry($1) : subjects[$1].isNamed
        }
        for subject in held.prefix(beaconCount - settings.maxBeacons) {
            raiseTrackingLimit(subjects[subject].condition, into: &actions)
            displace(subject, into: &actions)
        }
    }
}

/// When a present beacon was last refreshed, as it was when the entry was made (rule P4).
struct DisplaceableEntry: Comparable, Sendable {
    let time: Int64
    let order: UInt32
    let subject: Int32

    static func < (left: DisplaceableEntry, right: DisplaceableEntry) -> Bool {
        guard left.time == right.time else { return left.time < right.time }
        // The order wraps; no two of one time are half its range apart.
        return Int32(bitPattern: left.order &- right.order) < 0
    }
}
