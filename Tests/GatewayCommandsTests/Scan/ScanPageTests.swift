import BeaconMonitoring
import BluetoothLE
import Foundation
import OperatorLogging
import ProgramSupport
import Testing

@testable import GatewayCommands

@Suite struct ScanPageTests {
    private func row(
        _ minor: UInt16, strength: Int? = -615, conditions: [String] = ["staff", "lobby"],
        age: Duration = .milliseconds(140), name: String? = nil, power: Int8? = -59
    ) -> BeaconTable.Row {
        let distance = strength.flatMap { DistanceModel.standard.distance(measuredPower: power, rssi: Double($0) / 10) }
        return BeaconTable.Row(
            beacon: badge(minor), measuredPower: power, strength: strength, distance: distance,
            proximity: RangingSettings().proximity(of: distance), rate: 98, age: age, reports: 42,
            address: DeviceAddress(0xC098_E500_0007, kind: .random), adapter: 0, conditions: conditions, name: name)
    }

    private func advertiser(_ name: String?) -> AdvertiserTable.Row {
        AdvertiserTable.Row(
            address: DeviceAddress(0xC098_E500_0007, kind: .public), strength: -700, rate: 5, age: .seconds(3),
            reports: 9,
            adapter: 1, isConnectable: true, company: 0x1234, name: name, beacon: badge(2))
    }

    @Test func `the table of beacons shortens UUIDs below 104 columns`() {
        let page = ScanPage([row(7), row(65535, strength: nil, conditions: [], age: .seconds(12))])
        #expect(
            [page.heading] + page.lines == [
                "UUID                                 MAJOR MINOR   RSSI PROXIMITY METRES RATE/S   AGE CONDITIONS",
                "F7826DA6-4FA2-4E98-8024-BC5B71E0893E     1     7  -61.5 near         1.3    9.8  0.1s staff, lobby",
                "F7826DA6-4FA2-4E98-8024-BC5B71E0893E     1 65535      - unknown        -    9.8 12.0s ",
            ])
        #expect(
            ScanPage([row(7)], width: 103).lines == [
                "F7826DA6..     1     7  -61.5 near         1.3    9.8  0.1s staff, lobby"
            ])
        #expect(ScanPage([row(7)], width: 104).lines == Array(page.lines.prefix(1)))
    }

    @Test func `if a beacon has a name, there is a column for names, and UUIDs are shortened before names`() {
        let page = ScanPage([row(7, name: "Ada"), row(8, name: "the forklift behind the gate"), row(9)])
        #expect(
            [page.heading] + page.lines == [
                "UUID                                 MAJOR MINOR   RSSI PROXIMITY METRES RATE/S   AGE NAME                 CONDITIONS",
                "F7826DA6-4FA2-4E98-8024-BC5B71E0893E     1     7  -61.5 near         1.3    9.8  0.1s Ada                  staff, lobby",
                "F7826DA6-4FA2-4E98-8024-BC5B71E0893E     1     8  -61.5 near         1.3    9.8  0.1s the forklift behind  staff, lobby",
                "F7826DA6-4FA2-4E98-8024-BC5B71E0893E     1     9  -61.5 near         1.3    9.8  0.1s                      staff, lobby",
            ])
        #expect(
            ScanPage([row(7, name: "Ada")], width: 124).lines == [
                "F7826DA6..     1     7  -61.5 near         1.3    9.8  0.1s Ada                  staff, lobby"
            ])
        #expect(ScanPage([row(7, name: "Ada")], width: 125).lines == Array(page.lines.prefix(1)))
    }

    @Test func `the table of advertisers has the company, the name and the iBeacon`() {
        let page = ScanPage([advertiser("Lamp")])
        #expect(
            [page.heading] + page.lines == [
                "ADDRESS           TYPE         RSSI RATE/S   AGE COMPANY              NAME",
                "C0:98:E5:00:00:07 public      -70.0    0.5  3.0s 0x1234               Lamp  iBeacon \(Log.uuid) 1 2",
            ])
    }

    @Test(arguments: [(1, 1), (1, 2), (20, 3), (80, 4), (80, 5), (80, 24), (132, 50), (500, 200)])
    func `the page fits into a terminal of any size`(columns: Int, rows: Int) {
        for count in [0, 1, 19, 20, 21, 300] {
            let names = (0..<count).map { $0 % 2 == 0 ? "name" : "東東東東東東東東東東東東東東東東東東東東東東東東東東東東東東" }
            let pages = [
                ScanPage((0..<count).map { row(UInt16($0), conditions: names) }, width: columns),
                ScanPage(names.map { advertiser($0) }),
            ]
            for page in pages {
                let lines = page.fitted(title: "listens", footing: "q quits", columns: columns, rows: rows)
                #expect(lines.count == rows)
                #expect(lines.allSatisfy { PlainText.columns(of: $0) <= columns })
                if rows > 1, columns > 5 { #expect(lines.last == "q quits") }
            }
        }
    }

    @Test func `the page counts the rows that do not fit`() {
        let lines = ScanPage((0..<21).map { row($0) }).fitted(title: "t", footing: "f", columns: 200, rows: 24)
        #expect(lines[22] == "... and 2 more")
        let all = ScanPage((0..<20).map { row($0) }).fitted(title: "t", footing: "f", columns: 200, rows: 24)
        #expect(all[22].hasPrefix("F7826DA6"))
    }

    @Test(arguments: [
        (0.0, "0.0"), (0.04, "0.0"), (0.05, "0.1"), (99.9, "99.9"), (100, "100"), (999.9, "999"), (1000, ">999"),
        (1e12, ">999"),
    ])
    func `distances have a decimal below 100 m, and are >999 from 1000 m`(metres: Double, text: String) {
        #expect(ScanText.distance(metres) == text)
    }

    @Test func `JSON lines have a stable order of keys, and omit unknown values`() {
        let date = WallDate(microseconds: 1_795_247_187_123_456)
        #expect(
            ScanJSON.line(row(7), date: date) == """
                {"time":"2026-11-21T07:46:27.123456Z","uuid":"\(Log.uuid)","major":1,"minor":7,"rssi":-61.5,\
                "measuredPower":-59,"proximity":"near","distance":1.33,"rate":9.8,"age":0.14,"reports":42,\
                "address":"C0:98:E5:00:00:07","addressType":"random","adapter":"hci0","conditions":["staff","lobby"]}

                """)
        #expect(
            ScanJSON.line(row(7, strength: nil, conditions: []), date: date) == """
                {"time":"2026-11-21T07:46:27.123456Z","uuid":"\(Log.uuid)","major":1,"minor":7,\
                "measuredPower":-59,"proximity":"unknown","rate":9.8,"age":0.14,"reports":42,\
                "address":"C0:98:E5:00:00:07","addressType":"random","adapter":"hci0","conditions":[]}

                """)
        #expect(
            ScanJSON.line(row(7, conditions: [], power: nil), date: date) == """
                {"time":"2026-11-21T07:46:27.123456Z","uuid":"\(Log.uuid)","major":1,"minor":7,"rssi":-61.5,\
                "proximity":"unknown","rate":9.8,"age":0.14,"reports":42,\
                "address":"C0:98:E5:00:00:07","addressType":"random","adapter":"hci0","conditions":[]}

                """)
        #expect(
            ScanJSON.line(advertiser(#"a"b"#), date: date) == """
                {"time":"2026-11-21T07:46:27.123456Z","address":"C0:98:E5:00:00:07","addressType":"public","rssi":-70.0,\
                "rate":0.5,"age":3.0,"reports":9,"adapter":"hci1","connectable":true,"company":4660,"name":"a\\"b",\
                "uuid":"\(Log.uuid)","major":1,"minor":2}

                """)
    }
}
