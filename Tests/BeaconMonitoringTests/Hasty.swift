import BluetoothLE

@testable import BeaconMonitoring

/// An engine that is handed what was heard in batches, as long as nothing else happens, and anything else as it is.
struct Hasty {
    private var engine: MonitorEngine
    private var batch = FrameBatch(capacity: 8)
    private var expected: [Action] = []

    init(engine: MonitorEngine) { self.engine = engine }

    /// Does a step, now or with those that follow, and says how what came of all so far is not what `actions`, each step's
    /// alone, are together.
    mutating func perform(
        _ step: Step, giving actions: [Action], as difference: ([Action], [Action]) -> String?
    ) -> String? {
        if let entry = entry(for: step), batch.append(entry) {
            expected += actions
            return nil
        }
        if let problem = flush(as: difference) { return problem }
        expected = actions
        given = engine.perform(step).actions
        return flush(as: difference)
    }

    private var given: [Action] = []

    /// Hands over what waits.
    mutating func flush(as difference: ([Action], [Action]) -> String?) -> String? {
        var buffer = ActionBuffer()
        let ids = (0...MonitorEngine.adaptersMax).map { $0 == 0 ? nil : AdapterID(index: $0) as AdapterID? }
        engine.heard(batch, of: ids, into: &buffer)
        batch.removeAll()
        let result = difference(given + Array(buffer.actions), expected)
        given = []
        expected = []
        return result
    }

    /// The places in a batch are those in the engine's own table.
    private func entry(for step: Step) -> FrameBatch.Entry? {
        let none = BeaconFrame(
            IBeacon(
                identity: BeaconIdentity(uuid: ProximityUUID(high: 0, low: 0), major: 0, minor: 0), measuredPower: 0),
            in: report(nil))
        switch step {
        case .heard(let name, let time):
            guard let place = place(of: name) else { return nil }
            return FrameBatch.Entry(none, .heard, adapter: place, time: time)
        case .sighted(let name, let beacon, let rssi, let time):
            guard let place = place(of: name) else { return nil }
            let frame = BeaconFrame(IBeacon(identity: beacon, measuredPower: -59), in: report(rssi))
            return FrameBatch.Entry(frame, .first, adapter: place, time: time)
        case .advance(let time):
            return FrameBatch.Entry(none, .time, adapter: 0, time: time)
        default:
            return nil
        }
    }

    /// The place of an adapter that is known and goes by that name already: there is nothing to ask.
    private func place(of key: String) -> Int? {
        let (name, address) = Step.controller(key)
        return engine.knownAdapter(named: name, address: address).map { Int($0.index) }
    }

    private func report(_ rssi: RSSI?) -> AdvertisingReport {
        AdvertisingReport(address: nil, rssi: rssi, properties: [], data: 0..<0)
    }
}
