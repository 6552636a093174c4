import BaseTypes
import BeaconMonitoring
import BluetoothLE
import SiteMonitoring
import TestSupport

/// Random gateways, beacons that move, and conditions.
struct CutSimulation {
    /// One input of a gateway from one of its adapters.
    struct Input {
        enum Kind {
            case received
            case sighted(Batch.Advertiser, RSSI?)
            case changed(Batch.Change.Kind)
        }

        var time: Instant
        /// The time at which the gateway processes the input.
        var arrival: Instant
        /// The index among the adapters of all gateways.
        var adapter: Int
        var kind: Kind
    }

    static let start = Instant(nanoseconds: 1_000_000_000_000)
    static let seconds = 40

    let adapterCount: Int
    /// The index of the gateway of each adapter.
    let gateways: [Int]
    var conditions: [(BeaconMonitor.BeaconIdentityCondition, ConditionSettings)] = []
    /// All inputs, in the order in which they are processed.
    private(set) var inputs: [Input] = []
    let interval: Duration
    private var random: SeededGenerator
    // If true, no two inputs have the same time.
    private let areApart: Bool
    private var taken: Set<Int64> = []

    init(seed: UInt64, areApart: Bool) {
        random = SeededGenerator(state: seed)
        self.areApart = areApart
        let gatewayCount = 1 + random.below(4)
        var gateways: [Int] = []
        for gateway in 0..<gatewayCount {
            gateways += Array(repeating: gateway, count: random.pick([1, 1, 2, random.chance(10) ? 5 : 1]))
        }
        self.gateways = gateways
        adapterCount = gateways.count
        interval = .milliseconds(random.pick([300, 1_000, 1_000, 2_500]))
        for _ in 0..<(1 + random.below(4)) { conditions.append((identity(), settings())) }
        for adapter in 0..<adapterCount { listen(adapter) }
        // The inputs of one adapter are processed in the order of their times. Inputs of other adapters can be
        // processed before and after each of them.
        inputs.sort { ($0.time, $0.adapter) < ($1.time, $1.adapter) }
        var last: [Int: Instant] = [:]
        for place in inputs.indices {
            let adapter = inputs[place].adapter
            inputs[place].arrival = max(inputs[place].arrival, last[adapter] ?? .earliest)
            last[adapter] = inputs[place].arrival
        }
        inputs = inputs.enumerated().sorted { ($0.element.arrival, $0.offset) < ($1.element.arrival, $1.offset) }
            .map(\.element)
    }

    // MARK: Conditions

    private mutating func identity() -> BeaconMonitor.BeaconIdentityCondition {
        let uuid = advertiser(0).beacon.uuid
        switch random.below(3) {
        case 0: return .init(uuid: uuid)
        case 1: return .init(uuid: uuid, major: 1)
        default: return .init(uuid: uuid, major: 1, minor: UInt16(random.below(4)))
        }
    }

    private mutating func settings() -> ConditionSettings {
        var settings = ConditionSettings()
        settings.perBeacon = random.chance(50)
        settings.exitTimeout = .milliseconds(random.pick([1_000, 1_500, 4_000, 10_000, 700]))
        settings.enterCount = random.pick([1, 1, 1, 1, 3])
        switch random.below(4) {
        case 0: settings.enterRSSI = RSSI(dBm: -70)
        case 1:
            settings.enterRSSI = RSSI(dBm: -68)
            settings.exitRSSI = RSSI(dBm: random.pick([-68, -72, -78]))
        default: break
        }
        return settings
    }

    // MARK: Inputs

    private mutating func listen(_ adapter: Int) {
        add(.changed(.started), adapter, at: 0)
        var second = 0
        var silentUntil = 0
        while second < Self.seconds {
            if random.chance(3) {
                let stop = Double(second) + 0.3
                let since = random.chance(50) ? stop : stop - 1.5
                add(.changed(.stopped(since: moment(since))), adapter, at: stop)
                silentUntil = second + random.below(12)
                // If there is no such change, the next report shows that the adapter scans.
                if random.chance(50) { add(.changed(.started), adapter, at: max(stop, Double(silentUntil)) + 0.05) }
            } else if random.chance(2) {
                silentUntil = second + random.below(9)
            } else if random.chance(1) {
                add(.changed(.removed), adapter, at: Double(second) + 0.2)
                silentUntil = second + 1
            }
            if second >= silentUntil {
                for minor in 0..<5 { addSightings(UInt16(minor), by: adapter, in: second) }
                if random.chance(80) { add(.received, adapter, at: Double(second) + fraction()) }
            }
            second += 1
        }
    }

    private mutating func addSightings(_ minor: UInt16, by adapter: Int, in second: Int) {
        // Each beacon passes the adapter again and again, with a period of its own.
        let place = (second + Int(minor) * 7 + adapter * 11) % (9 + Int(minor) * 4)
        guard place < 6 else { return }
        for _ in 0..<random.below(12) {
            let power = Int8(random.chance(3) ? -77 : -59)
            let address = DeviceAddress(0xC098_E500_0000 + UInt64(random.chance(5) ? 9 : minor), kind: .random)
            let rssi = RSSI(dBm: Int8(-60 - 4 * abs(place - 3) - random.below(9)))
            add(
                .sighted(advertiser(minor, power: power, address: address), random.chance(8) ? nil : rssi), adapter,
                at: Double(second) + fraction())
        }
    }

    private mutating func fraction() -> Double {
        areApart ? Double(random.below(1_000_000)) / 1_000_000 : Double(random.below(20)) / 20
    }

    private func moment(_ seconds: Double) -> Instant {
        Self.start + .microseconds(Int64((seconds * 1_000_000).rounded()))
    }

    private mutating func add(_ kind: Input.Kind, _ adapter: Int, at seconds: Double) {
        var time = moment(seconds)
        if areApart { while !taken.insert(time.nanoseconds).inserted { time = time + .microseconds(1) } }
        let delay = Duration.milliseconds(areApart ? random.below(40) : 0)
        inputs.append(Input(time: time, arrival: time + delay, adapter: adapter, kind: kind))
    }

    // MARK: Batches

    /// Returns the batches that all gateways send.
    func batches(bytesMax: Int = 512 << 10) throws -> [CutBatch] {
        var sent: [CutBatch] = []
        for gateway in 0...(gateways.max() ?? 0) {
            var settings = try BatchCutter.Settings(
                site: LogName("campus"), gateway: LogName("g\(gateway)"), boot: UInt128(gateway + 1))
            settings.bytesMax = bytesMax
            var cutter = BatchCutter(settings, nextSequence: 1, start: Self.start)
            var places: [Int: Int] = [:]
            for adapter in gateways.indices where gateways[adapter] == gateway {
                places[adapter] = cutter.adapter(named: "hci\(adapter)", address: nil)
            }
            var next = Self.start + interval
            for input in inputs {
                guard let place = places[input.adapter] else { continue }
                while input.arrival >= next {
                    // An input is processed less than 40 ms after its time. So all input up to 50 ms before the cut is
                    // complete.
                    sent += cutter.cut(completeTo: next - .milliseconds(50), now: next, wall: next)
                    next = next + interval
                }
                switch input.kind {
                case .received: cutter.received(by: place, at: input.time)
                case .sighted(let advertiser, let rssi):
                    cutter.sighted(advertiser, rssi: rssi, by: place, at: input.time)
                case .changed(let kind): cutter.changed(kind, place, at: input.time, reason: nil)
                }
            }
            let end = max(next, Self.start + .seconds(Self.seconds + 1))
            sent += cutter.cut(completeTo: end, now: end, wall: end)
            if cutter.counts != BatchCutter.Counts() { throw FixtureError.lost(cutter.counts) }
        }
        return sent
    }

    enum FixtureError: Error { case lost(BatchCutter.Counts) }
}
