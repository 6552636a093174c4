import BluetoothLE

/// Finds the monitored conditions that match a beacon.
///
/// Conditions on a UUID, on a UUID with major, and on one beacon are in three linked lists. The results for recent
/// beacons are cached.
struct ConditionLookup: Sendable {
    /// The conditions with one UUID.
    private struct Group: Sendable {
        /// The first condition on the UUID alone.
        var first = ConditionIndex.absent
        /// The numbers of conditions on the UUID alone, with a major, and with major and minor.
        var counts: InlineArray<3, Int32> = [0, 0, 0]

        var isEmpty: Bool { counts[0] + counts[1] + counts[2] == 0 }
    }

    /// The cached results for recent beacons.
    private(set) var cache = MatchCache()
    /// UUID → index in ``groups``; UUID with major, or with major and minor → first condition in its list.
    private var table = IdentityTable()
    private var groups: ContiguousArray<Group> = []
    private var freeGroups: [Int32] = []
    /// For each condition, the next one in its list.
    private var next: ContiguousArray<ConditionIndex> = []

    // MARK: Lookup of a sighting

    /// Returns the hash of a UUID, which is computed once per sighting.
    @inline(__always)
    func hash(_ uuid: ProximityUUID) -> UInt64 { table.hash(uuid) }

    /// Returns the place in ``cache`` of the result for a beacon, or −1.
    @inline(__always)
    func remembered(_ uuid: ProximityUUID, _ number: UInt32, hash: UInt64) -> Int {
        cache.find(uuid, number, hash: hash)
    }

    /// Adds the conditions that match a beacon, in no particular order.
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

    /// Caches the subjects that a sighting of a beacon concerns, at most ``MatchCache/conditionsMax``.
    mutating func remember(_ entry: MatchCache.Entry, for beacon: BeaconIdentity, hash: UInt64) {
        cache.keep(entry, for: beacon, hash: hash)
    }

    /// Clears the cache, because a value that it depends on has changed.
    mutating func forgetFound() { cache.removeAll() }

    // MARK: Conditions

    /// Adds a condition to the lists that sightings search.
    mutating func insert(_ condition: ConditionIndex, on identity: BeaconMonitor.BeaconIdentityCondition) {
        cache.removeAll()
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

    /// Removes a condition from the lists that sightings search.
    mutating func remove(_ condition: ConditionIndex, on identity: BeaconMonitor.BeaconIdentityCondition) {
        cache.removeAll()
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
    /// The extra word of the condition's key in the table: the number of parts after the UUID, and the parts.
    fileprivate var extra: UInt64 {
        guard let major else { return 0 }
        guard let minor else { return 1 << 32 | UInt64(major) << 16 }
        return 2 << 32 | UInt64(major) << 16 | UInt64(minor)
    }
}
