import BaseTypes
import BeaconMonitoring
import GatewayConfiguration
import Testing

@testable import BluetoothLE
@testable import GatewayCommands

@Suite struct RangingWriterTests {
    private func configuration(ranging: Bool) throws -> Configuration {
        let text = "conditions:\n- {identifier: staff, uuid: \(Self.uuid), ranging: \(ranging)}\n"
        return try Configuration.parse(Array(text.utf8), file: "c.yaml").get()
    }

    private static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"

    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    private func sight(_ writer: inout RangingWriter, at time: Instant) throws {
        let identity = BeaconIdentity(uuid: try #require(ProximityUUID(Self.uuid)), major: 1, minor: 2)
        let report = AdvertisingReport(
            address: DeviceAddress(7, kind: .random), rssi: RSSI(dBm: -60), properties: .legacy, data: 0..<0)
        writer.sighted(BeaconFrame(IBeacon(identity: identity, measuredPower: -59), in: report), at: time)
    }

    @Test func `if no condition requests ranging, no line is due or written`() throws {
        var writer = RangingWriter(try configuration(ranging: false))
        try sight(&writer, at: at(1))
        #expect(!writer.isOn && writer.nextDeadline == nil && writer.written == 0)
    }

    @Test func `each written line is counted, and the count remains after a reload that switches ranging off`() throws {
        var writer = RangingWriter(try configuration(ranging: true))
        try sight(&writer, at: at(10))
        let due = try #require(writer.nextDeadline)
        var reported: [String] = []
        writer.report(at: due, clockOffset: ClockOffset(nanoseconds: 0)) { ranging, name in
            reported.append("\(name.identifier) \(ranging.beacons.count)")
        }
        #expect(reported == ["staff 1"])
        #expect(writer.written == 1)
        writer.reload(try configuration(ranging: false))
        #expect(!writer.isOn && writer.nextDeadline == nil && writer.written == 1)
    }
}
