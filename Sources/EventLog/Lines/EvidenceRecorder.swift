public import BaseTypes
public import BeaconMonitoring
public import BluetoothLE

/// Remembers the last sightings of each beacon, so that an exit can be explained.
///
/// It stands beside the engine and not in it: what it knows decides nothing. A beacon that is known costs a table look-up
/// and no allocation. Bounded: beacons that were heard once or twice give way to each other and to nobody else, so a
/// flood of invented ones pushes out none that is here.
public struct EvidenceRecorder {
    /// How many sightings of a beacon are remembered.
    public static let sightingsMax = 24
    /// For how many different exit timeouts of the conditions the longer silences are counted: the first ones. A condition
    /// whose timeout is set when no condition has one of them any more takes its place.
    public static let timeoutsMax = 4
    // What is longer is an absence and none of its silences, as the warning of a beacon's cadence has it too: a night at
    // home says nothing of how a beacon is heard.
    private static let absence: Int64 = 600 * 1_000_000_000

    private struct Heard {
        var time: Int64 = 0
        var adapter: UInt16 = 0
        var rssi: UInt8 = 0
    }

    private struct Slot {
        var beacon: BeaconIdentity
        var sightings = InlineArray<24, Heard>(repeating: Heard())
        /// How many there were, ever.
        var count = 0
        var gaps = GapSketch()
        /// For each of ``timeouts``, how many silences were longer, and how many there had been before they were counted.
        var longer = InlineArray<4, (count: UInt32, start: UInt32)>(repeating: (0, 0))
        /// The silence before the last sighting. It is counted at the next sighting, because an exit can be reported after
        /// the sighting that ended its silence, which is not one of the silences before the exit.
        var lastGap: Int64 = -1
        // The list that it is in, from the one heard last to the one heard longest ago.
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

    /// An adapter's listening: what it has come to, and since when it goes on.
    private struct Listening {
        var name = ""
        /// The stretches that are over, oldest first; a few are enough for what the sightings reach back to.
        var past: [(start: Int64, end: Int64)] = []
        var since: Int64?
        /// Up to when it was last said not to listen; `.max` while that goes on, `.min` where it never was.
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

    // Heard so often, a beacon is one that is here.
    private static let regularCount = 3
    // One that has been silent for so long gives way to a new one where there is no room.
    private static let silence: Int64 = 600_000_000_000

    private let beaconsMax: Int
    private var slots: ContiguousArray<Slot> = []
    private var places: [BeaconIdentity: Int32] = [:]
    private var passing = List()
    private var regular = List()
    private var adapters: [UInt16: Listening] = [:]
    /// The latest of their ``Listening/silentUntil``: what was heard since is not asked further.
    private var silentUntil: Int64 = .min
    private var settings: [Identifier: ConditionSettings] = [:]
    /// How many conditions have each exit timeout, in nanoseconds.
    private var uses: [Int64: Int] = [:]
    /// The exit timeouts with which silences are compared; `.max` in places that were never used. One that no condition has
    /// any more stays until another takes its place.
    private var timeouts = InlineArray<4, Int64>(repeating: .max)
    private var owed: Evidence?

    /// Sightings of beacons that were not remembered because there was no room.
    public private(set) var unfollowed = 0

    /// A recorder that remembers nothing yet.
    public init(beaconsMax: Int = 10_000) { self.beaconsMax = max(beaconsMax, 1) }

    // MARK: What it is told

    /// Says what lines call an adapter.
    public mutating func name(_ adapter: AdapterID, _ name: String) {
        adapters[adapter.index, default: Listening()].name = name
    }

    /// Says how a condition that was restored is entered and left; what changes later, the actions tell.
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

    /// A beacon was heard.
    public mutating func sighted(_ beacon: BeaconIdentity, by adapter: AdapterID, rssi: RSSI?, at time: Instant) {
        guard let place = places[beacon].map({ Int($0) }) ?? makePlace(for: beacon, at: time.nanoseconds) else {
            unfollowed &+= 1
            return
        }
        let count = slots[place].count
        if count > 0 {
            let last = slots[place].sightings[(count - 1) % Self.sightingsMax]
            // Reports of one record are the end of one silence.
            if time.nanoseconds > last.time {
                slots[place].countLastGap(timeouts)
                slots[place].lastGap = listened(last) ? time.nanoseconds - last.time : -1
            }
        }
        slots[place].sightings[count % Self.sightingsMax] = Heard(
            time: time.nanoseconds, adapter: adapter.index, rssi: RSSI.octet(rssi))
        unlink(place)
        slots[place].count = count + 1
        link(place)
    }

    /// Whether the adapter that heard somebody has listened since: what it did not hear meanwhile is no silence.
    private func listened(_ heard: Heard) -> Bool {
        heard.time >= silentUntil || heard.time >= adapters[heard.adapter]?.silentUntil ?? .min
    }

    /// Forgets what was heard of a beacon.
    public mutating func forget(_ beacon: BeaconIdentity) {
        guard let place = places[beacon].map({ Int($0) }) else { return }
        unlink(place)
        slots[place].sightings = InlineArray(repeating: Heard())
        (slots[place].count, slots[place].gaps, slots[place].lastGap) = (0, GapSketch(), -1)
        slots[place].longer = InlineArray(repeating: (0, 0))
        link(place)
    }

    /// Takes in an action whose line has the number `number`. It may owe evidence then: see ``evidence(before:)``.
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

    /// The evidence whose line comes before that of `action`, or at the end of all: an event's stands behind its visit's.
    public mutating func evidence(before action: Action?) -> Evidence? {
        guard let evidence = owed else { return nil }
        if case .visit(let visit)? = action, visit.identifier == evidence.identifier, visit.reason.isLeaving {
            return nil
        }
        owed = nil
        return evidence
    }

    // MARK: What it makes of it

    private func evidence(for event: BeaconMonitor.Event, number: Int) -> Evidence? {
        // A subject that was never refreshed has not left: there is nothing to be explained by sightings.
        guard let sighting = event.sighting, let lastSeen = event.lastSeen else { return nil }
        let now = event.time.nanoseconds
        let condition = settings[Identifier(lookup: event.identifier)]
        let threshold = condition?.exitRSSI
        var heard: [Heard] = []
        var gaps = Evidence.Gaps(count: 0)
        if let place = places[event.refinement ?? sighting.beacon].map({ Int($0) }) {
            var slot = slots[place]
            let count = slot.count
            for index in max(0, count - Self.sightingsMax)..<count {
                let sighting = slot.sightings[index % Self.sightingsMax]
                // One that carries the exit's own time came behind it (rule T3).
                if sighting.time < now { heard.append(sighting) }
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
        for one in heard where one.time <= lastSeen.nanoseconds && Self.reaches(one.rssi, threshold) {
            refreshes[one.adapter] = max(refreshes[one.adapter] ?? 0, one.time)
        }
        let holders = refreshes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(MonitorEngine.holdersMax).map
        {
            Evidence.Holder(
                adapter: adapters[$0.key]?.name ?? "", lastRefresh: Instant(remembered: $0.value),
                listened: .nanoseconds(adapters[$0.key]?.between($0.value, now) ?? 0))
        }
        let isWeak = heard.contains { $0.time > lastSeen.nanoseconds && !Self.reaches($0.rssi, threshold) }
        return Evidence(
            event: number, monitor: event.monitor, identifier: event.identifier,
            rule: event.state == .unknown ? "L2" : isWeak ? "X1" : "X2", time: event.time,
            clockOffset: event.clockOffset, holders: holders,
            sightings: heard.map {
                Evidence.Heard(
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

    private static func reaches(_ octet: UInt8, _ threshold: RSSI?) -> Bool {
        guard let threshold else { return true }
        guard let rssi = RSSI(reported: octet) else { return false }
        return rssi >= threshold
    }

    // MARK: Places

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
