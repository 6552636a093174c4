public import BaseTypes
public import BeaconMonitoring
public import BluetoothLE

/// Stores the last sightings of each beacon, so that an exit can be explained.
///
///     var recorder = EvidenceRecorder()
///     recorder.name(adapter, "hci0")
///     recorder.sighted(beacon, by: adapter, rssi: rssi, at: now)
///
/// The engine does not use it: it has no influence on decisions. A known beacon costs one table lookup per sighting and
/// no allocation. Memory is bounded. If there is no room, a new beacon replaces one that was received only once or
/// twice, so a flood of forged beacons does not replace the beacons that are present.
public struct EvidenceRecorder {
    /// The number of stored sightings per beacon.
    public static let sightingsMax = 24
    /// The number of different exit timeouts for which longer gaps are counted. The first ones are used. A timeout that
    /// no condition has any more is replaced by the next new one.
    public static let timeoutsMax = 4
    // A gap of this length or more is an absence and does not count as a gap between sightings, as in the warning about
    // the interval of a beacon: a night at home gives no information about the reception.
    private static let absence: Int64 = 600 * 1_000_000_000

    private struct LastSighting {
        var time: Int64 = 0
        var adapter: UInt16 = 0
        var rssi: UInt8 = 0
    }

    private struct Slot {
        var beacon: BeaconIdentity
        var sightings = InlineArray<24, LastSighting>(repeating: LastSighting())
        /// The number of all sightings of the beacon.
        var count = 0
        var gaps = GapSketch()
        /// For each of ``timeouts``: how many gaps were longer, and how many gaps there were before the count started.
        var longer = InlineArray<4, (count: UInt32, start: UInt32)>(repeating: (0, 0))
        /// The gap before the last sighting. It is counted at the next sighting: an exit can be reported after the
        /// sighting that ended its gap, and that gap is not one of the gaps before the exit.
        var lastGap: Int64 = -1
        // Links in the list of beacons that it is in (`passing` or `regular`), from the beacon that was received last
        // to the one that was received the longest time ago.
        var newer: Int32 = -1
        var older: Int32 = -1

        mutating func countLastGap(_ timeouts: InlineArray<4, Int64>) {
            guard (0..<absence).contains(lastGap) else { return }
            gaps.add(lastGap)
            for index in timeouts.indices where lastGap > timeouts[index] { longer[index].count &+= 1 }
            lastGap = -1
        }
    }

    private struct List {
        var newest: Int32 = -1
        var oldest: Int32 = -1
    }

    /// The times at which an adapter scanned.
    private struct ScanTimes {
        var name = ""
        /// The periods that have ended, oldest first. A few are enough for the time of the stored sightings.
        var past: [(start: Int64, end: Int64)] = []
        var since: Int64?
        /// The time until which the adapter last reported that it was not scanning. `.max` while it is not scanning,
        /// `.min` if it has never reported that it was not scanning.
        var silentUntil: Int64 = .min

        mutating func begin(at time: Int64) {
            since = time
            if silentUntil > time { silentUntil = time }
        }

        mutating func end(at time: Int64) {
            silentUntil = .max
            guard let start = since else { return }
            past.append((start, time))
            if past.count > 64 { past.removeFirst() }
            since = nil
        }

        func between(_ start: Int64, _ end: Int64) -> Int64 {
            var sum: Int64 = 0
            for stretch in past { sum += max(0, min(stretch.end, end) - max(stretch.start, start)) }
            if let since { sum += max(0, end - max(since, start)) }
            return sum
        }
    }

    // A beacon with this many sightings counts as present.
    private static let regularCount = 3
    // A beacon without a sighting for this time can be replaced by a new one if there is no room.
    private static let silence: Int64 = 600_000_000_000

    private let beaconsMax: Int
    private var slots: ContiguousArray<Slot> = []
    private var places: [BeaconIdentity: Int32] = [:]
    private var passing = List()
    private var regular = List()
    private var adapters: [UInt16: ScanTimes] = [:]
    /// The latest of their ``ScanTimes/silentUntil``. For a sighting at or after this time, the adapter need not be
    /// checked.
    private var silentUntil: Int64 = .min
    private var settings: [Identifier: ConditionSettings] = [:]
    /// The number of conditions with each exit timeout, in nanoseconds.
    private var uses: [Int64: Int] = [:]
    /// The exit timeouts with which gaps are compared; `.max` in places that were never used. If no condition has a
    /// timeout any more, it stays until another one takes its place.
    private var timeouts = InlineArray<4, Int64>(repeating: .max)
    private var owed: Evidence?

    /// The number of sightings of beacons that could not be stored because there was no room.
    public private(set) var unfollowed = 0

    /// Creates an empty recorder for at most `beaconsMax` beacons.
    public init(beaconsMax: Int = 10_000) { self.beaconsMax = max(beaconsMax, 1) }

    // MARK: Input

    /// Sets the name of an adapter in lines.
    public mutating func name(_ adapter: AdapterID, _ name: String) {
        adapters[adapter.index, default: ScanTimes()].name = name
    }

    /// Sets the settings of a restored condition. Later changes come with ``note(_:number:)``.
    public mutating func know(_ identifier: Identifier, _ settings: ConditionSettings) {
        set(settings, of: identifier)
    }

    private mutating func set(_ value: ConditionSettings?, of identifier: Identifier) {
        let (former, timeout) = (settings[identifier]?.exitTimeout.nanoseconds, value?.exitTimeout.nanoseconds)
        settings[identifier] = value
        guard former != timeout else { return }
        if let former {
            let count = (uses[former] ?? 1) - 1
            uses[former] = count > 0 ? count : nil
        }
        guard let timeout else { return }
        uses[timeout, default: 0] += 1
        guard timeout < Self.absence, place(of: timeout) == nil,
            let place = timeouts.indices.first(where: { uses[timeouts[$0]] == nil })
        else { return }
        for slot in slots.indices { slots[slot].countLastGap(timeouts) }
        timeouts[place] = timeout
        for slot in slots.indices { slots[slot].longer[place] = (0, UInt32(clamping: slots[slot].gaps.count)) }
    }

    private func place(of timeout: Int64?) -> Int? {
        timeouts.indices.first { timeouts[$0] == timeout }
    }

    /// Stores a sighting of a beacon.
    public mutating func sighted(_ beacon: BeaconIdentity, by adapter: AdapterID, rssi: RSSI?, at time: Instant) {
        guard let place = places[beacon].map({ Int($0) }) ?? makePlace(for: beacon, at: time.nanoseconds) else {
            unfollowed &+= 1
            return
        }
        let count = slots[place].count
        if count > 0 {
            let last = slots[place].sightings[(count - 1) % Self.sightingsMax]
            // Several reports in one record end only one gap.
            if time.nanoseconds > last.time {
                slots[place].countLastGap(timeouts)
                slots[place].lastGap = scannedWithoutBreak(since: last) ? time.nanoseconds - last.time : -1
            }
        }
        slots[place].sightings[count % Self.sightingsMax] = LastSighting(
            time: time.nanoseconds, adapter: adapter.index, rssi: RSSI.byte(rssi))
        unlink(place)
        slots[place].count = count + 1
        link(place)
    }

    /// Returns true if the adapter of this sighting has scanned without a break since. Otherwise the time since is not
    /// a gap.
    private func scannedWithoutBreak(since sighting: LastSighting) -> Bool {
        sighting.time >= silentUntil || sighting.time >= adapters[sighting.adapter]?.silentUntil ?? .min
    }

    /// Discards the sightings of a beacon.
    public mutating func forget(_ beacon: BeaconIdentity) {
        guard let place = places[beacon].map({ Int($0) }) else { return }
        unlink(place)
        slots[place].sightings = InlineArray(repeating: LastSighting())
        (slots[place].count, slots[place].gaps, slots[place].lastGap) = (0, GapSketch(), -1)
        slots[place].longer = InlineArray(repeating: (0, 0))
        link(place)
    }

    /// Notes an action whose line has the number `number`. Evidence can be due after it: see ``evidence(before:)``.
    public mutating func note(_ action: Action, number: Int) {
        switch action {
        case .event(let event) where event.state == .unsatisfied || event.state == .unknown:
            owed = evidence(for: event, number: number)
        case .adapter(let change):
            guard let adapter = adapters.first(where: { $0.value.name == change.adapter })?.key else { return }
            if change.state == .listening {
                adapters[adapter]?.begin(at: change.time.nanoseconds)
            } else {
                adapters[adapter]?.end(at: change.time.nanoseconds)
            }
            silentUntil = adapters.values.lazy.map(\.silentUntil).max() ?? .min
        case .condition(let change):
            set(change.kind == .removed ? nil : change.settings, of: Identifier(lookup: change.identifier))
        case .adapterNamed(let adapter, let name): self.name(adapter, name)
        case .event, .visit, .trackingLimitExceeded: break
        }
    }

    /// Returns the evidence whose line must come before the line of `action`, or after the last action if it is `nil`.
    /// The evidence of an event comes after its visit.
    public mutating func evidence(before action: Action?) -> Evidence? {
        guard let evidence = owed else { return nil }
        if case .visit(let visit)? = action, visit.identifier == evidence.identifier, visit.reason.isLeaving {
            return nil
        }
        owed = nil
        return evidence
    }

    // MARK: Output

    private func evidence(for event: BeaconMonitor.Event, number: Int) -> Evidence? {
        // A subject that was never refreshed has not left, so no sightings can explain it.
        guard let sighting = event.sighting, let lastSeen = event.lastSeen else { return nil }
        let now = event.time.nanoseconds
        let condition = settings[Identifier(lookup: event.identifier)]
        let threshold = condition?.exitRSSI
        var received: [LastSighting] = []
        var gaps = Evidence.Gaps(count: 0)
        if let place = places[event.refinement ?? sighting.beacon].map({ Int($0) }) {
            var slot = slots[place]
            let count = slot.count
            for index in max(0, count - Self.sightingsMax)..<count {
                let sighting = slot.sightings[index % Self.sightingsMax]
                // A sighting with the time of the exit came after it (rule T3).
                if sighting.time < now { received.append(sighting) }
            }
            if count > 0, slot.sightings[(count - 1) % Self.sightingsMax].time < now { slot.countLastGap(timeouts) }
            let sketch = slot.gaps
            gaps = Evidence.Gaps(
                count: sketch.count, median: sketch.quantile(perMille: 500).map { .nanoseconds($0) },
                p99: sketch.quantile(perMille: 990).map { .nanoseconds($0) },
                maximum: sketch.count > 0 ? .nanoseconds(sketch.maximum) : nil,
                longerThanTimeout: condition.flatMap { longer(than: $0.exitTimeout.nanoseconds, in: slot) })
        }
        var refreshes: [UInt16: Int64] = [sighting.adapter.index: lastSeen.nanoseconds]
        for one in received where one.time <= lastSeen.nanoseconds && Self.reaches(one.rssi, threshold) {
            refreshes[one.adapter] = max(refreshes[one.adapter] ?? 0, one.time)
        }
        let holders = refreshes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(MonitorEngine.holdersMax).map
        {
            Evidence.Holder(
                adapter: adapters[$0.key]?.name ?? "", lastRefresh: Instant(remembered: $0.value),
                listened: .nanoseconds(adapters[$0.key]?.between($0.value, now) ?? 0))
        }
        let isWeak = received.contains { $0.time > lastSeen.nanoseconds && !Self.reaches($0.rssi, threshold) }
        return Evidence(
            event: number, monitor: event.monitor, identifier: event.identifier,
            rule: event.state == .unknown ? "L2" : isWeak ? "X1" : "X2", time: event.time,
            clockOffset: event.clockOffset, holders: holders,
            sightings: received.map {
                Evidence.LastSighting(
                    time: Instant(nanoseconds: $0.time), adapter: adapters[$0.adapter]?.name ?? "",
                    rssi: RSSI(reported: $0.rssi))
            }, gaps: gaps)
    }

    private func longer(than timeout: Int64, in slot: Slot) -> Evidence.Share? {
        guard let place = place(of: timeout) else { return nil }
        let (count, start) = slot.longer[place]
        let total = slot.gaps.count - Int(start)
        return total > 0 ? Evidence.Share(count: Int(count), total: total) : nil
    }

    private static func reaches(_ byte: UInt8, _ threshold: RSSI?) -> Bool {
        guard let threshold else { return true }
        guard let rssi = RSSI(reported: byte) else { return false }
        return rssi >= threshold
    }

    // MARK: Slots

    private mutating func makePlace(for beacon: BeaconIdentity, at time: Int64) -> Int? {
        if slots.count < beaconsMax {
            slots.append(Slot(beacon: beacon))
            places[beacon] = Int32(slots.count - 1)
            link(slots.count - 1)
            return slots.count - 1
        }
        var place = Int(passing.oldest)
        if place < 0 {
            place = Int(regular.oldest)
            let count = slots[place].count
            guard time - slots[place].sightings[(count - 1) % Self.sightingsMax].time > Self.silence else { return nil }
        }
        unlink(place)
        places[slots[place].beacon] = nil
        slots[place] = Slot(beacon: beacon)
        places[beacon] = Int32(place)
        link(place)
        return place
    }

    private mutating func link(_ place: Int) {
        let isRegular = slots[place].count >= Self.regularCount
        var list = isRegular ? regular : passing
        slots[place].newer = -1
        slots[place].older = list.newest
        if list.newest >= 0 { slots[Int(list.newest)].newer = Int32(place) } else { list.oldest = Int32(place) }
        list.newest = Int32(place)
        if isRegular { regular = list } else { passing = list }
    }

    private mutating func unlink(_ place: Int) {
        let isRegular = slots[place].count >= Self.regularCount
        var list = isRegular ? regular : passing
        let (newer, older) = (slots[place].newer, slots[place].older)
        if newer >= 0 { slots[Int(newer)].older = older } else { list.newest = older }
        if older >= 0 { slots[Int(older)].newer = newer } else { list.oldest = newer }
        if isRegular { regular = list } else { passing = list }
    }
}
