import BaseTypes
import BluetoothLE
import SiteMonitoring
import TestSupport

/// A site with random sightings and batches, and the resulting log. The same seed gives the same log.
struct OrderFixture {
    /// The faults that can happen.
    enum Faults: CaseIterable {
        /// No faults: clocks are right to within a second, and each batch arrives in time.
        case none
        /// Batches are missing. Gateways lose their connection, restart, sleep, or stop scanning. Clocks are wrong and
        /// step.
        case all
    }

    struct Entry {
        var batch: Batch
        var stored: Instant
    }

    private struct Gateway {
        var name: LogName
        var boot: UInt128 = 1
        // The true time at which the machine started, and how far its wall clock is ahead.
        var started: Int64
        var skew: Int64
        var sequence: UInt64 = 0
        // Whether its process has not cut a batch yet.
        var isStart = true
        var completeToSinceBoot: Int64?
        // Whether each adapter scans, by its index.
        var adapters: [Bool]
        var cutOffUntil = 0
        var offUntil = 0
        var kept: [Batch] = []
    }

    static let start: Int64 = 1_700_000_000_000_000_000
    static let second: Int64 = 1_000_000_000

    /// The entries of the log.
    var entries: [Entry] = []
    /// All sightings, with the times of the gateways' clocks.
    var sightings: [(time: Int64, text: String)] = []

    init(seed: UInt64, _ faults: Faults, seconds: Int = 60) throws {
        var random = SeededGenerator(state: seed)
        var gateways: [Gateway] = []
        for number in 0...random.below(5) {
            let name = try LogName("g\(number)")
            let skew = random.chance(faults == .all ? 20 : 0) ? Int64(random.below(40)) - 20 : 0
            gateways.append(
                Gateway(
                    name: name, started: Self.start - Int64(random.below(1_000_000)) * Self.second,
                    skew: skew * Self.second + Int64(random.below(1_700) - 850) * 1_000_000,
                    adapters: (0...random.below(2)).map { _ in faults == .none || random.chance(90) }))
        }
        for second in 1...seconds {
            for place in gateways.indices {
                if faults == .all { Self.addFaults(&gateways[place], second, &random) }
                guard second >= gateways[place].offUntil else { continue }
                let cut = Self.start + Int64(second) * Self.second + Int64(random.below(50)) * 1_000_000
                let batch = try Self.cut(&gateways[place], at: cut, faults, &random)
                note(batch)
                if faults == .all, random.chance(2) { continue }
                gateways[place].kept.append(batch)
                guard second >= gateways[place].cutOffUntil else { continue }
                for (number, batch) in gateways[place].kept.enumerated() {
                    let delay = Int64(10 + random.below(200) + number) * 1_000_000
                    entries.append(Entry(batch: batch, stored: Instant(nanoseconds: cut + delay)))
                }
                gateways[place].kept = []
            }
        }
        let order = entries.indices.sorted {
            let (left, right) = (entries[$0], entries[$1])
            if left.stored != right.stored { return left.stored < right.stored }
            return $0 < $1
        }
        entries = order.map { entries[$0] }
        guard faults == .all else { return }
        disturb(&random)
    }

    /// Repeats some batches, and puts some after batches that were sent later.
    mutating func disturb(_ random: inout SeededGenerator) {
        var position = 0
        while position < entries.count {
            if random.chance(5) {
                let later = min(position + random.below(20), entries.count - 1)
                entries.insert(Entry(batch: entries[position].batch, stored: entries[later].stored), at: later + 1)
            }
            if random.chance(5) {
                let name = entries[position].batch.key.gateway
                let next = entries.indices.dropFirst(position + 1).first { entries[$0].batch.key.gateway == name }
                if let next {
                    // It is stored with the next one, because a batch must not be stored before it was cut.
                    let late = Entry(batch: entries[position].batch, stored: entries[next].stored)
                    entries.insert(late, at: next + 1)
                    entries.remove(at: position)
                }
            }
            position += 1
        }
    }

    private mutating func note(_ batch: Batch) {
        let offset = batch.span.wall.nanoseconds - batch.span.cut.nanoseconds
        for sighting in batch.sightings {
            let name = "\(batch.key.gateway)/\(batch.adapters[sighting.adapter].name)"
            let (minor, rssi) = (sighting.advertiser.beacon.minor, sighting.rssi.map { "\($0.dBm)" } ?? "-")
            sightings.append((sighting.time.nanoseconds + offset, "\(name) sighted \(minor) \(rssi)"))
        }
    }

    private static func addFaults(_ gateway: inout Gateway, _ second: Int, _ random: inout SeededGenerator) {
        if random.chance(1) { gateway.cutOffUntil = second + random.below(25) }
        if random.chance(1) { gateway.skew = Int64(random.below(20) - 10) * Self.second }
        if random.chance(1) {
            // The machine restarts, with the batches that it has kept or without them.
            gateway.boot += 1
            gateway.sequence = UInt64(random.below(9))
            gateway.isStart = true
            gateway.completeToSinceBoot = nil
            gateway.started = Self.start + Int64(second) * Self.second
            gateway.offUntil = second + 1 + random.below(12)
            if random.chance(50) { gateway.kept = [] }
        }
        if random.chance(1) { gateway.offUntil = second + random.below(12) }
        if random.chance(2) {
            // Another process starts. Its first batch can skip numbers. It sends the batches that were kept, or has
            // lost them.
            gateway.sequence += UInt64(random.below(9))
            gateway.isStart = true
            gateway.offUntil = second + random.below(3)
            if random.chance(50) { gateway.kept = [] }
        }
    }

    private static func cut(
        _ gateway: inout Gateway, at cut: Int64, _ faults: Faults, _ random: inout SeededGenerator
    ) throws -> Batch {
        let sinceStart = cut - gateway.started
        let completeTo = sinceStart - Int64(random.below(5)) * 1_000_000
        var begin = gateway.completeToSinceBoot ?? max(completeTo - second, 0)
        // A machine that slept has no data of that time.
        if completeTo - begin > 2 * second { begin = completeTo - second }
        begin = min(begin, completeTo)
        gateway.completeToSinceBoot = completeTo
        gateway.sequence += 1
        defer { gateway.isStart = false }
        // There are only 20 different times in a second, so that some data have the same time.
        func moment() -> Instant {
            Instant(nanoseconds: min(begin + Int64(random.below(20)) * second / 20, completeTo))
        }
        let before = gateway.adapters
        var sightings: [Batch.Sighting] = []
        for _ in 0..<random.below(5) {
            let beacon = BeaconIdentity(uuid: ProximityUUID(high: 1, low: 2), major: 1, minor: UInt16(random.below(5)))
            sightings.append(
                Batch.Sighting(
                    at: moment(), adapter: random.below(before.count),
                    Batch.Advertiser(beacon, measuredPower: -59, address: nil),
                    rssi: random.chance(90) ? RSSI(dBm: Int8(-90 + random.below(50))) : nil))
        }
        var changes: [Batch.Change] = []
        if faults == .all, random.chance(10) {
            let (adapter, time) = (random.below(before.count), moment())
            let since = time - .seconds(random.chance(50) ? 3 : 0)
            let kind: Batch.Change.Kind =
                !before[adapter] ? .started : random.chance(80) ? .stopped(since: since) : .removed
            changes.append(try Batch.Change(kind, adapter: adapter, at: time, reason: "word"))
            gateway.adapters[adapter].toggle()
        }
        let adapters = try before.indices.map { number in
            let time = moment()
            return try Batch.Adapter(
                name: "hci\(number)", address: nil, isListening: before[number],
                reports: random.chance(30) ? Batch.Adapter.Reports(first: time, last: time) : nil)
        }
        return try Batch(
            site: LogName("site"),
            key: BatchKey(gateway: gateway.name, boot: gateway.boot, sequence: gateway.sequence),
            span: Batch.Span(
                from: Instant(nanoseconds: begin), completeTo: Instant(nanoseconds: completeTo),
                cut: Instant(nanoseconds: sinceStart), wall: Instant(nanoseconds: cut + gateway.skew),
                isStart: gateway.isStart),
            // Adapters that do not scan are named too, although this is not required.
            adapters: adapters, changes: changes, sightings: sightings.sorted())
    }
}
