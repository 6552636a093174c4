import BluetoothLE

/// A hash table from a UUID and one more word to an index of another table.
///
/// Each sighting uses its hash, and each sighting that is not in the cache is looked up in it. So it uses open
/// addressing in one array, without allocations or reference counts. The keys come from the radio, so the hash has a
/// random seed per process, like that of `Dictionary`. No result depends on the order of the slots.
struct IdentityTable: Sendable {
    private struct Slot {
        var high: UInt64 = 0
        var low: UInt64 = 0
        var extra: UInt64 = 0
        /// −1 if the slot is free.
        var value: Int32 = -1
    }

    private var slots = ContiguousArray(repeating: Slot(), count: 16)
    private(set) var count = 0
    private let seed: UInt64

    init() {
        var hasher = Hasher()
        hasher.combine(0x1BEAC0)
        seed = UInt64(truncatingIfNeeded: hasher.finalize())
    }

    /// Returns the part of the hash that depends on the UUID. Pass it to ``find(_:hash:extra:)``, so that it is
    /// computed once.
    @inline(__always)
    func hash(_ uuid: ProximityUUID) -> UInt64 {
        let product = (uuid.high ^ seed).multipliedFullWidth(by: uuid.low ^ 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low ^ uuid.low
    }

    @inline(__always)
    private func place(_ hash: UInt64, _ extra: UInt64) -> Int {
        let product = (hash ^ extra).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93 ^ seed | 1)
        return Int(truncatingIfNeeded: (product.high ^ product.low) & UInt64(slots.count - 1))
    }

    /// Returns the value for (`uuid`, `extra`), or −1.
    @inline(__always)
    func find(_ uuid: ProximityUUID, hash: UInt64, extra: UInt64) -> Int32 {
        var index = place(hash, extra)
        while true {
            let value = slots[index].value
            if value < 0 { return -1 }
            if slots[index].low == uuid.low, slots[index].high == uuid.high, slots[index].extra == extra {
                return value
            }
            index = (index + 1) & (slots.count - 1)
        }
    }

    /// Returns the value for (`uuid`, `extra`), or −1.
    func find(_ uuid: ProximityUUID, extra: UInt64) -> Int32 { find(uuid, hash: hash(uuid), extra: extra) }

    /// Sets the value for (`uuid`, `extra`). It must be 0 or more.
    mutating func set(_ uuid: ProximityUUID, extra: UInt64, to value: Int32) {
        if 2 * (count + 1) > slots.count { grow() }
        var index = place(hash(uuid), extra)
        while slots[index].value >= 0 {
            if slots[index].low == uuid.low, slots[index].high == uuid.high, slots[index].extra == extra {
                slots[index].value = value
                return
            }
            index = (index + 1) & (slots.count - 1)
        }
        slots[index] = Slot(high: uuid.high, low: uuid.low, extra: extra, value: value)
        count += 1
    }

    /// Removes the value for (`uuid`, `extra`), if there is one.
    mutating func remove(_ uuid: ProximityUUID, extra: UInt64) {
        let mask = slots.count - 1
        var hole = place(hash(uuid), extra)
        while true {
            if slots[hole].value < 0 { return }
            if slots[hole].low == uuid.low, slots[hole].high == uuid.high, slots[hole].extra == extra { break }
            hole = (hole + 1) & mask
        }
        // Later entries whose home is at or before the hole move up, so that no search stops at the hole.
        var next = (hole + 1) & mask
        while slots[next].value >= 0 {
            let home = place(hash(ProximityUUID(high: slots[next].high, low: slots[next].low)), slots[next].extra)
            if (next - home) & mask >= (next - hole) & mask {
                slots[hole] = slots[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        slots[hole] = Slot()
        count -= 1
    }

    private mutating func grow() {
        let old = slots
        slots = ContiguousArray(repeating: Slot(), count: old.count * 2)
        let mask = slots.count - 1
        for slot in old where slot.value >= 0 {
            var index = place(hash(ProximityUUID(high: slot.high, low: slot.low)), slot.extra)
            while slots[index].value >= 0 { index = (index + 1) & mask }
            slots[index] = slot
        }
    }
}
