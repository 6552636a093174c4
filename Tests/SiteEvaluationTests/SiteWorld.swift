import BeaconMonitoring
import BluetoothLE
import SiteBatch
import SiteEvaluation
import SiteLog
import SiteLogSupport
import SiteOrdering
import TestSupport

/// A site in memory: gateways, badges that walk between them, a log, and processes that read it; and what goes wrong, by
/// chance. The same seed gives the same.
struct SiteWorld {
    /// What may go wrong.
    struct Troubles {
        /// Gateways are cut off, deaf, start again, and their batches are lost, repeated and inverted.
        var ofGateways = false
        /// Processes are killed and begin anew, are stopped past their lease; requests and answers are lost and late; the log
        /// is away.
        var ofProcesses = false
    }

    private struct Gateway {
        let name: LogName
        var boot: UInt128 = 1
        var started: Int64
        let skew: Int64
        var sequence: UInt64 = 0
        var toldTo: Int64?
        var kept: [Batch] = []
        var cutOffUntil = 0
        var offUntil = 0
        let client: MemoryLogClient
    }

    /// A process and its connection.
    struct Member {
        var process: SiteProcess<WatchedSetup>
        let client: MemoryLogClient
        /// It does not go on before that step: SIGSTOP.
        var stoppedUntil = 0
    }

    static let start: Int64 = 1_700_000_000_000_000_000
    static let second: Int64 = 1_000_000_000

    let log = MemoryLog()
    private(set) var now = Instant(nanoseconds: start)
    var members: [Member] = []
    private(set) var batches: [Batch] = []
    /// What ended processes had counted.
    private(set) var ended = SiteProcessCounters()
    private(set) var failures: [SiteProcessFailure] = []
    private var gateways: [Gateway] = []
    // Which gateway each badge is near; none where it is away.
    private var places: [Int?]
    private var random: SeededGenerator
    private let troubles: Troubles
    /// After how many seconds a badge is gone.
    private(set) var exitTimeout = 0
    private var starts = 0
    private var second = 0
    private var awayUntil = 0

    init(seed: UInt64, _ troubles: Troubles, gateways count: Int = 4, badges: Int = 12, processes: Int = 3) throws {
        self.troubles = troubles
        random = SeededGenerator(state: seed)
        places = Array(repeating: nil, count: badges)
        for number in 0..<count {
            gateways.append(
                Gateway(
                    name: try LogName("g\(number)"), started: Self.start - Int64(random.below(100_000)) * Self.second,
                    skew: Int64(random.below(1_700) - 850) * 1_000_000, client: log.client()))
        }
        for _ in 0..<processes { members.append(try member()) }
        exitTimeout = 3 + random.below(6)
        try configure("exit \(exitTimeout)")
    }

    /// Puts a configuration into the log.
    mutating func configure(_ text: String) throws {
        let key = BatchKey(gateway: try LogName("configuration"), boot: 1, sequence: UInt64(log.allBatches.count))
        let octets = SiteMessage.configuration(Array(text.utf8)).octets
        _ = try log.client().send(.append(key, octets), at: now)
    }

    /// What one process makes of the log.
    static func lines(of entries: [LogEntry]) throws -> [SiteLine] {
        var engine = try SiteEngine(site: LogName("hall"), WatchedSetup())
        var lines: [SiteLine] = []
        for entry in entries { engine.take(entry, into: &lines) }
        return lines
    }

    // MARK: Processes

    private mutating func member() throws -> Member {
        starts += 1
        let engine = try SiteEngine(site: LogName("hall"), WatchedSetup())
        return Member(process: SiteProcess(try LogName("site-\(starts)"), engine), client: log.client())
    }

    /// A process that is killed, and one with an empty disk in its place.
    mutating func replace(_ place: Int) throws {
        note(members[place].process)
        members[place] = try member()
    }

    private mutating func note(_ process: SiteProcess<WatchedSetup>) {
        ended.published += process.counters.published
        ended.fenced += process.counters.fenced
        ended.audited += process.counters.audited
        ended.troubles += process.counters.troubles
        if let failure = process.failure { failures.append(failure) }
    }

    /// Ends all of them.
    mutating func end() {
        for member in members { note(member.process) }
        members = []
    }

    // MARK: Time

    /// Lets a second go by: what is heard is sent, and processes take eight turns.
    mutating func pass(isQuiet: Bool = false) throws {
        second += 1
        walk()
        for place in gateways.indices { try send(place, isQuiet: isQuiet) }
        for turn in 0..<8 {
            now = Instant(nanoseconds: Self.start + Int64(second) * Self.second + Int64(turn) * Self.second / 8)
            if troubles.ofProcesses, !isQuiet, random.chance(10) { try trouble() }
            if isQuiet || second >= awayUntil { log.isAway = false }
            for place in members.indices where isQuiet || second >= members[place].stoppedUntil {
                members[place].process.turn(members[place].client, at: now)
            }
        }
    }

    /// Lets a minute go by in which no gateway sends anything, and nothing goes wrong.
    mutating func rest() {
        log.isAway = false
        for turn in 1...480 {
            if turn % 8 == 0 { second += 1 }
            now = Instant(nanoseconds: Self.start + Int64(second) * Self.second + Int64(turn % 8) * Self.second / 8)
            for place in members.indices { members[place].process.turn(members[place].client, at: now) }
        }
    }

    private mutating func trouble() throws {
        let place = random.below(members.count)
        switch random.below(7) {
        case 0: try replace(place)
        case 1: members[place].stoppedUntil = second + 1 + random.below(12)
        case 2: log.endLease()
        case 3 where random.chance(20):
            log.isAway = true
            awayUntil = second + 1 + random.below(8)
        default:
            let faults: [MemoryLogFault] = [
                .unavailable, .slow(.seconds(2)), .late(.seconds(7)), .lost, .answerLost,
            ]
            members[place].client.script(
                random.pick(faults), for: random.pick([.read, .lease, .publish, .publish]))
        }
    }

    /// All badges are gone, for good.
    mutating func empty() { places = [] }

    private mutating func walk() {
        for badge in places.indices where random.chance(8) {
            places[badge] = random.chance(40) ? nil : random.below(gateways.count)
        }
    }

    private mutating func send(_ place: Int, isQuiet: Bool) throws {
        let isTroubled = troubles.ofGateways && !isQuiet
        if isTroubled { troubleGateway(place) }
        guard isQuiet || second >= gateways[place].offUntil else { return }
        let batch = try cut(place)
        batches.append(batch)
        if isTroubled, random.chance(2) { return }
        gateways[place].kept.append(batch)
        guard isQuiet || second >= gateways[place].cutOffUntil, !log.isAway else { return }
        for batch in gateways[place].kept {
            if isTroubled, random.chance(4) {
                gateways[place].client.script(random.pick([.storedTwice, .inverted]), for: .append)
            }
            let octets = SiteMessage.batch(batch).octets
            _ = try gateways[place].client.send(
                .append(batch.key, octets), at: now + .milliseconds(5 + random.below(100)))
        }
        gateways[place].kept = []
        _ = gateways[place].client.answers(at: now)
    }

    private mutating func troubleGateway(_ place: Int) {
        if random.chance(1) { gateways[place].cutOffUntil = second + random.below(25) }
        if random.chance(1) { gateways[place].offUntil = second + random.below(30) }
        guard random.chance(1) else { return }
        gateways[place].boot += 1
        gateways[place].sequence = 0
        gateways[place].toldTo = nil
        gateways[place].started = Self.start + Int64(second) * Self.second
        gateways[place].offUntil = second + 1 + random.below(12)
        if random.chance(50) { gateways[place].kept = [] }
    }

    private mutating func cut(_ place: Int) throws -> Batch {
        let cut = Self.start + Int64(second) * Self.second
        let sinceStart = cut - gateways[place].started
        let begin = max(gateways[place].toldTo ?? 0, sinceStart - Self.second)
        gateways[place].toldTo = sinceStart
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
                isStart: gateway.sequence == 1, isThinned: false),
            adapters: [Batch.Adapter(name: "hci0", address: nil, isListening: true, reports: nil)],
            sightings: sightings.sorted())
    }
}
