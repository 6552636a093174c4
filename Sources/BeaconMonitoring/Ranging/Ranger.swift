public import BaseTypes
public import BluetoothLE

/// Ranging as a value: its inputs are sightings and time, its output is a list of nearby beacons for each condition and
/// second.
///
/// At each whole second of the timeline, it returns for each condition the beacons that were sighted in the window
/// before (``RangingSettings/window``), the nearest first. Their RSSI is the arithmetic mean in dBm of all readings in
/// the window, without rounding and with equal weights. (The mean of distances would be biased: noise of σ dB increases
/// it by a factor of `exp((σ ln 10 / 10 n)² / 2)`.) If no beacon is in range, it returns nothing and has no deadline.
///
/// It stores at most ``beaconsMax`` beacons that match a condition. If that is reached, sightings of other beacons are
/// dropped and counted (``unplaced``) until a stored beacon has been silent for the window. A sighting of a stored
/// beacon allocates nothing.
///
///     var ranger = Ranger()
///     ranger.add(condition)
///     ranger.sighted(sighting)
///     var rangings: ContiguousArray<Ranging> = []
///     ranger.advance(to: sighting.time + .seconds(1), into: &rangings)
///     #expect(rangings.first?.beacons.first?.beacon == sighting.beacon)
public struct Ranger: Sendable {
    /// The maximum number of stored beacons.
    public static let beaconsMax = 4096
    /// The maximum number of beacons in one ranging: the nearest.
    public static let listedMax = 256

    /// The settings for estimated distances.
    public let settings: RangingSettings
    /// The number of dropped sightings because ``beaconsMax`` beacons were stored.
    public private(set) var unplaced = 0
    /// The number of beacons that were left out because ``listedMax`` were nearer, counted each second.
    public private(set) var unlisted = 0

    private struct Entry: Sendable {
        let beacon: BeaconIdentity
        var measuredPower: Int8?
        var last: Instant
        var meter: SignalMeter
    }

    private struct Wanted: Sendable {
        let condition: BeaconMonitor.BeaconIdentityCondition
        /// Whether the last ranging of the condition had beacons.
        var isInView = false
    }

    private var wanted: ContiguousArray<Wanted> = []
    /// UUID, UUID with major, or all three → index in ``wanted``; and the number of conditions of each kind.
    private var conditionTable = IdentityTable()
    private var kinds: InlineArray<3, Int> = [0, 0, 0]
    private var entries: ContiguousArray<Entry> = []
    private var beaconTable = IdentityTable()
    private var present = Instant.earliest
    private var due: Instant?

    private static let second: Int64 = 1_000_000_000

    /// Creates a ranger without conditions.
    public init(settings: RangingSettings = RangingSettings()) { self.settings = settings }

    // MARK: Conditions

    /// The conditions, in the order of adding.
    public var conditions: [BeaconMonitor.BeaconIdentityCondition] { wanted.map(\.condition) }
    /// The number of stored beacons.
    public var beacons: Int { entries.count }

    /// Adds a condition. Nothing changes if it was added already.
    public mutating func add(_ condition: BeaconMonitor.BeaconIdentityCondition) {
        guard place(of: condition) == nil else { return }
        wanted.append(Wanted(condition: condition))
        register(wanted.count - 1)
    }

    /// Removes a condition. Beacons that match no other condition are removed.
    public mutating func remove(_ condition: BeaconMonitor.BeaconIdentityCondition) {
        guard let place = place(of: condition) else { return }
        wanted.remove(at: place)
        conditionTable = IdentityTable()
        kinds = [0, 0, 0]
        for index in wanted.indices { register(index) }
        forget(entries.indices.filter { !matches(entries[$0].beacon) })
        if entries.isEmpty, !wanted.contains(where: \.isInView) { due = nil }
    }

    private mutating func register(_ index: Int) {
        let (kind, extra) = Self.key(of: wanted[index].condition)
        conditionTable.set(wanted[index].condition.uuid, extra: extra, to: Int32(clamping: index))
        kinds[kind] += 1
    }

    private func place(of condition: BeaconMonitor.BeaconIdentityCondition) -> Int? {
        let found = conditionTable.find(condition.uuid, extra: Self.key(of: condition).extra)
        return found < 0 ? nil : Int(found)
    }

    private static func key(of condition: BeaconMonitor.BeaconIdentityCondition) -> (kind: Int, extra: UInt64) {
        guard let major = condition.major else { return (0, 0) }
        guard let minor = condition.minor else { return (1, 1 << 32 | UInt64(major) << 16) }
        return (2, 2 << 32 | UInt64(major) << 16 | UInt64(minor))
    }

    /// Returns the index of the condition of a kind that matches a beacon, or −1.
    private func match(_ kind: Int, _ beacon: BeaconIdentity, hash: UInt64) -> Int32 {
        guard kinds[kind] > 0 else { return -1 }
        let extra: UInt64 =
            switch kind {
            case 0: 0
            case 1: 1 << 32 | UInt64(beacon.major) << 16
            default: 2 << 32 | UInt64(beacon.major) << 16 | UInt64(beacon.minor)
            }
        return conditionTable.find(beacon.uuid, hash: hash, extra: extra)
    }

    private func matches(_ beacon: BeaconIdentity) -> Bool {
        let hash = conditionTable.hash(beacon.uuid)
        return match(0, beacon, hash: hash) >= 0 || match(1, beacon, hash: hash) >= 0
            || match(2, beacon, hash: hash) >= 0
    }

    // MARK: Sightings

    /// Adds a sighting. ``advance(to:clockOffset:into:)`` must be called with its time before. A sighting with a time
    /// before an earlier one counts as at the time of that one (rule T2).
    public mutating func sighted(_ sighting: Sighting) {
        sighted(sighting.beacon, measuredPower: sighting.measuredPower, rssi: sighting.rssi, at: sighting.time)
    }

    /// Adds a sighting, given by the parts that ranging uses. A beacon has no estimated distance while the measured
    /// power of its last sighting is `nil`; −128 counts as `nil`.
    public mutating func sighted(_ beacon: BeaconIdentity, measuredPower: Int8?, rssi: RSSI?, at time: Instant) {
        let measuredPower = IBeacon.knownPower(measuredPower)
        present = max(present, time)
        let numbers = UInt64(beacon.major) << 16 | UInt64(beacon.minor)
        var place = Int(beaconTable.find(beacon.uuid, extra: numbers))
        if place < 0 {
            guard matches(beacon) else { return }
            guard entries.count < Self.beaconsMax else {
                unplaced &+= 1
                return
            }
            place = entries.count
            beaconTable.set(beacon.uuid, extra: numbers, to: Int32(place))
            entries.append(
                Entry(beacon: beacon, measuredPower: measuredPower, last: present, meter: SignalMeter(at: present)))
            if due == nil { due = Self.secondAfter(present) }
        }
        // Seconds for which `advance` was not called are skipped, because this sighting would be part of them.
        if let due, due <= present { self.due = Self.secondAfter(present) }
        entries[place].meter.received(rssi, at: present)
        entries[place].measuredPower = measuredPower
        entries[place].last = present
    }

    // MARK: Time

    /// The end of the current second while a beacon is in range; `nil` otherwise.
    public var nextDeadline: Instant? { due }

    /// Adds the rangings that are due at or before `time`, second by second, conditions in the order of adding.
    ///
    /// - Parameters:
    ///   - time: the current time on the timeline.
    ///   - clockOffset: how far the wall clock is ahead of the timeline.
    ///   - rangings: receives the rangings.
    public mutating func advance(
        to time: Instant, clockOffset: ClockOffset = .zero, into rangings: inout ContiguousArray<Ranging>
    ) {
        // Each second removes readings from the window, so the loop ends at most one window after the last sighting.
        while let due, due <= time {
            report(at: due, clockOffset, into: &rangings)
            let isQuiet = entries.isEmpty && !wanted.contains(where: \.isInView)
            // At the end of the timeline, no second follows.
            let next = Self.secondAfter(due)
            self.due = isQuiet || next <= due ? nil : next
        }
        present = max(present, time)
    }

    private mutating func report(
        at end: Instant, _ clockOffset: ClockOffset, into rangings: inout ContiguousArray<Ranging>
    ) {
        // The window ends before `end`: a sighting exactly at `end` belongs to the next second.
        let last = Instant(nanoseconds: end.nanoseconds - 1)
        let window = settings.window
        forget(entries.indices.filter { entries[$0].meter.reading(of: window, at: last).reports == 0 })
        var lists = [[RangedBeacon]](repeating: [], count: wanted.count)
        for entry in entries {
            let beacon = rangedBeacon(entry, at: last)
            let hash = conditionTable.hash(entry.beacon.uuid)
            for kind in 0..<3 {
                let place = match(kind, entry.beacon, hash: hash)
                if place >= 0 { lists[Int(place)].append(beacon) }
            }
        }
        for index in wanted.indices {
            guard !lists[index].isEmpty || wanted[index].isInView else { continue }
            wanted[index].isInView = !lists[index].isEmpty
            lists[index].sort(by: Self.isNearer)
            let excess = lists[index].count - Self.listedMax
            if excess > 0 {
                lists[index].removeLast(excess)
                unlisted &+= excess
            }
            rangings.append(
                Ranging(
                    condition: wanted[index].condition, time: end, clockOffset: clockOffset, beacons: lists[index]))
        }
    }

    private func rangedBeacon(_ entry: Entry, at time: Instant) -> RangedBeacon {
        let reading = entry.meter.reading(of: settings.window, at: time)
        let rssi = reading.mean
        let distance = rssi.flatMap { settings.model.distance(measuredPower: entry.measuredPower, rssi: $0) }
        return RangedBeacon(
            beacon: entry.beacon, rssi: rssi, proximity: settings.proximity(of: distance), accuracy: distance,
            count: reading.reports, lastSighting: entry.last)
    }

    private static func isNearer(_ left: RangedBeacon, _ right: RangedBeacon) -> Bool {
        let (one, other) = (left.accuracy ?? .infinity, right.accuracy ?? .infinity)
        return one != other ? one < other : left.beacon < right.beacon
    }

    /// Removes the beacons at `places`, which must be in ascending order. The last beacon moves to each free index.
    private mutating func forget(_ places: [Int]) {
        for place in places.reversed() {
            let gone = entries[place].beacon
            beaconTable.remove(gone.uuid, extra: UInt64(gone.major) << 16 | UInt64(gone.minor))
            let last = entries.removeLast()
            guard place < entries.count else { continue }
            entries[place] = last
            let numbers = UInt64(last.beacon.major) << 16 | UInt64(last.beacon.minor)
            beaconTable.set(last.beacon.uuid, extra: numbers, to: Int32(clamping: place))
        }
    }

    private static func secondAfter(_ time: Instant) -> Instant {
        Instant(nanoseconds: (time.nanoseconds / second + 1) * second)
    }
}
