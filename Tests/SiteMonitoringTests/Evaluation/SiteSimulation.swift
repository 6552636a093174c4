import BaseTypes
import BeaconMonitoring
import BluetoothLE
import SiteLogSupport
import SiteMonitoring
import TestSupport

/// A site in memory: gateways, badges that move between them, and a log. The same seed gives the same log.
struct SiteSimulation {
    private struct Gateway {
        let name: LogName
        var boot: UInt128 = 1
        var started: Int64
        let skew: Int64
        var sequence: UInt64 = 0
        var reportedTo: Int64?
        var kept: [Batch] = []
        var cutOffUntil = 0
        var offUntil = 0
        let client: MemoryLogClient
    }

    static let start: Int64 = 1_700_000_000_000_000_000
    static let second: Int64 = 1_000_000_000

    let log = MemoryLog()
    private(set) var now = Instant(nanoseconds: start)
    private(set) var batches: [Batch] = []
    private var gateways: [Gateway] = []
    // The gateway near each badge; `nil` if the badge is away.
    private var places: [Int?]
    private var random: SeededGenerator
    private let hasFaults: Bool
    /// The `exit_timeout` of the badges, in seconds.
    private(set) var exitTimeout = 0
    private var second = 0

    /// Creates a site with a configuration in its log.
    ///
    /// - Parameters:
    ///   - seed: determines everything that happens.
    ///   - hasFaults: whether gateways lose their connection, stop and restart, and batches are lost, repeated and
    ///     reordered.
    ///   - count: the number of gateways.
    ///   - badges: the number of badges.
    /// - Throws: ``SiteLogError`` if a name is invalid.
    init(seed: UInt64, hasFaults: Bool = false, gateways count: Int = 4, badges: Int = 12) throws {
        self.hasFaults = hasFaults
        random = SeededGenerator(state: seed)
        places = Array(repeating: nil, count: badges)
        for number in 0..<count {
            gateways.append(
                Gateway(
                    name: try LogName("g\(number)"), started: Self.start - Int64(random.below(100_000)) * Self.second,
                    skew: Int64(random.below(1_700) - 850) * 1_000_000, client: log.client()))
        }
        exitTimeout = 3 + random.below(6)
        try configure("exit \(exitTimeout)")
    }

    /// Stores a configuration in the log.
    mutating func configure(_ text: String) throws {
        let key = BatchKey(gateway: try LogName("configuration"), boot: 1, sequence: UInt64(log.allBatches.count))
        let bytes = SiteMessage.configuration(Array(text.utf8)).bytes
        _ = try log.client().send(.append(key, bytes), at: now)
    }

    /// Returns the lines that one process computes from the log.
    static func lines(of entries: [LogEntry]) throws -> [SiteLine] {
        var engine = try SiteEngine(site: LogName("hall"), WatchedSetup())
        var lines: [SiteLine] = []
        for entry in entries { engine.take(entry, into: &lines) }
        return lines
    }

    // MARK: Time

    /// Advances time by one second; each gateway sends its batch.
    mutating func pass() throws {
        second += 1
        now = Instant(nanoseconds: Self.start + Int64(second) * Self.second)
        walk()
        for place in gateways.indices { try send(place) }
    }

    /// Takes all badges away, permanently.
    mutating func empty() { places = [] }

    private mutating func walk() {
        for badge in places.indices where random.chance(8) {
            places[badge] = random.chance(40) ? nil : random.below(gateways.count)
        }
    }

    private mutating func send(_ place: Int) throws {
        if hasFaults { disturb(place) }
        guard second >= gateways[place].offUntil else { return }
        let batch = try cut(place)
        batches.append(batch)
        if hasFaults, random.chance(2) { return }
        gateways[place].kept.append(batch)
        guard second >= gateways[place].cutOffUntil else { return }
        for batch in gateways[place].kept {
            if hasFaults, random.chance(4) {
                gateways[place].client.script(random.pick([.storedTwice, .inverted]), for: .append)
            }
            let bytes = SiteMessage.batch(batch).bytes
            _ = try gateways[place].client.send(
                .append(batch.key, bytes), at: now + .milliseconds(5 + random.below(100)))
        }
        gateways[place].kept = []
        _ = gateways[place].client.answers(at: now)
    }

    private mutating func disturb(_ place: Int) {
        if random.chance(1) { gateways[place].cutOffUntil = second + random.below(25) }
        if random.chance(1) { gateways[place].offUntil = second + random.below(30) }
        guard random.chance(1) else { return }
        gateways[place].boot += 1
        gateways[place].sequence = 0
        gateways[place].reportedTo = nil
        gateways[place].started = Self.start + Int64(second) * Self.second
        gateways[place].offUntil = second + 1 + random.below(12)
        if random.chance(50) { gateways[place].kept = [] }
    }

    private mutating func cut(_ place: Int) throws -> Batch {
        let cut = Self.start + Int64(second) * Self.second
        let sinceStart = cut - gateways[place].started
        let begin = max(gateways[place].reportedTo ?? 0, sinceStart - Self.second)
        gateways[place].reportedTo = sinceStart
        gateways[place].sequence += 1
        var sightings: [Batch.Sighting] = []
        for badge in places.indices where places[badge] == place && random.chance(80) {
            let time = begin + Int64(random.below(1_000_000)) * 1_000 % max(sinceStart - begin, 1)
            let beacon = BeaconIdentity(uuid: WatchedSetup.uuid, major: 1, minor: UInt16(badge))
            sightings.append(
                Batch.Sighting(
                    at: Instant(nanoseconds: time), adapter: 0,
                    Batch.Advertiser(beacon, measuredPower: -59, address: nil),
                    rssi: RSSI(dBm: Int8(-90 + random.below(50)))))
        }
        let gateway = gateways[place]
        return try Batch(
            site: LogName("hall"),
            key: BatchKey(gateway: gateway.name, boot: gateway.boot, sequence: gateway.sequence),
            span: Batch.Span(
                from: Instant(nanoseconds: begin), completeTo: Instant(nanoseconds: sinceStart),
                cut: Instant(nanoseconds: sinceStart), wall: Instant(nanoseconds: cut + gateway.skew),
                isStart: gateway.sequence == 1),
            adapters: [Batch.Adapter(name: "hci0", address: nil, isListening: true, reports: nil)],
            sightings: sightings.sorted())
    }
}
