import BluetoothLE

/// Which subjects the beacons that were heard lately concern: what the three look-ups of a sighting came to.
///
/// The last 4,096 beacons that were looked up, found through 4,096 hashes with two places each; of the two the one that was
/// put there longer ago gives way. It is forgotten whole whenever conditions or their settings change, and nothing depends
/// on what it holds but speed: for that the places are small, and the entries stand close together.
struct MatchMemo: Sendable {
    /// The conditions that an entry can hold; a beacon that concerns more, or one whose conditions follow each beacon, is
    /// looked up each time.
    static let conditionsMax = 5

    /// One beacon's, in 48 octets.
    struct Entry: Sendable {
        var high: UInt64 = 0
        var low: UInt64 = 0
        /// Minor and major.
        var number: UInt32 = 0
        /// The generation that it was put there in; 0 stands for none.
        var generation: UInt32 = 0
        var count: Int32 = 0
        var subjects = InlineArray<5, SubjectIndex>(repeating: .absent)
    }

    private static let entriesMask = 4095
    /// Two places in ``entries`` for each hash, 12 bits each, under 4 more bits of the hash that tell them apart.
    private var places = ContiguousArray<UInt32>(repeating: 0, count: 4096)
    private(set) var entries = ContiguousArray(repeating: Entry(), count: 4096)
    private var next = 0
    private var generation: UInt32 = 1

    /// The place of the entry for the beacon of a UUID, whose hash is given, and a major and minor; −1 where there is
    /// none.
    @inline(__always)
    func find(_ uuid: ProximityUUID, _ number: UInt32, hash: UInt64) -> Int {
        let (set, mark) = Self.place(number, hash)
        let both = places[set]
        // Chosen by arithmetic: which of the two it is changes from beacon to beacon.
        let isSecond = both >> 12 & 0xF != mark
        let place = Int(isSecond ? both >> 16 : both) & Self.entriesMask
        if holds(place, uuid, number) { return place }
        let other = Int(isSecond ? both : both >> 16) & Self.entriesMask
        return holds(other, uuid, number) ? other : -1
    }

    @inline(__always)
    private static func place(_ number: UInt32, _ hash: UInt64) -> (set: Int, mark: UInt32) {
        // The upper bits of a product depend on all of its factors' bits.
        let product = (hash ^ UInt64(number)) &* 0x9E37_79B9_7F4A_7C15
        return (Int(truncatingIfNeeded: product >> 52), UInt32(truncatingIfNeeded: product >> 48) & 0xF)
    }

    @inline(__always)
    private func holds(_ place: Int, _ uuid: ProximityUUID, _ number: UInt32) -> Bool {
        entries[place].number == number && entries[place].low == uuid.low
            && entries[place].high == uuid.high && entries[place].generation == generation
    }

    /// Keeps an entry whose subjects and their count are filled in.
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

    /// Forgets all.
    mutating func removeAll() {
        if generation == .max {
            entries = ContiguousArray(repeating: Entry(), count: entries.count)
            generation = 0
        }
        generation += 1
    }
}
