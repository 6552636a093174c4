import BluetoothLE
import Testing

@Suite struct ProximityUUIDTests {
    @Test(arguments: [
        "F7826DA6-4FA2-4E98-8024-BC5B71E0893E", "f7826da6-4fa2-4e98-8024-bc5b71e0893e",
        "F7826DA64FA24E988024BC5B71E0893E",
        "f7826DA64fa24E988024bc5b71e0893E",
    ])
    func `a UUID is read with or without hyphens in either case, and printed in upper case with them`(text: String) {
        #expect(ProximityUUID(text) == uuid)
        #expect(ProximityUUID(text)?.description == "F7826DA6-4FA2-4E98-8024-BC5B71E0893E")
    }

    @Test(arguments: [
        "", "-", "F7826DA6-4FA2-4E98-8024-BC5B71E0893", "F7826DA6-4FA2-4E98-8024-BC5B71E0893E0",
        "F7826DA6-4FA2-4E98-8024BC5B71E0893E", "F7826DA-64FA2-4E98-8024-BC5B71E0893E",
        "F7826DA6-4FA2-4E98-8024-BC5B71E0893E-", "-F7826DA6-4FA2-4E98-8024-BC5B71E0893E",
        "F7826DA6--4FA2-4E98-8024-BC5B71E0893E", "F7826DA6:4FA2:4E98:8024:BC5B71E0893E",
        "{F7826DA6-4FA2-4E98-8024-BC5B71E0893E}", " F7826DA6-4FA2-4E98-8024-BC5B71E0893E",
        "G7826DA6-4FA2-4E98-8024-BC5B71E0893E", "F7826DA6-4FA2-4E98-8024-BC5B71E0893\u{FF25}",
        "F7826DA6-4FA2-4E98-8024-BC5B71E0893E\n", "0xF7826DA64FA24E988024BC5B71E0893E",
    ])
    func `any other text is not a UUID`(text: String) {
        #expect(ProximityUUID(text) == nil)
    }

    @Test func `leading and trailing zeros are kept`() {
        let text = "00000000-0000-0000-0000-000000000000"
        #expect(ProximityUUID(text) == ProximityUUID(high: 0, low: 0))
        #expect(ProximityUUID(high: 0, low: 0).description == text)
        #expect(
            ProximityUUID(high: 0x0001_0203_0405_0607, low: 0x0809_0A0B_0C0D_0E0F).description
                == "00010203-0405-0607-0809-0A0B0C0D0E0F")
    }

    @Test func `UUIDs are ordered by their bytes`() {
        #expect(ProximityUUID(high: 0, low: .max) < ProximityUUID(high: 1, low: 0))
        #expect(ProximityUUID(high: 1, low: 0) < ProximityUUID(high: 1, low: 1))
        #expect(ProximityUUID(high: 1, low: 0) < ProximityUUID(high: 1 << 63, low: 0))
        #expect(!(uuid < uuid))
    }
}

@Suite struct DeviceAddressTests {
    @Test(arguments: ["C0:98:E5:00:00:07", "c0:98:e5:00:00:07", "C0-98-E5-00-00-07", "C098E5000007"])
    func `an address is read with colons, hyphens or neither, and printed with colons`(text: String) {
        let address = DeviceAddress(text, kind: .random)
        #expect(address == DeviceAddress(0xC098_E500_0007, kind: .random))
        #expect(address?.description == "C0:98:E5:00:00:07")
    }

    @Test(arguments: [
        "", "C0:98:E5:00:00", "C0:98:E5:00:00:07:08", "C0:98:E5:00:00:7", "C0:98:E5:00:0007", "C0:98:E5:00:00:0G",
        ":C0:98:E5:00:00:07", "C0:98:E5:00:00:07:", "C0 98 E5 00 00 07", "C0::98:E5:00:00:07",
    ])
    func `any other text is not an address`(text: String) {
        #expect(DeviceAddress(text, kind: .public) == nil)
    }

    @Test func `addresses of different types are different, and only the low 48 bits count`() {
        #expect(DeviceAddress(7, kind: .public) != DeviceAddress(7, kind: .random))
        #expect(DeviceAddress(0xFFFF_0000_0000_0007, kind: .public) == DeviceAddress(7, kind: .public))
        #expect(DeviceAddress(.max, kind: .unspecified).description == "FF:FF:FF:FF:FF:FF")
        #expect(DeviceAddress(.max, kind: .unspecified).value == 0xFFFF_FFFF_FFFF)
    }

    @Test(
        arguments: [.public, .random, .publicIdentity, .randomIdentity, .unresolved, .unspecified]
            as [DeviceAddress.Kind])
    func `an address keeps its type`(kind: DeviceAddress.Kind) {
        #expect(DeviceAddress(0, kind: kind).kind == kind)
        #expect(DeviceAddress(.max, kind: kind).kind == kind)
    }
}

@Suite struct RSSITests {
    @Test func `an RSSI byte is a value in dBm, 127 is absent, and writing a value gives the same byte`() {
        for byte in UInt8.min...UInt8.max {
            let rssi = RSSI(reported: byte)
            #expect(rssi?.dBm == (byte == 127 ? nil : Int8(bitPattern: byte)))
            #expect(RSSI.byte(rssi) == byte)
        }
    }

    @Test func `a weaker RSSI is less, and settings can be from −127 to 20 dBm`() {
        #expect(RSSI(dBm: -90) < RSSI(dBm: -89))
        #expect(!(RSSI(dBm: -90) < RSSI(dBm: -90)))
        #expect(RSSI.settingRange == -127...20)
    }
}
