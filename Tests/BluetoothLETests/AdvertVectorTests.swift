import BluetoothLE
import Testing

/// Payloads from the test suites of other projects. `advert-vectors.origin.md` lists the sources.
struct AdvertVector: Decodable, CustomTestStringConvertible {
    struct Beacon: Decodable {
        var uuid: String
        var major, minor: UInt16
        var measuredPower: Int8
        var rssi: Int8?
        var address: String?
    }
    var source, kind, hex: String
    var iBeacons: [Beacon]

    var testDescription: String { "\(source) \(hex)" }
    static let all = (try? fixture("advert-vectors.jsonl", of: AdvertVector.self)) ?? []
}

@Suite struct AdvertVectorTests {
    @Test func `all 249 vectors are loaded, and 16 of them have iBeacons`() {
        #expect(AdvertVector.all.count == 249)
        #expect(AdvertVector.all.count { !$0.iBeacons.isEmpty } == 16)
    }

    @Test(arguments: AdvertVector.all)
    func `B1, B2: a vector gives its iBeacons and no others`(vector: AdvertVector) throws {
        let bytes = bytes(vector.hex)
        var found: [(beacon: IBeacon, report: AdvertisingReport?)] = []
        if vector.kind == "adv" {
            found = beacons(in: bytes).found.map { ($0, nil) }
        } else {
            #expect(bytes[0] == 0x04)
            let event = Array(bytes.dropFirst())
            for report in reports(of: event).found {
                found += beacons(in: Array(event[report.data])).found.map { ($0, report) }
            }
        }
        try #require(found.count == vector.iBeacons.count)
        for ((beacon, report), expected) in zip(found, vector.iBeacons) {
            #expect(beacon.identity.uuid.description == expected.uuid)
            #expect(beacon.identity.major == expected.major)
            #expect(beacon.identity.minor == expected.minor)
            #expect(beacon.measuredPower == expected.measuredPower)
            guard let report else { continue }
            #expect(report.rssi?.dBm == expected.rssi)
            #expect(report.address?.description == expected.address)
        }
    }
}
