import BaseTypes
import BluetoothLE
import SiteMonitoring
import TestSupport

/// Random batches of all kinds that are possible, including empty ones.
struct RandomBatch {
    private var random: SeededGenerator
    private var from = Instant.earliest
    private var completeTo = Instant.earliest

    // Whether all batches have few bytes.
    private let areSmall: Bool

    init(seed: UInt64, areSmall: Bool = false) {
        random = SeededGenerator(state: seed)
        self.areSmall = areSmall
    }

    mutating func next() throws -> Batch {
        from = Instant(nanoseconds: Int64(random.below(1_000_000_000)) * Int64(random.pick([1_000, 1, 7_919_000])))
        completeTo = from + .microseconds(random.pick([0, 1, 1_000_000, 40_000_000]))
        let cut = completeTo + .microseconds(random.below(3) * 250_000)
        let span = try Batch.Span(
            from: from, completeTo: completeTo, cut: cut,
            wall: Instant(nanoseconds: Int64(random.next() >> 2)), isStart: random.chance(20))
        let adapterCount = random.pick(areSmall ? [0, 1, 2] : [0, 1, 1, 2, 5, 5, 5, 255])
        let adapters = try (0..<adapterCount).map { try adapter($0) }
        let many = adapterCount == 0 ? 0 : random.pick(areSmall ? [0, 1, 3] : [0, 1, 3, 60])
        let changes = try (0..<random.below(many + 1)).map { _ in try change(of: adapterCount) }
            .sorted { $0.time < $1.time }
        let sightings = (0..<random.below(many + 1)).map { _ in sighting(of: adapterCount, at: moment()) }.sorted()
        return try Batch(
            site: LogName(random.pick(["campus", "s", "shop-17_b"])),
            key: BatchKey(
                gateway: LogName(random.pick(["lobby", "g", String(repeating: "x", count: 64)])),
                boot: UInt128(random.next()) << 64 | UInt128(random.next()), sequence: random.next()),
            span: span, adapters: adapters, changes: changes, sightings: sightings)
    }

    /// Returns a random time within the batch.
    private mutating func moment() -> Instant {
        let microseconds = (completeTo.nanoseconds / 1_000) - (from.wholeMicroseconds.nanoseconds / 1_000)
        return from.wholeMicroseconds + .microseconds(random.below(Int(microseconds) + 1))
    }

    private mutating func adapter(_ place: Int) throws -> Batch.Adapter {
        let times = [moment(), moment()].sorted()
        return try Batch.Adapter(
            name: random.pick(["hci", "Küche ", "日本"]) + "\(place)",
            address: random.chance(70) ? DeviceAddress(random.next(), kind: random.pick([.public, .random])) : nil,
            isListening: random.chance(80),
            reports: random.chance(70) ? Batch.Adapter.Reports(first: times[0], last: times[1]) : nil)
    }

    private mutating func change(of adapters: Int) throws -> Batch.Change {
        let time = moment()
        let since = random.chance(50) ? time : Instant(nanoseconds: time.nanoseconds / 2)
        return try Batch.Change(
            random.pick([.started, .removed, .stopped(since: since)]), adapter: random.below(adapters), at: time,
            reason: random.pick([nil, "", "it was unplugged", String(repeating: "ä", count: 128)]))
    }

    private mutating func sighting(of adapters: Int, at time: Instant) -> Batch.Sighting {
        let address: DeviceAddress? =
            random.chance(60) ? DeviceAddress(random.next() % 3, kind: random.pick(DeviceAddress.Kind.allCases)) : nil
        let advertiser = Batch.Advertiser(
            BeaconIdentity(
                uuid: ProximityUUID(high: random.next() % 3 << 61, low: random.next() % 2),
                major: UInt16(truncatingIfNeeded: random.next()), minor: UInt16(random.below(4))),
            measuredPower: Int8(truncatingIfNeeded: random.next()), address: address)
        return Batch.Sighting(at: time, adapter: random.below(adapters), advertiser, rssi: rssi())
    }

    private mutating func rssi() -> RSSI? { RSSI(reported: UInt8(truncatingIfNeeded: random.next())) }
}

extension [UInt8] {
    /// The same bytes with the valid checksum in place of the last four.
    var checked: [UInt8] {
        let body = dropLast(4)
        let check = CRC32.of(body)
        return body + stride(from: 0, to: 32, by: 8).map { UInt8(truncatingIfNeeded: check >> $0) }
    }
}
