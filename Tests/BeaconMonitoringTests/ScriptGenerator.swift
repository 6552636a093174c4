import BaseTypes
import BluetoothLE
import TestSupport

@testable import BeaconMonitoring

/// Generates scripts in which equal times and exact boundaries are frequent: durations and steps of time are a few
/// multiples of the same coarse seconds, sometimes one nanosecond off.
struct ScriptGenerator {
    // é is one scalar in one identifier and two in another: equal characters, different bytes. U+FF5E comes after
    // U+1F4F6 in UTF-16 and before it in UTF-8; "Z" before "a".
    static let identifiers = ["a", "e\u{301}", "\u{e9}", "b", "Z", "\u{ff5e}", "\u{1f4f6}", "a b"].map(identifier)
    static let monitors = ["site", "yard", "île"].map(identifier)
    static let adapterNames = ["hci0", "hci1", "hci10", "lobby/hci0", "étage", "hci2", "Z", "hci3", "hci4", "hci5"]
    static let second: Int64 = 1_000_000_000

    static func identifier(_ text: String) -> Identifier {
        do { return try Identifier(text) } catch { preconditionFailure("C6 allows \(text): \(error)") }
    }

    private var random: SeededGenerator
    private var seconds: Int64
    private let seed: UInt64
    private let adapters: [String]
    private let identifiers: [Identifier]
    private let monitors: [Identifier]
    private let beacons: [BeaconIdentity]
    private let sightingsPercent: Int
    private let outages: [Int]
    /// One script in two has a location source. One in three of these is mostly about circles.
    private let hasSource: Bool
    private let locatedPercent: Int

    static func script(seed: UInt64, steps: Int) -> Script {
        var generator = ScriptGenerator(seed: seed)
        return generator.script(steps: steps)
    }

    private init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(state: seed &* 0x2545_F491_4F6C_DD1D)
        seconds = random.chance(20) ? 0 : 1000
        // About one script in six has all adapters, for the limit of holders.
        let crowded = random.chance(16)
        var names = Array(
            Self.adapterNames.shuffled(using: &random).prefix(crowded ? 10 : random.pick([1, 2, 2, 3, 4])))
        // About one in three of the others has controllers with addresses or without, which change their names (rule
        // L7).
        if !crowded, random.chance(33) {
            let controllers = Array(
                ["", "@0", "@1", "@2", "@3"].shuffled(using: &random).prefix(random.pick([2, 3, 4])))
            names = names.prefix(3).flatMap { name in controllers.map { name + $0 } }
        }
        adapters = names
        identifiers = Array(Self.identifiers.shuffled(using: &random).prefix(random.pick([1, 2, 4, 8])))
        monitors = Array(Self.monitors.shuffled(using: &random).prefix(random.pick([1, 1, 2, 3])))
        let uuids = [ProximityUUID(high: 0, low: 0xA), ProximityUUID(high: 0, low: 0xB)]
        let all = uuids.flatMap { uuid in
            [(1, 1), (1, 2), (2, 1), (0, 0xFFFF)].map { BeaconIdentity(uuid: uuid, major: $0.0, minor: $0.1) }
        }
        beacons = Array(all.shuffled(using: &random).prefix(crowded ? 1 : random.pick([1, 2, 4, 8])))
        sightingsPercent = random.pick([30, 55, 70])
        outages = random.pick([[10], [10, 12], [6, 10, 20]])
        hasSource = random.chance(50)
        locatedPercent = random.pick([10, 20, 50])
    }

    private mutating func script(steps count: Int) -> Script {
        var settings = EngineSettings()
        settings.deafAfter = random.pick([nil, nil, .seconds(2), .seconds(4)])
        settings.conditionLimit = random.pick([0, 0, 0, 1, 2, 4])
        settings.maxBeacons = random.pick([10_000, 10_000, 1, 2, 3, 5, 11])
        settings.maxNewBeacons = random.pick([0, 0, 1, 2, 3])
        if hasSource { settings.locationSource = random.pick(["gpsd", "A", "hci"]) }
        let start = Instant(nanoseconds: seconds * Self.second)
        // Not all monitors are added at first. Conditions of a later monitor are refused until it is added.
        var steps: [Step] = monitors.prefix(random.pick([1, 2, 3])).map { monitor($0) }
        // These adapters are known from the start. The others become known with their first step.
        for adapter in adapters where random.chance(50) { steps.append(.adapter(adapter)) }
        for _ in identifiers where random.chance(70) { steps.append(addition(at: start)) }
        if random.chance(50) { steps.append(naming(at: start)) }
        while steps.count < count { steps.append(step()) }
        let offset = ClockOffset(nanoseconds: random.pick([0, 1_700_000_000_000_000_123, -5_000_000_001]))
        return Script(seed: seed, settings: settings, start: start, clockOffset: offset, steps: steps)
    }

    /// Returns the time of the next step: often the present one again, else a few seconds later, sometimes a long time
    /// later, rarely earlier.
    private mutating func time() -> Instant {
        switch random.next() % 100 {
        case 0..<45: break
        case 45..<75: seconds += 1
        case 75..<90: seconds += 2
        case 90..<95: seconds += random.pick([4, 6, 8])
        case 95..<97: seconds += random.pick([10, 20, 41, 60])
        case 97: seconds += random.pick([3600, 86_400])
        default: break
        }
        let back = random.chance(2) ? random.pick([1, 2, 30] as [Int64]) : 0
        let off: Int64 = random.chance(12) ? random.pick([1, -1]) : 0
        return Instant(nanoseconds: (seconds - back) * Self.second + off)
    }

    private mutating func step() -> Step {
        if random.chance(hasSource ? locatedPercent : 1) { return location() }
        if random.chance(sightingsPercent) {
            let rssi = random.pick([nil, -90, -80, -80, -70, -70, -60, 5] as [Int8?]).map { RSSI(dBm: $0) }
            return .sighted(random.pick(adapters), random.pick(beacons), rssi, at: time())
        }
        let adapter = random.pick(adapters)
        switch random.next() % 100 {
        case 0..<20: return .received(adapter, at: time())
        case 20..<28: return .listening(.started, adapter, reason: reason(), at: time())
        case 28..<44: return .listening(.stopped(since: nil), adapter, reason: reason(), at: time())
        case 44..<54:
            let since = Instant(nanoseconds: (seconds - random.pick([-1, 0, 1, 2, 5, 10, 60])) * Self.second)
            return .listening(.stopped(since: since), adapter, reason: reason(), at: time())
        case 54..<60: return .listening(.removed, adapter, reason: reason(), at: time())
        case 60..<76: return addition(at: time())
        case 76..<80: return .remove(random.pick(identifiers), at: time())
        case 80..<89: return .advance(to: time())
        case 89: return .left(Step.controller(adapter).name)
        case 90: return random.chance(40) ? .adapter(adapter) : naming(at: time())
        case 91: return monitor(random.pick(Self.monitors))
        case 92..<97:
            return .clockOffset(ClockOffset(nanoseconds: random.pick([0, 1, 999, 3_600_000_000_000, -77_777])))
        case 97: return .silenceMeansNotScanning(random.chance(50))
        default: return .ambient(random.pick([[], .accuracyLimited, [.clockUnsynchronized, .scannerUnavailable]]))
        }
    }

    private mutating func location() -> Step {
        guard random.chance(80) else {
            let since = Instant(nanoseconds: (seconds - random.pick([-1, 0, 2, 10])) * Self.second)
            let kind = random.pick(
                [.started, .stopped(since: nil), .stopped(since: nil), .stopped(since: since), .removed]
                    as [ListeningChange.Kind])
            return .source(kind, reason: reason(), at: time())
        }
        // The values avoid distances at which rounding decides, but include accuracies as long as a radius.
        let north = random.pick([0, 0, 51, 93, 107, 151, 211, 293, 307, 1003, 20_000] as [Double])
        return .located(north: north, accuracy: random.pick([0, 5, 50, 100, 150, 200]), at: time())
    }

    private mutating func monitor(_ name: Identifier) -> Step {
        let outage = random.pick(outages)
        var settings = MonitorSettings()
        settings.outageTimeout = .seconds(outage)
        settings.forgetAfter = .seconds(random.pick([outage + 1, outage + 10, 40, 86_400]))
        return .monitor(name, settings)
    }

    private mutating func naming(at time: Instant) -> Step {
        let percent = random.pick([0, 30, 60, 100])
        return .name(Set(beacons.filter { _ in random.chance(percent) }), at: time)
    }

    private mutating func reason() -> String? { random.pick([nil, "powered off", "index removed"]) }

    private mutating func addition(at time: Instant) -> Step {
        let beacon = random.pick(beacons)
        let condition: Condition
        switch random.next() % 8 {
        case 0: condition = circle()
        case 4...6 where hasSource && locatedPercent > 20: condition = circle()
        case 1, 2: condition = .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: beacon.uuid, major: beacon.major))
        case 3:
            condition = .beacon(
                BeaconMonitor.BeaconIdentityCondition(uuid: beacon.uuid, major: beacon.major, minor: beacon.minor))
        default: condition = .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: beacon.uuid))
        }
        var settings = ConditionSettings()
        settings.enterCount = random.pick([1, 1, 1, 2, 2, 3, 4])
        settings.enterWindow = .seconds(random.pick([1, 2, 4, 6]))
        settings.exitTimeout = .seconds(random.pick([1, 2, 4, 6, 8, 10, 12, 30]))
        if random.chance(30) {
            settings.enterRSSI = RSSI(dBm: random.pick([-80, -70]))
            if random.chance(60) { settings.exitRSSI = RSSI(dBm: random.pick([-90, -80])) }
        }
        settings.perBeacon = random.chance(45)
        settings.unnamed = random.pick([.track, .track, .track, .ignore, .refuse])
        // In 97 % of the cases, an identifier is added to its own monitor, because other monitors refuse an identifier
        // that exists.
        let identifier = random.pick(identifiers)
        let home = (Self.identifiers.firstIndex(of: identifier) ?? 0) % monitors.count
        let monitor = random.chance(97) ? monitors[home] : random.pick(monitors)
        let assuming = random.pick(
            [.unknown, .unknown, .unknown, .satisfied, .unsatisfied] as [BeaconMonitor.Event.State])
        return .add(condition, identifier, monitor: monitor, assuming: assuming, settings, at: time)
    }

    private mutating func circle() -> Condition {
        let radius = random.pick([100.0, 200.0])
        do {
            return .circle(
                try BeaconMonitor.CircularGeographicCondition(
                    latitude: Step.latitude, longitude: Step.longitude, radius: radius))
        } catch { preconditionFailure("a circle in Vienna is possible: \(error)") }
    }
}
