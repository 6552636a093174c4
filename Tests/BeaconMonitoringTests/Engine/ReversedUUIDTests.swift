import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

/// Conditions whose UUID was copied in reverse byte order are reported.
@Suite struct ReversedUUIDTests {
    private static let uuid = ProximityUUID("F7826DA6-4FA2-4E98-8024-BC5B71E0893E")
    private var engine = MonitorEngine(start: Instant(nanoseconds: 0))
    private var actions = ActionBuffer()
    private let site: Identifier
    private let adapter: AdapterID

    init() throws {
        site = try Identifier("site")
        try engine.addMonitor(site)
        adapter = try engine.adapter(named: "hci0", at: engine.now, into: &actions)
    }

    private mutating func add(_ identifier: String, _ uuid: ProximityUUID, major: UInt16? = nil) throws {
        try engine.add(
            .beacon(major.map { BeaconMonitor.BeaconIdentityCondition(uuid: uuid, major: $0) } ?? .init(uuid: uuid)),
            identifier: Identifier(identifier), monitor: site, at: engine.now, into: &actions)
    }

    private mutating func receive(_ uuid: ProximityUUID, minor: UInt16 = 7) {
        engine.sighted(
            Sighting(
                time: engine.now, adapter: adapter, beacon: BeaconIdentity(uuid: uuid, major: 1, minor: minor),
                measuredPower: -59, rssi: RSSI(dBm: -60)), into: &actions)
    }

    @Test func `the reversed UUID is the one that btmon prints`() throws {
        let uuid = try #require(Self.uuid)
        #expect("\(uuid.byteReversed)" == "3E89E071-5BBC-2480-984E-A24FA66D82F7")
        #expect(uuid.byteReversed.byteReversed == uuid)
    }

    @Test mutating func `each condition with the reversed UUID of an unmatched beacon is reported once`() throws {
        let uuid = try #require(Self.uuid)
        try add("b", uuid.byteReversed)
        try add("a", uuid.byteReversed, major: 1)
        try add("other major", uuid.byteReversed, major: 2)
        receive(uuid)
        receive(uuid)
        receive(uuid, minor: 8)
        #expect(
            engine.reversedUUIDs == [
                ReversedUUID(identifier: "a", received: uuid), ReversedUUID(identifier: "b", received: uuid),
            ])
    }

    @Test mutating func `a beacon that matches a condition is not reported, whatever its reversed UUID`() throws {
        let uuid = try #require(Self.uuid)
        try add("right", uuid)
        try add("reversed", uuid.byteReversed)
        receive(uuid)
        #expect(engine.reversedUUIDs == [])
        // The bytes of this UUID are the same in both orders.
        receive(ProximityUUID(high: 0x0102_0304_0506_0708, low: 0x0807_0605_0403_0201))
        #expect(engine.reversedUUIDs == [])
    }

    @Test mutating func `a change of conditions discards the reports`() throws {
        let uuid = try #require(Self.uuid)
        try add("badge", uuid.byteReversed)
        receive(uuid)
        #expect(engine.reversedUUIDs.count == 1)
        try add("badge two", uuid)
        #expect(engine.reversedUUIDs == [])
        receive(uuid)
        #expect(engine.reversedUUIDs == [])
    }

    @Test mutating func `at most 16 conditions are reported`() throws {
        let uuid = try #require(Self.uuid)
        for number in 0..<20 { try add("\(100 + number)", uuid.byteReversed) }
        receive(uuid)
        #expect(engine.reversedUUIDs.map(\.identifier) == (100..<116).map { "\($0)" })
    }
}
