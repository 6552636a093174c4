public import BaseTypes
public import BluetoothLE

/// Ranging as a value: sightings and time in, once a second the beacons in view of each condition out.
///
/// At each whole second of the timeline it tells, for each condition, the beacons that were sighted in the window before it
/// (``RangingSettings/window``), the nearest first. Their RSSI is the arithmetic mean, in dBm, of every reading in the
/// window: it rounds nothing, weighs every reading alike, and forgets what is older at once. (The mean of distances would be
/// biased: noise of σ dB makes it longer by a factor of `exp((σ ln 10 / 10 n)² / 2)`.) Where nobody is in view, nothing is
/// told and nothing is due.
///
/// It remembers ``beaconsMax`` beacons that match a condition. Where they are full a newcomer finds no place and is counted
/// (``unplaced``) until one has been silent for the window; nobody who is heard is pushed out. A sighting of somebody known
/// allocates nothing.
public struct Ranger: Sendable {
    /// The most beacons that are remembered.
    public static let beaconsMax = 4096
    /// The most beacons that are told for one condition and second: the nearest.
    public static let listedMax = 256

    /// How distances are guessed.
    public let settings: RangingSettings
    /// Sightings of newcomers that found no place.
    public private(set) var unplaced = 0
    /// Beacons in view that were not told because ``listedMax`` were nearer, counted each second.
    public private(set) var unlisted = 0

    private struct Heard: Sendable {
        let beacon: BeaconIdentity
        var measuredPower: Int8
        var last: Instant
        var meter: SignalMeter
    }

    private struct Wanted: Sendable {
        let condition: BeaconMonitor.BeaconIdentityCondition
        /// Whether the last that was told of it had beacons.
        var isInView = false
    }

    private var wanted: ContiguousArray<Wanted> = []
    /// UUID, with major, with both → place in ``wanted``; and how many there are of each kind.
    private var conditionTable = IdentityTable()
    private var kinds: InlineArray<3, Int> = [0, 0, 0]
    private var heard: ContiguousArray<Heard> = []
    private var beaconTable = IdentityTable()
    private var present = Instant.earliest
    private var due: Instant?

    private static let second: Int64 = 1_000_000_000

    /// A ranger without conditions.
    public init(settings: RangingSettings = RangingSettings()) { self.settings = settings }

    // MARK: Conditions

    /// The conditions, in the order in which they were added.
    public var conditions: [BeaconMonitor.BeaconIdentityCondition] { wanted.map(\.condition) }
    /// How many beacons are remembered.
    public var beacons: Int { heard.count }

    /// Adds a condition; what is there already stays as it is.
    public mutating func add(_ condition: BeaconMonitor.BeaconIdentityCondition) {
        guard place(of: condition) == nil else { return }
        wanted.append(Wanted(condition: condition))
        register(wanted.count - 1)
    }

    /// Takes a condition out; beacons that match no other are forgotten.
    public mutating func remove(_ condition: BeaconMonitor.BeaconIdentityCondition) {
        guard let place = place(of: condition) else { return }
        wanted.remove(at: place)
        conditionTable = IdentityTable()
        kinds = [0, 0, 0]
        for index in wanted.indices { register(index) }
        forget(heard.indices.filter { !matches(heard[$0].beacon) })
        if heard.isEmpty, !wanted.contains(where: \.isInView) { due = nil }
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

    /// The place of the condition of a kind that a beacon matches, or −1.
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

    /// A beacon was sighted. What is due at or before `time` is to be told first (``advance(to:clockOffset:into:)``); a
    /// sighting stamped earlier than one before counts for that one's time (rule T2).
    public mutating func sighted(_ sighting: Sighting) {
        sighted(sighting.beacon, measuredPower: sighting.measuredPower, rssi: sighting.rssi, at: sighting.time)
    }

    /// A beacon was sighted, the parts of a sighting that matter here.
    public mutating func sighted(_ beacon: BeaconIdentity, measuredPower: Int8, rssi: RSSI?, at time: Instant) {
        present = max(present, time)
        let numbers = UInt64(beacon.major) << 16 | UInt64(beacon.minor)
        var place = Int(beaconTable.find(beacon.uuid, extra: numbers))
        if place < 0 {
            guard matches(beacon) else { return }
            guard heard.count < Self.beaconsMax else {
                unplaced &+= 1
                return
            }
            place = heard.count
            beaconTable.set(beacon.uuid, extra: numbers, to: Int32(place))
            heard.append(
                Heard(beacon: beacon, measuredPower: measuredPower, last: present, meter: SignalMeter(at: present)))
            if due == nil { due = Self.secondAfter(present) }
        }
        // Seconds that nobody had told before this are passed over: they could not be told without it any more.
        if let due, due <= present { self.due = Self.secondAfter(present) }
        heard[place].meter.heard(rssi, at: present)
        heard[place].measuredPower = measuredPower
        heard[place].last = present
    }

    // MARK: Time

    /// When something is next to be told: the present second's end while a beacon is in view.
    public var nextDeadline: Instant? { due }

    /// Tells what is due at or before `time`, second by second, conditions in the order in which they were added.
    ///
    /// - Parameters:
    ///   - time: the timeline's present.
    ///   - clockOffset: how far the wall clock is ahead of the timeline.
    ///   - rangings: where what is told is added.
    public mutating func advance(
        to time: Instant, clockOffset: ClockOffset = .zero, into rangings: inout ContiguousArray<Ranging>
    ) {
        // Each second empties the window further: this ends after at most a window's worth of silence.
        while let due, due <= time {
            tell(at: due, clockOffset, into: &rangings)
            let isQuiet = heard.isEmpty && !wanted.contains(where: \.isInView)
            // At the timeline's end there is no second after it.
            let next = Self.secondAfter(due)
            self.due = isQuiet || next <= due ? nil : next
        }
        present = max(present, time)
    }

    private mutating func tell(
        at end: Instant, _ clockOffset: ClockOffset, into rangings: inout ContiguousArray<Ranging>
    ) {
        // The seconds that are over by then: a sighting at the very end is the next one's.
        let last = Instant(nanoseconds: end.nanoseconds - 1)
        let window = settings.window
        forget(heard.indices.filter { heard[$0].meter.reading(of: window, at: last).reports == 0 })
        var lists = [[RangedBeacon]](repeating: [], count: wanted.count)
        for entry in heard {
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

    private func rangedBeacon(_ entry: Heard, at time: Instant) -> RangedBeacon {
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

    /// Forgets the beacons at `places`, which rise; the last beacon moves to where one was.
    private mutating func forget(_ places: [Int]) {
        for place in places.reversed() {
            let gone = heard[place].beacon
            beaconTable.remove(gone.uuid, extra: UInt64(gone.major) << 16 | UInt64(gone.minor))
            let last = heard.removeLast()
            guard place < heard.count else { continue }
            heard[place] = last
            let numbers = UInt64(last.beacon.major) << 16 | UInt64(last.beacon.minor)
            beaconTable.set(last.beacon.uuid, extra: numbers, to: Int32(clamping: place))
        }
    }

    private static func secondAfter(_ time: Instant) -> Instant {
        Instant(nanoseconds: (time.nanoseconds / second + 1) * second)
    }
}
