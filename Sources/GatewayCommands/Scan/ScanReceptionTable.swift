import BaseTypes
import BeaconMonitoring
import BluetoothLE

/// The advertisers or beacons that were received lately, with their strength and rate.
///
/// It is a value that gets reports and times. It has at most ``entriesMax`` entries. If the table is full, a new
/// advertiser replaces one that was silent for five seconds. If it finds none, its report is counted in ``unlisted``
/// and dropped. A report of a known advertiser allocates nothing.
struct ReceptionTable<Key: Hashable & Comparable & Sendable, Details: Sendable>: Sendable {
    struct Entry: Sendable {
        let key: Key
        var details: Details
        var meter: SignalMeter
        var last: Instant
        var reports = 0
        /// The value for sorting; the nearest advertiser has the lowest. It changes only if the present value differs
        /// by at least ``step``, so that noise does not reorder the table.
        var rank: Int?
    }

    /// About ten times the number of advertisers in a busy place. Each entry takes a few hundred bytes.
    static var entriesMax: Int { 4_096 }
    /// The silence after which an advertiser is not in range any more: the shortest exit timeout that is useful for
    /// most beacons.
    static var forgottenAfter: Duration { .seconds(30) }
    /// 3 dB in tenths: twice the power, or 1.4 times the distance.
    static var step: Int { 30 }
    private static var silenceOfLeast: Duration { .seconds(5) }
    // The number of entries that a new advertiser checks, so that a flood of invented addresses costs little for each.
    private static var placesTried: Int { 8 }

    private(set) var entries: [Entry] = []
    /// The number of reports of new advertisers for which there was no place.
    private(set) var unlisted = 0
    private var indices: [Key: Int32] = [:]
    private var hand = 0
    /// The number of seconds over which RSSI values are averaged.
    let window: Int

    init(window: Int = RangingSettings().window) { self.window = window }

    /// Handles a report of `key`.
    ///
    /// - Returns: the index of its entry, which is valid until the next change; `nil` if it has none.
    mutating func received(
        _ key: Key, _ rssi: RSSI?, at time: Instant, details: () -> Details
    ) -> Int? {
        guard let index = indices[key].map(Int.init) ?? add(key, at: time, details) else {
            unlisted &+= 1
            return nil
        }
        entries[index].meter.received(rssi, at: time)
        entries[index].reports &+= 1
        if entries[index].last < time { entries[index].last = time }
        return index
    }

    /// The details of an entry.
    subscript(index: Int) -> Details {
        get { entries[index].details }
        _modify { yield &entries[index].details }
    }

    private mutating func add(_ key: Key, at time: Instant, _ details: () -> Details) -> Int? {
        if entries.count < Self.entriesMax {
            indices[key] = Int32(entries.count)
            entries.append(Entry(key: key, details: details(), meter: SignalMeter(at: time), last: time))
            return entries.count - 1
        }
        for _ in 0..<Self.placesTried {
            hand = (hand + 1) % entries.count
            guard time - entries[hand].last >= Self.silenceOfLeast else { continue }
            indices[entries[hand].key] = nil
            indices[key] = Int32(hand)
            entries[hand] = Entry(key: key, details: details(), meter: SignalMeter(at: time), last: time)
            return hand
        }
        return nil
    }

    /// Removes the entries that were not received for ``forgottenAfter``.
    mutating func forget(at now: Instant) {
        var index = 0
        while index < entries.count {
            guard now - entries[index].last >= Self.forgottenAfter else {
                index += 1
                continue
            }
            indices[entries[index].key] = nil
            let last = entries.removeLast()
            guard index < entries.count else { break }
            entries[index] = last
            indices[last.key] = Int32(index)
        }
    }

    /// Returns the indices in order: the nearest first, equal ranks by their keys, and entries without a rank last.
    ///
    /// - Parameters:
    ///   - now: the present.
    ///   - distance: returns the value for sorting in tenths of dB, for an entry and its mean RSSI in tenths of dBm.
    /// - Returns: indices in the table.
    mutating func ordered(at now: Instant, distance: (Entry, Int) -> Int) -> [Int] {
        for index in entries.indices {
            guard let strength = entries[index].meter.reading(of: window, at: now).tenths else { continue }
            let present = distance(entries[index], strength)
            if let rank = entries[index].rank, abs(present - rank) < Self.step { continue }
            entries[index].rank = present
        }
        return entries.indices.sorted { left, right in
            let (one, other) = (entries[left].rank ?? .max, entries[right].rank ?? .max)
            return one != other ? one < other : entries[left].key < entries[right].key
        }
    }
}
