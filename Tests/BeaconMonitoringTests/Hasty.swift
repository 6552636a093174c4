import BluetoothLE

@testable import BeaconMonitoring

/// An engine that receives reports and advances of time in batches. A step that cannot be in the batch ends it, and is
/// performed alone.
struct Hasty {
    private var engine: MonitorEngine
    private var batch = FrameBatch(capacity: 8)
    private var expected: [Action] = []

    init(engine: MonitorEngine) { self.engine = engine }

    /// Performs a step, at once or later in a batch, and compares the actions of all steps since the last comparison.
    ///
    /// - Parameters:
    ///   - step: the step.
    ///   - actions: the expected actions, as if the step were performed alone.
    ///   - difference: describes the difference between actual and expected actions.
    /// - Returns: the difference; `nil` if there is none, or if the step waits in the batch.
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

    /// Passes the waiting batch to the engine, and compares the actions.
    mutating func flush(as difference: ([Action], [Action]) -> String?) -> String? {
        var buffer = ActionBuffer()
        let ids = (0...MonitorEngine.adaptersMax).map { $0 == 0 ? nil : AdapterID(index: $0) as AdapterID? }
        engine.received(batch, of: ids, into: &buffer)
        batch.removeAll()
        let result = difference(given + Array(buffer.actions), expected)
        given = []
        expected = []
        return result
    }

    /// Returns the batch entry of a step; `nil` if the step cannot be in a batch. The adapter indices of a batch are
    /// those in the engine's own table.
    private func entry(for step: Step) -> FrameBatch.Entry? {
        let none = BeaconFrame(
            IBeacon(
                identity: BeaconIdentity(uuid: ProximityUUID(high: 0, low: 0), major: 0, minor: 0), measuredPower: 0),
            in: Self.report(nil))
        switch step {
        case .received(let name, let time):
            guard let place = place(of: name) else { return nil }
            return FrameBatch.Entry(none, .withoutBeacon, adapter: place, time: time)
        case .sighted(let name, let beacon, let rssi, let time):
            guard let place = place(of: name) else { return nil }
            let frame = BeaconFrame(IBeacon(identity: beacon, measuredPower: -59), in: Self.report(rssi))
            return FrameBatch.Entry(frame, .first, adapter: place, time: time)
        case .advance(let time):
            return FrameBatch.Entry(none, .time, adapter: 0, time: time)
        default:
            return nil
        }
    }

    /// Returns the index of an adapter if the engine knows it under its present name. Then it needs no identification.
    private func place(of key: String) -> Int? {
        let (name, address) = Step.controller(key)
        return engine.knownAdapter(named: name, address: address).map { Int($0.index) }
    }

    static func report(_ rssi: RSSI?) -> AdvertisingReport {
        AdvertisingReport(address: nil, rssi: rssi, properties: [], data: 0..<0)
    }
}
