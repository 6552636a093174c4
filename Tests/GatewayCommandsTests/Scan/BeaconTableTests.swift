import BeaconMonitoring
import BluetoothLE
import CommandSupport
import Foundation
import GatewayConfiguration
import ProgramSupport
import TestSupport
import Testing

@testable import GatewayCommands

@Suite struct BeaconTableTests {
    private func receive(
        _ table: inout BeaconTable, _ beacon: BeaconIdentity, _ rssi: Int8?, _ seconds: Double, power: Int8? = -59
    ) {
        let report = AdvertisingReport(
            address: DeviceAddress(7, kind: .random), rssi: rssi.map { RSSI(dBm: $0) }, properties: .legacy, data: 0..<0
        )
        table.received(IBeacon(identity: beacon, measuredPower: power), in: report, on: 0, at: at(seconds))
    }

    @Test func `the distance follows from the configuration's model and window, as in ranging lines`() throws {
        let settings = RangingSettings(model: .curveFit(.nexus5), window: 2)
        var table = BeaconTable(ranging: settings)
        receive(&table, badge(1), -90, 0)
        receive(&table, badge(1), -60, 3.1)
        receive(&table, badge(1), -61, 4)
        let row = try #require(table.rows(at: at(4.5)).first)
        #expect(row.strength == -605)
        #expect(row.distance == settings.model.distance(measuredPower: -59, rssi: -60.5))
        #expect(row.proximity == .near)
        receive(&table, badge(1), 0, 20)
        #expect(table.rows(at: at(20)).first?.proximity == .unknown)
    }

    @Test func `a row has the strength, proximity, rate and age of a beacon`() throws {
        var table = BeaconTable()
        for tenth in 0..<100 { receive(&table, badge(1), tenth % 2 == 0 ? -61 : -62, Double(tenth) / 10) }
        let row = try #require(table.rows(at: at(10)).first)
        #expect(row.beacon == badge(1))
        #expect(row.strength == -615)
        #expect(row.proximity == .near)
        #expect(abs((row.distance ?? 0) - 1.334) < 0.001)
        // Ten reports per second since the first one. At 10 s, the first second is not in the window any more.
        #expect((99...100).contains(row.rate))
        #expect(row.age == .milliseconds(100))
        #expect(row.reports == 100)
        #expect(row.address?.value == 7)
    }

    @Test func `rows are sorted by RSSI relative to measured power; rows without an RSSI are last`() {
        var table = BeaconTable()
        receive(&table, badge(1), -70, 0)
        receive(&table, badge(2), nil, 0)
        receive(&table, badge(3), -50, 0)
        receive(&table, badge(4), -75, 0, power: -80)
        #expect(table.rows(at: at(0)).map(\.beacon.minor) == [3, 4, 1, 2])
        #expect(table.rows(at: at(0)).last?.proximity == .unknown)
    }

    @Test func `rows without measured power have no distance, and are between those with it and those without an RSSI`()
        throws
    {
        var table = BeaconTable()
        receive(&table, badge(1), nil, 0)
        receive(&table, badge(2), -50, 0, power: nil)
        receive(&table, badge(3), -127, 0, power: 127)
        receive(&table, badge(4), -40, 0, power: nil)
        receive(&table, badge(5), -50, 0, power: nil)
        let rows = table.rows(at: at(0))
        #expect(rows.map(\.beacon.minor) == [3, 4, 2, 5, 1])
        #expect(rows.map(\.measuredPower) == [127, nil, nil, nil, -59])
        #expect(rows[1].strength == -400 && rows[1].distance == nil && rows[1].proximity == .unknown)
        // The measured power of the last frame counts.
        receive(&table, badge(2), -50, 1)
        #expect(table.rows(at: at(1)).map(\.beacon.minor) == [2, 3, 4, 5, 1])
    }

    @Test func `a change of less than 3 dB does not move a beacon in the order, and one of 3 dB does`() {
        var table = BeaconTable()
        receive(&table, badge(1), -60, 0)
        receive(&table, badge(2), -61, 0)
        #expect(table.rows(at: at(0)).map(\.beacon.minor) == [1, 2])
        receive(&table, badge(1), -62, 20)
        receive(&table, badge(2), -59, 20)
        #expect(table.rows(at: at(20)).map(\.beacon.minor) == [1, 2])
        receive(&table, badge(1), -63, 26)
        #expect(table.rows(at: at(26)).map(\.beacon.minor) == [2, 1])
    }

    @Test func `a beacon is listed until it was silent for 30 s`() {
        var table = BeaconTable()
        receive(&table, badge(1), -60, 10)
        receive(&table, badge(2), -60, 11)
        let unreceived = table.rows(at: at(39.999))
        #expect(unreceived.map(\.beacon.minor) == [1, 2])
        #expect(unreceived.first?.strength == nil)
        #expect(unreceived.first?.proximity == .unknown)
        #expect(table.rows(at: at(40)).map(\.beacon.minor) == [2])
        #expect(table.rows(at: at(41)).isEmpty)
        #expect(table.count == 0)
    }

    @Test func `a flood of invented beacons fills a bounded table, and the rest is counted`() {
        var table = BeaconTable()
        receive(&table, badge(1, major: 9), -60, 0)
        for number in 0..<10_000 { receive(&table, badge(UInt16(number)), -60, 1) }
        #expect(table.count == ReceptionTable<BeaconIdentity, Int>.entriesMax)
        #expect(table.unlisted == 10_001 - ReceptionTable<BeaconIdentity, Int>.entriesMax)
        #expect(table.rows(at: at(1)).contains { $0.beacon == badge(1, major: 9) })
        // Five seconds later, other beacons can take their places.
        let unlisted = table.unlisted
        receive(&table, badge(1, major: 77), -60, 7)
        #expect(table.unlisted == unlisted)
        #expect(table.rows(at: at(7)).contains { $0.beacon == badge(1, major: 77) })
    }

    @Test func `rows stay right while beacons are added and removed`() {
        var random = SeededGenerator(state: SeededGenerator.seed)
        var table = BeaconTable()
        var last: [UInt16: Double] = [:]
        for step in 0..<3000 {
            let now = Double(step) / 4
            let minor = UInt16.random(in: 0..<400, using: &random)
            receive(&table, badge(minor), -60, now)
            last[minor] = now
            guard step % 50 == 0 else { continue }
            let expected = Set(last.filter { now - $0.value < 30 }.keys)
            #expect(Set(table.rows(at: at(now)).map(\.beacon.minor)) == expected)
        }
    }

    @Test func `the conditions that match are named in the configuration's order`() throws {
        let scratch = try Scratch()
        let path = try scratch.write(
            "c.yaml",
            """
            conditions:
              - {identifier: exactly, uuid: \(Log.uuid), major: 1, minor: 2}
              - {identifier: other, uuid: 00000000-4FA2-4E98-8024-BC5B71E0893E}
              - {identifier: staff, uuid: \(Log.uuid)}
              - {identifier: group, uuid: \(Log.uuid), major: 1}
            """)
        let conditions = ScanConditions(try ConfigurationFile.load(path, isReplay: false))
        #expect(conditions.matching(badge(2)) == ["exactly", "staff", "group"])
        #expect(conditions.matching(badge(3)) == ["staff", "group"])
        #expect(conditions.matching(badge(2, major: 2)) == ["staff"])
        #expect(conditions.matching(BeaconIdentity(uuid: ProximityUUID(high: 0, low: 0), major: 1, minor: 2)) == [])
        #expect(ScanConditions().matching(badge(2)) == [])
    }

    @Test func `conditions and selected UUIDs with reversed bytes are found when a beacon is received`() throws {
        let uuid = badge(1).uuid
        let scratch = try Scratch()
        let path = try scratch.write(
            "g.yaml",
            """
            conditions:
              - {identifier: badge, uuid: \(uuid.byteReversed)}
              - {identifier: right, uuid: \(uuid), minor: 3, major: 1}
            """)
        let conditions = ScanConditions(try ConfigurationFile.load(path, isReplay: false))
        var table = BeaconTable(conditions: conditions)
        receive(&table, badge(3), -60, 0)
        #expect(table.reversed.found == [])
        for second in 1...3 { receive(&table, badge(1), -60, Double(second)) }
        receive(&table, badge(2), -60, 4)
        #expect(table.reversed.found == [ReversedUUID(identifier: "badge", received: uuid)])
        var wanted = BeaconTable(uuids: [uuid.byteReversed])
        for second in 1...3 { receive(&wanted, badge(1), -60, Double(second)) }
        #expect(wanted.reversed.found == [ReversedUUID(identifier: nil, received: uuid)])
        #expect(wanted.count == 0)
    }

    @Test func `if UUIDs are selected, only their beacons are listed`() {
        var table = BeaconTable(uuids: [badge(1).uuid])
        receive(&table, badge(1), -60, 0)
        receive(&table, BeaconIdentity(uuid: ProximityUUID(high: 1, low: 2), major: 1, minor: 1), -60, 0)
        #expect(table.rows(at: at(0)).map(\.beacon) == [badge(1)])
    }
}

@Suite struct AdvertiserTableTests {
    private func receive(
        _ table: inout AdvertiserTable, _ data: [UInt8], address: UInt64? = 7, rssi: Int8? = -60,
        properties: AdvertisingReport.Properties = [.legacy, .connectable, .scannable]
    ) {
        let report = AdvertisingReport(
            address: address.map { DeviceAddress($0, kind: .public) }, rssi: rssi.map { RSSI(dBm: $0) },
            properties: properties, data: 0..<data.count)
        table.received(report, data: data.span, on: 1, at: at(1))
    }

    @Test func `rows of advertisers have the address, company, name and iBeacon`() throws {
        var table = AdvertiserTable()
        receive(
            &table,
            Advert.structure(9, Array("Lamp".utf8)) + Advert.structure(0xFF, [0x59, 0x00, 1, 2]))
        receive(&table, Advert.data(badge(7)), address: nil, properties: [])
        let rows = table.rows(at: at(1))
        #expect(rows.count == 2)
        let lamp = try #require(rows.first { $0.address != nil })
        #expect(lamp.name == "Lamp")
        #expect(lamp.company == 0x59)
        #expect(lamp.isConnectable)
        #expect(lamp.adapter == 1)
        let anonymous = try #require(rows.first { $0.address == nil })
        #expect(anonymous.beacon == badge(7))
        #expect(anonymous.company == 0x4C)
        #expect(!anonymous.isConnectable)
    }

    @Test func `a complete name is not replaced by a shortened one, and a scan response adds data`() {
        var table = AdvertiserTable()
        receive(&table, Advert.structure(8, Array("La".utf8)))
        #expect(table.rows(at: at(1)).map(\.name) == ["La"])
        receive(&table, Advert.structure(9, Array("Lamp".utf8)), properties: [.legacy, .scanResponse])
        receive(&table, Advert.structure(8, Array("La".utf8)))
        #expect(table.rows(at: at(1)).map(\.name) == ["Lamp"])
        #expect(table.rows(at: at(1)).map(\.isConnectable) == [true])
    }

    @Test(arguments: [
        ("\u{1B}[2Jgone", "_[2Jgone"), ("a\u{0}b\u{7F}c\u{9B}d", "a_b_c_d"), ("x\u{202E}y\u{2028}z", "x_y_z"),
        ("Büro 東", "Büro 東"), ("\r\n\t", "___"),
    ])
    func `a name cannot control the terminal`(sent: String, shown: String) {
        var table = AdvertiserTable()
        receive(&table, Advert.structure(9, Array(sent.utf8)))
        #expect(table.rows(at: at(1)).map(\.name) == [shown])
    }

    @Test func `invalid UTF-8 is replaced, and names are cut to 64 bytes`() {
        var table = AdvertiserTable()
        receive(&table, Advert.structure(9, [0xFF, 0xC0, 0x41]))
        #expect(table.rows(at: at(1)).map(\.name) == ["\u{FFFD}\u{FFFD}A"])
        receive(&table, Advert.structure(9, Array(repeating: 0x41, count: 200)))
        #expect(table.rows(at: at(1)).map(\.name) == [String(repeating: "A", count: 64)])
    }

    @Test(
        arguments: [[5], [5, 9, 1], [3, 0xFF, 0x4C], [0], [], [1, 9], [2, 0xFF, 0x4C], [255, 255, 255]] as [[UInt8]])
    func `malformed data cause no trap, and the advertiser is listed`(data: [UInt8]) {
        var table = AdvertiserTable()
        receive(&table, Advert.structure(9, [0x41]) + data)
        #expect(table.rows(at: at(1)).map(\.name) == (data == [1, 9] ? [nil] : ["A"]))
    }
}
