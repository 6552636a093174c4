import BluetoothLE
import Testing

@Suite struct AdvertisingReportsTests {
    private let payload = flags + ad(0xFF, frame)

    @Test func `the fields of a legacy report are read as the specification defines them`() throws {
        // LE Meta event with 42 bytes of parameters; subevent 2, one report: ADV_IND, random address, 30 bytes of data,
        // −61 dBm.
        let event = bytes("3E 2A 02 01 00 01 070000E598C0 1E") + payload + [0xC3]
        let (found, error) = reports(of: event)
        #expect(error == nil)
        let report = try #require(found.first)
        #expect(found.count == 1)
        #expect(report.address == DeviceAddress(0xC098_E500_0007, kind: .random))
        #expect(report.rssi == RSSI(dBm: -61))
        #expect(report.properties == [.legacy, .connectable, .scannable])
        #expect(report.status == .complete)
        #expect(report.advertisingSID == nil)
        #expect(report.advertisingDataID == nil)
        #expect(report.data == 13..<43)
        #expect(beacons(in: Array(event[report.data])).found == [beacon])
    }

    @Test func `the fields of an extended report are read as the specification defines them`() throws {
        // Subevent 0x0D, one report: event type 0x0010 (legacy ADV_NONCONN_IND), public address, PHY 1M, SID 5, TX
        // power 127, −61 dBm, interval 0, direct address, 30 bytes of data.
        let event = bytes("3E 38 0D 01 1000 00 070000E598C0 01 00 05 7F C3 0000 00 000000000000 1E") + payload
        let (found, error) = reports(of: event)
        #expect(error == nil)
        let report = try #require(found.first)
        #expect(report.address == DeviceAddress(0xC098_E500_0007, kind: .public))
        #expect(report.rssi == RSSI(dBm: -61))
        #expect(report.properties == [.legacy])
        #expect(report.status == .complete)
        #expect(report.advertisingSID == 5)
        #expect(report.data == 28..<58)
    }

    @Test(
        arguments: [
            (0x00, [.legacy, .connectable, .scannable]), (0x01, [.legacy, .connectable, .directed]),
            (0x02, [.legacy, .scannable]), (0x03, [.legacy]),
            (0x04, [.legacy, .connectable, .scannable, .scanResponse]), (0x05, [.legacy]), (0x08, [.legacy]),
            (0xFF, [.legacy]),
        ] as [(UInt8, AdvertisingReport.Properties)])
    func `a legacy event type gives the properties of a report`(type: UInt8, expected: AdvertisingReport.Properties) {
        #expect(reports(of: legacyEvent(WireReport(eventType: UInt16(type)))).found.map(\.properties) == [expected])
        #expect(AdvertisingReport.Properties(legacyEventType: type) == expected)
    }

    @Test(
        arguments: [
            (0x0000, [], .complete), (0x0020, [], .moreToCome), (0x0040, [], .truncated), (0x0060, [], .reserved),
            (0x0013, [.legacy, .connectable, .scannable], .complete), (0x0021, [.connectable], .moreToCome),
            (0x004C, [.directed, .scanResponse], .truncated), (0xFF80, [], .complete),
        ] as [(UInt16, AdvertisingReport.Properties, AdvertisingReport.DataStatus)])
    func `an extended event type has properties and data status, and reserved bits are ignored`(
        type: UInt16, properties: AdvertisingReport.Properties, status: AdvertisingReport.DataStatus
    ) {
        let found = reports(of: extendedEvent(WireReport(eventType: type))).found
        #expect(found.map(\.properties) == [properties])
        #expect(found.map(\.status) == [status])
    }

    @Test(
        arguments: [
            (0x00, .public), (0x01, .random), (0x02, .publicIdentity), (0x03, .randomIdentity), (0xFE, .unresolved),
            (0xFF, nil), (0x04, .unspecified), (0x7F, .unspecified), (0xFD, .unspecified),
        ] as [(UInt8, DeviceAddress.Kind?)])
    func `an address type gives the address kind; 0xFF means no address`(type: UInt8, kind: DeviceAddress.Kind?) {
        for event in [legacyEvent(WireReport(addressType: type)), extendedEvent(WireReport(addressType: type))] {
            #expect(reports(of: event).found.map(\.address) == [kind.map { DeviceAddress(0xC098_E500_0007, kind: $0) }])
        }
    }

    @Test(
        arguments: [(0x7F, nil), (0x7E, 126), (0x14, 20), (0x00, 0), (0xFF, -1), (0x81, -127), (0x80, -128)]
            as [(UInt8, Int8?)])
    func `an RSSI of 127 is absent, every other byte is a value in dBm`(byte: UInt8, dBm: Int8?) {
        for event in [legacyEvent(WireReport(rssi: byte)), extendedEvent(WireReport(rssi: byte))] {
            #expect(reports(of: event).found.map(\.rssi) == [dBm.map { RSSI(dBm: $0) }])
        }
    }

    @Test(arguments: [(0x00, 0), (0x0F, 15), (0x10, nil), (0xFF, nil)] as [(UInt8, UInt8?)])
    func `a SID is 0 to 15, any other value is absent`(byte: UInt8, sid: UInt8?) {
        #expect(reports(of: extendedEvent(WireReport(sid: byte))).found.map(\.advertisingSID) == [sid])
    }

    @Test func `several reports of one event are returned in order, legacy and extended`() {
        let several = (0..<3).map { WireReport(rssi: UInt8($0), data: ad(0xFF, frame(minor: UInt8($0)))) }
        for event in [
            legacyEvent(several[0], several[1], WireReport(rssi: 9), several[2]),
            extendedEvent(several[0], several[1], WireReport(rssi: 9), several[2]),
        ] {
            let (found, error) = reports(of: event)
            #expect(error == nil)
            #expect(found.map { $0.rssi?.dBm } == [0, 1, 9, 2])
            #expect(
                found.map { beacons(in: Array(event[$0.data])).found.map(\.identity.minor) } == [[0], [1], [], [2]])
        }
    }

    @Test func `B2: a scan response is read like advertising data`() {
        let event = legacyEvent(WireReport(eventType: 0x04, data: payload))
        let report = reports(of: event).found[0]
        #expect(report.properties.contains(.scanResponse))
        #expect(beacons(in: Array(event[report.data])).found == [beacon])
    }

    @Test func `B3: a malformed AD structure ends its own report, and the other reports of the event are read`() {
        let event = legacyEvent(WireReport(data: [0x1A, 0xFF, 0x4C]), WireReport(data: payload))
        let (found, error) = reports(of: event)
        #expect(error == nil)
        #expect(beacons(in: Array(event[found[0].data])).error != nil)
        #expect(beacons(in: Array(event[found[1].data])).found == [beacon])
    }

    @Test(arguments: [
        "", "3E", "3E 00", "3E 13", "3E 00 02", "0E 04 01 0C 20 00", "04 3E 02 02 00", "3E 01 01",
        "3E 13 01 00 40 00 00 00 11 22 33 44 55 66 18 00 00 00 48 00 05", "3E 04 0B 01 00 00", "FF 05 02 01 00 00 00",
    ])
    func `every other event gives no report and no error`(hex: String) {
        let (found, error) = reports(of: bytes(hex))
        #expect(found == [])
        #expect(error == nil)
    }

    @Test(
        arguments: [
            ("3E 01 02", .reportTruncated(offset: 3, needed: 1, available: 0)),
            ("3E 01 0D", .reportTruncated(offset: 3, needed: 1, available: 0)),
            ("3E 01 02 01 00 01", .reportTruncated(offset: 3, needed: 1, available: 0)),
            ("3E 02 02", .eventTruncated(declaredLength: 2, available: 1)),
            ("3E FF 0D", .eventTruncated(declaredLength: 255, available: 1)),
            ("3E 02 02 00", .reportCountInvalid(0)), ("3E 02 0D 00", .reportCountInvalid(0)),
            ("3E 02 02 01", .reportTruncated(offset: 4, needed: 10, available: 0)),
            ("3E 02 0D 01", .reportTruncated(offset: 4, needed: 24, available: 0)),
            ("3E 0B 02 01 00 01 070000E598C0 00", .reportTruncated(offset: 4, needed: 10, available: 9)),
            ("3E 0C 02 01 00 01 070000E598C0 01 C3", .reportTruncated(offset: 4, needed: 11, available: 10)),
            ("3E 0D 02 01 00 01 070000E598C0 00 C3", .eventTruncated(declaredLength: 13, available: 12)),
            (
                "3E 19 0D 01 1000 00 070000E598C0 01 00 05 7F C3 0000 00 000000000000",
                .reportTruncated(offset: 4, needed: 24, available: 23)
            ),
            (
                "3E 1A 0D 01 1000 00 070000E598C0 01 00 05 7F C3 0000 00 000000000000 01",
                .reportTruncated(offset: 4, needed: 25, available: 24)
            ),
        ] as [(String, AdvertisingReportError)])
    func `B3: an event that is not as it declares gives one error, of its kind`(
        hex: String, expected: AdvertisingReportError
    ) {
        #expect(reports(of: bytes(hex)).error == expected)
        #expect(!expected.description.isEmpty)
    }

    @Test func `B3: a truncated event gives its complete reports, then an error if it has at least 3 bytes`() {
        let event = legacyEvent(WireReport(data: payload), WireReport(data: payload))
        for length in 0..<event.count {
            let (found, error) = reports(of: Array(event[..<length]))
            #expect(found.count == (length < 4 + 40 ? 0 : 1))
            if length < 3 {
                #expect(error == nil)
            } else {
                #expect(error == .eventTruncated(declaredLength: event.count - 2, available: length - 2))
            }
        }
        #expect(reports(of: event).found.count == 2)
        #expect(reports(of: event).error == nil)
    }

    @Test func `B3: reports beyond the declared length of the event are not read`() {
        var event = legacyEvent(WireReport(data: payload), WireReport(data: payload))
        event[1] = 2 + 40
        #expect(reports(of: event).found.count == 1)
        #expect(reports(of: event).error == .reportTruncated(offset: 44, needed: 10, available: 0))
    }

    @Test func `bytes after the last report of an event are ignored`() {
        var event = legacyEvent(WireReport(data: payload)) + [0xAA, 0xBB]
        #expect(reports(of: event).error == nil)
        event[1] += 2
        #expect(reports(of: event).found.count == 1)
        #expect(reports(of: event).error == nil)
    }

    @Test func `B3: an event can declare 1 to 25 legacy reports, or 1 to 10 extended ones`() {
        for (count, isFine) in [(1, true), (25, true), (26, false), (255, false)] {
            var event = metaEvent([0x02, 0x00] + (0..<min(count, 25)).flatMap { _ in WireReport().legacy })
            event[3] = UInt8(count)
            #expect(reports(of: event).found.count == min(count, 25))
            #expect(reports(of: event).error == (isFine ? nil : .reportCountInvalid(count)))
        }
        for (count, isFine) in [(1, true), (10, true), (11, false)] {
            var event = metaEvent([0x0D, 0x00] + (0..<min(count, 10)).flatMap { _ in WireReport().extended })
            event[3] = UInt8(count)
            #expect(reports(of: event).found.count == min(count, 10))
            #expect(reports(of: event).error == (isFine ? nil : .reportCountInvalid(count)))
        }
    }

    @Test func `each error is counted as its own kind of malformation`() {
        #expect(AdvertisingReportError.eventTruncated(declaredLength: 9, available: 1).malformation == .eventTruncated)
        #expect(AdvertisingReportError.reportCountInvalid(0).malformation == .reportCountInvalid)
        #expect(
            AdvertisingReportError.reportTruncated(offset: 4, needed: 9, available: 1).malformation == .reportTruncated)
    }

    @Test func `a cursor that gets another, shorter event reads nothing past its end`() throws {
        let event = legacyEvent(WireReport(data: payload), WireReport(data: payload))
        let cut = Array(event[..<20])
        var cursor = AdvertisingReports(event: event.span)
        _ = try cursor.next(in: event.span)
        #expect(throws: AdvertisingReportError.reportTruncated(offset: 44, needed: 10, available: -24)) {
            _ = try cursor.next(in: cut.span)
        }
        let announcesNone: [UInt8] = [0x3E, 0x02, 0x02, 0x00]
        var other = AdvertisingReports(event: announcesNone.span)
        #expect(throws: AdvertisingReportError.self) { _ = try other.next(in: [UInt8]().span) }
    }

    @Test func `a report has the values that it was created with, and those that were set`() {
        var report = AdvertisingReport(
            address: nil, rssi: nil, properties: [], status: .moreToCome, advertisingSID: 15, advertisingDataID: 0xFFF,
            data: 3..<9)
        #expect(report.address == nil)
        #expect(report.rssi == nil)
        #expect(report.status == .moreToCome)
        #expect(report.advertisingSID == 15)
        #expect(report.advertisingDataID == 0xFFF)
        let address = DeviceAddress(0xFFFF_FFFF_FFFF, kind: .unresolved)
        (report.address, report.rssi, report.status) = (address, RSSI(dBm: -128), .reserved)
        (report.advertisingSID, report.advertisingDataID) = (nil, nil)
        #expect(report.address == address)
        #expect(report.rssi == RSSI(dBm: -128))
        #expect(report.status == .reserved)
        #expect(report.advertisingSID == nil)
        #expect(report.advertisingDataID == nil)
        #expect(report.data == 3..<9)
    }

    @Test func `reports with equal values are equal, whichever bytes mean that a value is absent`() {
        let first = extendedEvent(WireReport(addressType: 0xFF, sid: 0xFF))
        let second = extendedEvent(WireReport(addressType: 0xFF, address: [1, 2, 3, 4, 5, 6], sid: 0x10))
        #expect(reports(of: first).found == reports(of: second).found)
        let (none, tooLarge) = (
            AdvertisingReport(address: nil, rssi: nil, properties: [], data: 0..<0),
            AdvertisingReport(
                address: nil, rssi: RSSI(dBm: 127), properties: [], advertisingSID: 16, advertisingDataID: 0x1000,
                data: 0..<0)
        )
        #expect(none == tooLarge)
    }
}
