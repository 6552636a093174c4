import BaseTypes
import BeaconMonitoring
import SiteMonitoring

/// An engine with the adapters and conditions of a simulation run.
struct CutEngine {
    private var engine: MonitorEngine
    private var actions = ActionBuffer()
    private var adapters: [String: AdapterID] = [:]
    private let fixture: CutSimulation

    init(_ fixture: CutSimulation) throws {
        self.fixture = fixture
        var settings = EngineSettings()
        settings.deafAfter = .seconds(4)
        engine = MonitorEngine(settings: settings, start: CutSimulation.start)
        var monitor = MonitorSettings()
        monitor.outageTimeout = .seconds(11)
        monitor.forgetAfter = .seconds(20)
        try engine.addMonitor(Identifier("site"), settings: monitor)
        for (number, (identity, settings)) in fixture.conditions.enumerated() {
            try engine.add(
                .beacon(identity), identifier: Identifier("c\(number)"), monitor: Identifier("site"),
                settings: settings, at: CutSimulation.start, into: &actions)
        }
        for (adapter, gateway) in fixture.gateways.enumerated() {
            let name = "g\(gateway)/hci\(adapter)"
            adapters[name] = try engine.adapter(named: name, at: CutSimulation.start, into: &actions)
        }
    }

    /// Returns the actions for the original input, in the order of its times.
    static func decisions(_ fixture: CutSimulation) throws -> ContiguousArray<Action> {
        var site = try CutEngine(fixture)
        for input in fixture.inputs.sorted(by: { $0.time < $1.time }) {
            let name = "g\(fixture.gateways[input.adapter])/hci\(input.adapter)"
            switch input.kind {
            case .received: site.received(name, at: input.time)
            case .sighted(let advertiser, let rssi):
                site.sighted(Batch.Sighting(at: input.time, adapter: 0, advertiser, rssi: rssi), by: name)
            case .changed(let kind): site.changed(kind, name, at: input.time)
            }
        }
        return site.end()
    }

    /// Returns the actions for batches, whose inputs the engine receives in the order of a site.
    static func decisions(_ fixture: CutSimulation, of batches: [CutBatch]) throws -> ContiguousArray<Action> {
        var site = try CutEngine(fixture)
        let read = try batches.map { try Batch(bytes: $0.bytes) }
        var inputs: [(time: Instant, batch: Int, index: Int, input: Batch.Input)] = []
        for (place, batch) in read.enumerated() {
            for (index, input) in batch.inputs.enumerated() { inputs.append((input.time, place, index, input)) }
        }
        // The batches of the gateways are in the order of the gateways' names, then of their sequence numbers.
        inputs.sort { ($0.time, $0.batch, $0.index) < ($1.time, $1.batch, $1.index) }
        for (_, place, _, input) in inputs {
            func name(_ adapter: Int) -> String { "\(read[place].key.gateway)/\(read[place].adapters[adapter].name)" }
            switch input {
            case .received(let adapter, let time): site.received(name(adapter), at: time)
            case .changed(let change): site.changed(change.kind, name(change.adapter), at: change.time)
            case .sighted(let sighting): site.sighted(sighting, by: name(sighting.adapter))
            }
        }
        return site.end()
    }

    private mutating func received(_ adapter: String, at time: Instant) {
        if let adapter = adapters[adapter] { engine.received(by: adapter, at: time, into: &actions) }
    }

    private mutating func changed(_ kind: Batch.Change.Kind, _ adapter: String, at time: Instant) {
        guard let adapter = adapters[adapter] else { return }
        let kind: ListeningChange.Kind =
            switch kind {
            case .started: .started
            case .stopped(let since): .stopped(since: since)
            case .removed: .removed
            }
        engine.listening(ListeningChange(kind, adapter: adapter), at: time, into: &actions)
    }

    private func sighting(_ sighting: Batch.Sighting, by adapter: String) -> Sighting? {
        adapters[adapter].map {
            Sighting(
                time: sighting.time, adapter: $0, beacon: sighting.advertiser.beacon,
                measuredPower: sighting.advertiser.measuredPower, rssi: sighting.rssi,
                address: sighting.advertiser.address)
        }
    }

    private mutating func sighted(_ sighting: Batch.Sighting, by adapter: String) {
        if let sighting = self.sighting(sighting, by: adapter) { engine.sighted(sighting, into: &actions) }
    }

    private mutating func end() -> ContiguousArray<Action> {
        engine.advance(to: CutSimulation.start + .seconds(CutSimulation.seconds + 100), into: &actions)
        return actions.actions
    }
}
