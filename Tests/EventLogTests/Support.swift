import BaseTypes
import BluetoothLE
import JSON

@testable import BeaconMonitoring
@testable import EventLog

/// Returns the text that `body` appends to an empty buffer.
func text(_ body: (inout LineBuffer) -> Void) -> String {
    var buffer = LineBuffer(capacity: 0)
    body(&buffer)
    return String(decoding: buffer.bytes, as: UTF8.self)
}

/// Sample actions. Each test changes the members that it is about.
enum Sample {
    static let uuid = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
    static let beacon = BeaconIdentity(uuid: uuid, major: 100, minor: 7)
    /// 2026-11-21T07:46:27.123456789Z
    static let time = Instant(nanoseconds: 1_795_247_187_123_456_789)
    static let condition = Condition.beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid))
    static let adapter = AdapterID(index: 1)

    static var event: BeaconMonitor.Event {
        BeaconMonitor.Event(
            monitor: "site", identifier: "staff", scope: .beacon, state: .satisfied, time: time, clockOffset: .zero,
            condition: condition, refinement: beacon, previous: nil,
            sighting: Sighting(
                time: time, adapter: adapter, beacon: beacon, measuredPower: -59, rssi: RSSI(dBm: -61),
                address: DeviceAddress(0xC098_E500_0007, kind: .random)),
            lastSeen: time, diagnostics: [])
    }

    static var visit: Visit {
        Visit(
            monitor: "site", identifier: "staff", scope: .condition, time: time, clockOffset: .zero,
            condition: condition, refinement: nil, arrival: time - .seconds(100),
            departure: time - .milliseconds(29_500),
            sightings: 3, strength: Visit.Strength(minimum: -70, sum: -200, count: 3, maximum: -60),
            reason: .exitTimeout)
    }

    static var change: ConditionChange {
        ConditionChange(
            monitor: "site", identifier: "staff", kind: .added, time: time, clockOffset: .zero, condition: condition,
            settings: ConditionSettings(), assumed: .unknown)
    }

    static var adapterChange: AdapterChange {
        AdapterChange(
            adapter: "hci0", state: .listening, since: time, reason: "first record", time: time, clockOffset: .zero)
    }

    /// Returns the line of an action, without its line end.
    static func line(
        _ action: Action, envelope: Bool = false, adapter: String? = "hci0",
        _ change: (inout LineEncoder.Options) -> Void = { _ in }
    ) throws -> String {
        var options = LineEncoder.Options(gateway: try Identifier("lobby"))
        options.envelope = envelope
        change(&options)
        var encoder = LineEncoder(options)
        if let adapter { encoder.name(Sample.adapter, adapter) }
        let line = text { encoder.encode(action, into: &$0) }
        return line.hasSuffix("\n") ? String(line.dropLast()) : line
    }
}
