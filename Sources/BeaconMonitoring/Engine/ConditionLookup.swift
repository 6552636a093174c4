import BluetoothLE

/// Finds the monitored conditions that a beacon matches, by as much of its identity as they give.
///
/// Those on one UUID, on one UUID with major, and on one beacon stand in three chains; what was found for the beacons that
/// were heard lately is remembered.
struct ConditionLookup: Sendable {
    /// The conditions on one UUID.
    private struct Group: Sendable {
        /// The first of those on the UUID alone.
        var first = ConditionIndex.absent
        /// How many there are on the UUID alone, with a major, with both.
        var counts: InlineArray<3, Int32> = [0, 0, 0]

        var isEmpty: Bool { counts[0] + counts[1] + counts[2] == 0 }
    }

    /// What was found for the beacons that were heard lately.
    private(set) var memo = MatchMemo()
    /// UUID → place in ``groups``, and UUID with major, or both → the first of the conditions.
    private var table = IdentityTable()
    private var groups: ContiguousArray<Group> = []
    private var freeGroups: [Int32] = []
    /// For each condition the next in its chain.
    private var next: ContiguousArray<ConditionIndex> = []

    // MARK: The way of a sighting

    /// The hash of a UUID, made once for each sighting.
    @inline(__always)
    func hash(_ uuid: ProximityUUID) -> UInt64 { table.hash(uuid) }

    /// The place in ``memo`` of what a beacon concerns, or −1.
    @inline(__always)
    func remembered(_ uuid: ProximityUUID, _ number: UInt32, hash: UInt64) -> Int {
        memo.find(uuid, number, hash: hash)
    }

    /// Adds the conditions that a beacon matches, in no order.
    @inline(__always)
    func find(_ beacon: BeaconIdentity, hash: UInt64, into found: inout [ConditionIndex]) {
        let place = table.find(beacon.uuid, hash: hash, extra: 0)
        guard place >= 0 else { return }
        let group = groups[Int(place)]
        let major = UInt64(beacon.major) << 16
        collect(group.first, into: &found)
        if group.counts[1] > 0 { collect(first(beacon.uuid, hash: hash, extra: 1 << 32 | major), into: &found) }
        if group.counts[2] > 0 {
            collect(first(beacon.uuid, hash: hash, extra: 2 << 32 | major | UInt64(beacon.minor)), into: &found)
        }
    }

    private func first(_ uuid: ProximityUUID, hash: UInt64, extra: UInt64) -> ConditionIndex {
        ConditionIndex(table.find(uuid, hash: hash, extra: extra))
    }

    private func collect(_ first: ConditionIndex, into found: inout [ConditionIndex]) {
        var condition = first
        while condition != .absent {
            found.append(condition)
            condition = next[condition.offset]
        }
    }

    /// Remembers the subjects that a beacon concerns; at most ``MatchMemo/conditionsMax``.
    mutating func remember(_ entry: MatchMemo.Entry, for beacon: BeaconIdentity, hash: UInt64) {
        memo.keep(entry, for: beacon, hash: hash)
    }

    /// Forgets what was found, since something that it rests on changed.
    mutating func forgetFound() { memo.removeAll() }

    // MARK: Conditions

    /// Puts a condition where sightings find it.
    mutating func insert(_ condition: ConditionIndex, on identity: BeaconMonitor.BeaconIdentityCondition) {
        memo.removeAll()
        while next.count <= condition.offset { next.append(.absent) }
        let group = group(of: identity.uuid)
        let extra = identity.extra
        groups[group].counts[Int(extra >> 32)] += 1
        if extra == 0 {
            next[condition.offset] = groups[group].first
            groups[group].first = condition
        } else {
            next[condition.offset] = ConditionIndex(table.find(identity.uuid, extra: extra))
            table.set(identity.uuid, extra: extra, to: condition.number)
        }
    }

    private mutating func group(of uuid: ProximityUUID) -> Int {
        let found = table.find(uuid, extra: 0)
        if found >= 0 { return Int(found) }
        let place: Int32
        if let free = freeGroups.popLast() {
            groups[Int(free)] = Group()
            place = free
        } else {
            groups.append(Group())
            place = Int32(truncatingIfNeeded: groups.count - 1)
        }
        table.set(uuid, extra: 0, to: place)
        return Int(place)
    }

    /// Takes a condition away from where sightings find it.
    mutating func remove(_ condition: ConditionIndex, on identity: BeaconMonitor.BeaconIdentityCondition) {
        memo.removeAll()
        let place = table.find(identity.uuid, extra: 0)
        guard place >= 0 else { return }
        let group = Int(place)
        let extra = identity.extra
        let first = extra == 0 ? groups[group].first : ConditionIndex(table.find(identity.uuid, extra: extra))
        let rest = next[condition.offset]
        if first != condition {
            var previous = first
            while previous != .absent, next[previous.offset] != condition { previous = next[previous.offset] }
            if previous != .absent { next[previous.offset] = rest }
        } else if extra == 0 {
            groups[group].first = rest
        } else if rest != .absent {
            table.set(identity.uuid, extra: extra, to: rest.number)
        } else {
            table.remove(identity.uuid, extra: extra)
        }
        next[condition.offset] = .absent
        groups[group].counts[Int(extra >> 32)] -= 1
        if groups[group].isEmpty {
            table.remove(identity.uuid, extra: 0)
            freeGroups.append(place)
        }
    }
}

extension BeaconMonitor.BeaconIdentityCondition {
    /// The word that stands beside the UUID in the table of conditions: how much is given, and what.
    fileprivate var extra: UInt64 {
        guard let major else { return 0 }
        guard let minor else { return 1 << 32 | UInt64(major) << 16 }
        return 2 << 32 | UInt64(major) << 16 | UInt64(minor)
    }
}
