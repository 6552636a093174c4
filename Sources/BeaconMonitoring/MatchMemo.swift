import BluetoothLE

/// Which subjects the beacons that were heard lately concern: what the three look-ups of a sighting came to.
///
/// Two places for each of 2,048 hashes; of the two the one that was put there longer ago gives way. It is forgotten
/// whole whenever conditions or their settings change, and nothing depends on what it holds but speed.
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
        var subjects = InlineArray<5, Int32>(repeating: 0)
    }

    private static let setsMask: UInt64 = 2047
    private var entries = ContiguousArray(repeating: Entry(), count: 4096)
    private var generation: UInt32 = 1

    /// The place of the entry for the beacon of a UUID, whose hash is given, and a major and minor; −1 where there is
    /// none.
    @inline(__always)
    func find(_ uuid: ProximityUUID, _ number: UInt32, hash: UInt64) -> Int {
        let place = Self.place(number, hash)
        if holds(place, uuid, number) { return place }
        return holds(place + 1, uuid, number) ? place + 1 : -1
    }

    @inline(__always)
    private static func place(_ number: UInt32, _ hash: UInt64) -> Int {
        // The upper bits of a product depend on all of its factors' bits.
        Int(((hash ^ UInt64(number)) &* 0x9E37_79B9_7F4A_7C15) >> 53 & setsMask) * 2
    }

    @inline(__always)
    private func holds(_ place: Int, _ uuid: ProximityUUID, _ number: UInt32) -> Bool {
        entries[place].number == number && entries[place].low == uuid.low
            && entries[place].high == uuid.high && entries[place].generation == generation
    }

    @inline(__always)
    subscript(place: Int) -> Entry { _read { yield entries[place] } }

    /// Keeps an entry whose subjects and their count are filled in.
    mutating func keep(_ entry: Entry, for beacon: BeaconIdentity, hash: UInt64) {
        var entry = entry
        entry.high = beacon.uuid.high
        entry.low = beacon.uuid.low
        entry.number = UInt32(beacon.minor) << 16 | UInt32(beacon.major)
        entry.generation = generation
        let place = Self.place(entry.number, hash)
        if entries[place].generation == generation { entries[place + 1] = entries[place] }
        entries[place] = entry
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
