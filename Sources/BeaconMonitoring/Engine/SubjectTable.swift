import BluetoothLE

/// The subjects of conditions, and of the beacons under them.
///
/// The values that each refresh changes are separate from the others (``Subject``, ``SubjectDetails``), so that many
/// fit in the cache.
struct SubjectTable: Sendable {
    private var subjects: ContiguousArray<Subject> = []
    private var details: ContiguousArray<SubjectDetails> = []
    private var free: [SubjectIndex] = []
    /// UUID with condition, major and minor → the subject of a beacon under a condition.
    private var beacons = IdentityTable()
    /// The number of refreshes of beacons under conditions. It wraps.
    private var refreshCount: UInt32 = 0

    // MARK: Access

    @inline(__always)
    subscript(subject: SubjectIndex) -> Subject {
        get { subjects[subject.offset] }
        _modify { yield &subjects[subject.offset] }
    }

    /// The values that are needed only for events, visits and entries.
    subscript(detailsOf subject: SubjectIndex) -> SubjectDetails {
        get { details[subject.offset] }
        _modify { yield &details[subject.offset] }
    }

    /// Gives access to all subjects, to refresh many at once.
    @inline(__always)
    mutating func withSubjects<Result>(_ body: (inout MutableSpan<Subject>) -> Result) -> Result {
        var subjects = subjects.mutableSpan
        return body(&subjects)
    }

    /// Returns the subjects for which `isIncluded` returns true, in the order of their indices.
    func indices(where isIncluded: (Subject) -> Bool) -> [SubjectIndex] {
        var indices: [SubjectIndex] = []
        for index in subjects.indices where isIncluded(subjects[index]) { indices.append(SubjectIndex(index)) }
        return indices
    }

    /// Returns whether the entry of a queue is up to date with its hold.
    func isHeld(_ entry: HoldEntry, by adapter: AdapterIndex) -> Bool {
        let subject = entry.subject.offset
        guard subjects[subject].exists, let index = subjects[subject].hold(by: adapter) else { return false }
        return subjects[subject].hold(at: index).queued == entry.expiry
    }

    // MARK: Adding and removing

    /// Adds the subject of a condition.
    mutating func add(_ subject: Subject) -> SubjectIndex {
        guard let index = free.popLast() else {
            subjects.append(subject)
            details.append(SubjectDetails())
            return SubjectIndex(subjects.count - 1)
        }
        subjects[index.offset] = subject
        details[index.offset] = SubjectDetails()
        return index
    }

    /// Adds the subject of a beacon under a condition. It must not have one.
    mutating func add(_ subject: Subject, for beacon: BeaconIdentity) -> SubjectIndex {
        let index = add(subject)
        beacons.set(beacon.uuid, extra: Self.extra(subject.condition, beacon), to: index.number)
        return index
    }

    /// Removes the subject of a condition. No adapter must hold it.
    mutating func remove(_ subject: SubjectIndex) {
        subjects[subject.offset] = .none
        details[subject.offset] = SubjectDetails()
        free.append(subject)
    }

    /// Removes the subject of a beacon. No adapter must hold it.
    mutating func remove(_ subject: SubjectIndex, of beacon: BeaconIdentity) {
        beacons.remove(beacon.uuid, extra: Self.extra(subjects[subject.offset].condition, beacon))
        remove(subject)
    }

    // MARK: Beacons

    /// The number of beacons under conditions (rule P2).
    var beaconCount: Int { beacons.count }

    /// Returns the subject of a beacon under a condition; `nil` if there is none.
    func find(_ beacon: BeaconIdentity, under condition: ConditionIndex) -> SubjectIndex? {
        let found = beacons.find(beacon.uuid, extra: Self.extra(condition, beacon))
        return found < 0 ? nil : SubjectIndex(found)
    }

    /// Returns the beacon of a subject that is a beacon under a condition.
    func beacon(of subject: SubjectIndex, _ conditions: ConditionTable) -> BeaconIdentity {
        self[subject].last.beacon(uuid: conditions[self[subject].condition].uuid)
    }

    /// Numbers the last refresh of a beacon. The number orders refreshes of the same time (rule P4).
    @inline(__always)
    mutating func noteOrder(of subject: SubjectIndex) {
        refreshCount &+= 1
        subjects[subject.offset].order = refreshCount
    }

    private static func extra(_ condition: ConditionIndex, _ beacon: BeaconIdentity) -> UInt64 {
        UInt64(UInt32(bitPattern: condition.number)) << 32 | UInt64(beacon.major) << 16 | UInt64(beacon.minor)
    }
}
