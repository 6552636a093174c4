import BluetoothLE

/// A cache of the subjects that recent beacons concern. It replaces three lookups per sighting by one.
///
/// It has the 4,096 beacons that were looked up last, with 4,096 hash buckets of two places each. In a full bucket, the
/// older entry is replaced. The whole cache is cleared when conditions or their settings change. Only the speed depends
/// on its content, so the places are small and the entries are contiguous.
struct MatchCache: Sendable {
    /// The maximum number of conditions in an entry. A beacon with more conditions, or with a condition that has a
    /// subject for each beacon, is looked up each time.
    static let conditionsMax = 5

    /// The entry of one beacon, 48 bytes.
    struct Entry: Sendable {
        var high: UInt64 = 0
        var low: UInt64 = 0
        /// Minor (high) and major (low).
        var number: UInt32 = 0
        /// The generation in which the entry was made; 0 means that it is empty.
        var generation: UInt32 = 0
        var count: Int32 = 0
        var subjects = InlineArray<5, SubjectIndex>(repeating: .absent)
    }

    private static let entriesMask = 4095
    /// Per bucket: two indices into ``entries`` (12 bits each), each with 4 more bits of the hash to distinguish them.
    private var places = ContiguousArray<UInt32>(repeating: 0, count: 4096)
    private(set) var entries = ContiguousArray(repeating: Entry(), count: 4096)
    private var next = 0
    private var generation: UInt32 = 1

    /// Returns the index of the entry for a beacon: its UUID, the hash of the UUID, and its number (minor and major).
    /// Returns −1 if there is none.
    @inline(__always)
    func find(_ uuid: ProximityUUID, _ number: UInt32, hash: UInt64) -> Int {
        let (set, mark) = Self.place(number, hash)
        let both = places[set]
        // Selected by arithmetic instead of a branch, because it changes from beacon to beacon.
        let isSecond = both >> 12 & 0xF != mark
        let place = Int(isSecond ? both >> 16 : both) & Self.entriesMask
        if holds(place, uuid, number) { return place }
        let other = Int(isSecond ? both : both >> 16) & Self.entriesMask
        return holds(other, uuid, number) ? other : -1
    }

    @inline(__always)
    private static func place(_ number: UInt32, _ hash: UInt64) -> (set: Int, mark: UInt32) {
        // The upper bits of a product depend on all bits of its factors.
        let product = (hash ^ UInt64(number)) &* 0x9E37_79B9_7F4A_7C15
        return (Int(truncatingIfNeeded: product >> 52), UInt32(truncatingIfNeeded: product >> 48) & 0xF)
    }

    @inline(__always)
    private func holds(_ place: Int, _ uuid: ProximityUUID, _ number: UInt32) -> Bool {
        entries[place].number == number && entries[place].low == uuid.low
            && entries[place].high == uuid.high && entries[place].generation == generation
    }

    /// Stores an entry. Its subjects and their count must be set.
    mutating func keep(_ entry: Entry, for beacon: BeaconIdentity, hash: UInt64) {
        var entry = entry
        entry.high = beacon.uuid.high
        entry.low = beacon.uuid.low
        entry.number = UInt32(beacon.minor) << 16 | UInt32(beacon.major)
        entry.generation = generation
        entries[next] = entry
        let (set, mark) = Self.place(entry.number, hash)
        places[set] = places[set] << 16 | mark << 12 | UInt32(next)
        next = (next + 1) & Self.entriesMask
    }

    /// Removes all entries.
    mutating func removeAll() {
        if generation == .max {
            entries = ContiguousArray(repeating: Entry(), count: entries.count)
            generation = 0
        }
        generation += 1
    }
}
