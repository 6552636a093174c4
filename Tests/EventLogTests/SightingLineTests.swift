import BaseTypes
import BluetoothLE
import Testing

@testable import EventLog

@Suite struct SightingLineTests {
    private func line(
        _ nanoseconds: Int64?, adapter: String = "hci0", rssi: RSSI? = RSSI(dBm: -61), address: DeviceAddress? = nil,
        power: Int8? = -59
    ) -> String {
        text {
            $0.append(
                sighting: IBeacon(identity: Sample.beacon, measuredPower: power),
                time: nanoseconds.map { Instant(nanoseconds: $0) }, adapter: adapter, rssi: rssi, address: address)
        }
    }

    @Test func `a sighting with all members is encoded exactly`() {
        #expect(
            line(1_795_247_187_123_456_000, address: DeviceAddress(0xC098_E500_0007, kind: .random)) == """
                {"time":"2026-11-21T07:46:27.123456Z","adapter":"hci0","address":"C0:98:E5:00:00:07",\
                "addressType":"random","rssi":-61,"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":100,"minor":7,\
                "measuredPower":-59}

                """)
    }

    @Test func `a sighting omits members that are absent`() {
        #expect(
            line(nil, rssi: nil) == """
                {"adapter":"hci0","uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":100,"minor":7,\
                "measuredPower":-59}

                """)
        #expect(
            line(nil, rssi: nil, power: nil) == """
                {"adapter":"hci0","uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":100,"minor":7}

                """)
    }

    @Test(arguments: [
        (0, "00:00:00.000000Z"), (1, "00:00:00.000000001Z"), (999, "00:00:00.000000999Z"), (1000, "00:00:00.000001Z"),
        (1_000_000_100, "00:00:01.000000100Z"),
    ])
    func `a time has nine decimals only if it is not a whole number of microseconds`(nanoseconds: Int64, time: String) {
        #expect(line(nanoseconds).hasPrefix(#"{"time":"1970-01-01T\#(time)","adapter""#))
    }

    @Test(arguments: [
        (DeviceAddress.Kind.public, "public"), (.random, "random"), (.publicIdentity, "publicIdentity"),
        (.randomIdentity, "randomIdentity"), (.unresolved, "unresolved"),
    ])
    func `the types of addresses have the words of the advertisement log`(kind: DeviceAddress.Kind, word: String) {
        #expect(
            line(nil, address: DeviceAddress(1, kind: kind)).contains(
                #""address":"00:00:00:00:00:01","addressType":"\#(word)","rssi""#))
    }

    @Test func `an address whose type the source does not know has no type`() {
        #expect(
            line(nil, address: DeviceAddress(1, kind: .unspecified)).contains(
                #""adapter":"hci0","address":"00:00:00:00:00:01","rssi""#))
    }

    @Test func `an adapter's name is escaped`() {
        #expect(line(nil, adapter: "a\"\\\u{1}").contains(#"{"adapter":"a\"\\\u0001","rssi""#))
    }
}
