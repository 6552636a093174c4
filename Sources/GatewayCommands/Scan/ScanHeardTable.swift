import BaseTypes
import BeaconMonitoring
import BluetoothLE

/// Who was heard lately, with how strong and how often.
///
/// A value: reports and time go in. It holds ``entriesMax``; where they are full, one that has been silent for five seconds
/// gives way, and a newcomer that finds none is counted in ``unlisted``. A report of somebody known allocates nothing.
struct HeardTable<Key: Hashable & Comparable & Sendable, Details: Sendable>: Sendable {
    struct Entry: Sendable {
        let key: Key
        var details: Details
        var meter: SignalMeter
        var last: Instant
        var reports = 0
        /// What it is sorted by, the less the nearer: moved only when the present value is ``step`` away, so that noise
        /// does not make the lines of a table change places.
        var rank: Int?
    }

    /// Some ten times what is heard in a busy place; a few hundred octets each.
    static var entriesMax: Int { 4_096 }
    /// Silence after which somebody is no longer in range: the least exit timeout that makes sense for most.
    static var forgottenAfter: Duration { .seconds(30) }
    /// 3 dB in tenths: twice the power, or 1.4 times the distance.
    static var step: Int { 30 }
    private static var silenceOfLeast: Duration { .seconds(5) }
    // A newcomer looks at so many places: a flood of invented addresses costs a little each.
    private static var placesTried: Int { 8 }

    private(set) var entries: [Entry] = []
    /// Reports of newcomers that found no place.
    private(set) var unlisted = 0
    private var indices: [Key: Int32] = [:]
    private var hand = 0
    /// The seconds that RSSIs are averaged over.
    let window: Int

    init(window: Int = RangingSettings().window) { self.window = window }

    /// A report of `key`.
    ///
    /// - Returns: its index until the next change; `nil` where it has none.
    mutating func heard(
        _ key: Key, _ rssi: RSSI?, at time: Instant, details: () -> Details
    ) -> Int? {
        guard let index = indices[key].map(Int.init) ?? add(key, at: time, details) else {
            unlisted &+= 1
            return nil
        }
        entries[index].meter.heard(rssi, at: time)
        entries[index].reports &+= 1
        if entries[index].last < time { entries[index].last = time }
        return index
    }

    /// Changes what is known of somebody.
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

    /// Forgets whom nobody heard for ``forgottenAfter``.
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

    /// The indices in order: the nearest first, those of equal rank by their keys, those without one last.
    ///
    /// - Parameters:
    ///   - now: the present.
    ///   - distance: in tenths of dB, of an entry whose mean RSSI is given in tenths of dBm.
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
