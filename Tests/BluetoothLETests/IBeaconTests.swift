import BluetoothLE
import Testing

@Suite struct IBeaconTests {
    @Test func `B1: UUID, major and minor are big endian, measured power is signed`() {
        #expect(decoded(frame) == beacon)
        #expect(IBeacon.manufacturerDataLength == 25)
    }

    @Test func `B1: UUID, major and minor can have their highest values, the measured power its lowest`() {
        let data: [UInt8] = [0x4C, 0x00, 0x02, 0x15] + [UInt8](repeating: 0xFF, count: 20) + [0x81]
        let all = decoded(data)
        #expect(all?.identity.uuid == ProximityUUID(high: .max, low: .max))
        #expect(all?.identity.major == 65_535)
        #expect(all?.identity.minor == 65_535)
        #expect(all?.measuredPower == -127)
    }

    @Test func `the byte 0x80 is an unknown measured power, and a frame is encoded as the bytes that it had`() throws {
        for byte in UInt8.min...UInt8.max {
            let data = Array(frame.dropLast()) + [byte]
            let beacon = try #require(decoded(data))
            #expect(beacon.measuredPower == (byte == 0x80 ? nil : Int8(bitPattern: byte)))
            #expect(beacon.manufacturerData == data)
            // The fast path of events has the same value, and packs it as the same byte.
            let event = legacyEvent(WireReport(data: flags + ad(0xFF, data)))
            var frames = BeaconFrames(event: event.span)
            let next = frames.next(in: event.span)
            let packed = try #require(next)
            #expect(packed.beacon == beacon)
            #expect(packed.packed >> 56 == UInt64(byte))
            let report = try #require(reports(of: event).found.first)
            #expect(BeaconFrame(beacon, in: report).packed == packed.packed)
        }
        let unknown = IBeacon(identity: beacon.identity, measuredPower: nil)
        #expect(IBeacon(identity: beacon.identity, measuredPower: -128) == unknown)
        #expect(unknown.manufacturerData == Array(frame.dropLast()) + [0x80])
    }

    @Test func `B1: twenty-one bytes after the prefix are a frame, twenty are not`() {
        #expect(decoded(frame) != nil)
        #expect(decoded(frame.dropLast()) == nil)
    }

    @Test(arguments: [1, 2, 229])
    func `B1: bytes after the measured power are ignored`(count: Int) {
        let data = frame + [UInt8](repeating: 0x64, count: count)
        #expect(decoded(data) == beacon)
    }

    @Test(arguments: [
        (0, 0x4D, "another company"), (1, 0x01, "another company's high byte"), (2, 0x03, "another type"),
        (2, 0x10, "nearby information"), (3, 0x14, "a shorter length"), (3, 0x16, "a longer length"),
    ])
    func `B1: data with another prefix are not an iBeacon`(index: Int, byte: Int, what: String) {
        var data = frame
        data[index] = UInt8(byte)
        #expect(decoded(data) == nil, "\(what)")
        #expect(beacons(in: ad(0xFF, data)).found == [], "\(what)")
    }

    @Test func `B1: the company identifier is little endian`() {
        #expect(beacons(in: ad(0xFF, [0x00, 0x4C] + frame[2...])).found == [])
    }

    @Test(arguments: 0..<25) func `B1: a truncated body is not an iBeacon`(length: Int) {
        let data = Array(frame[..<length])
        #expect(decoded(data) == nil)
        let result = beacons(in: ad(0xFF, data))
        #expect(result.found == [])
        #expect(result.error == nil)
    }

    @Test(arguments: [0x16, 0x21, 0xFE, 0x00, 0x09])
    func `B1: the same bytes with another AD type are not an iBeacon`(type: Int) {
        #expect(beacons(in: flags + ad(UInt8(type), frame)).found == [])
    }

    @Test func `B1: the same bytes in another structure's service data are not an iBeacon`() {
        let inner = ad(0xFF, frame)
        #expect(beacons(in: ad(0x16, [0xAA, 0xFE] + inner)).found == [])
    }

    @Test func `B1: an iBeacon that is written and read again is the same`() {
        #expect(beacon.manufacturerData == frame)
        #expect(decoded(beacon.manufacturerData) == beacon)
    }

    @Test func `B5: the identity of a beacon is UUID, major and minor, which order it in this order`() {
        let identities = [
            BeaconIdentity(uuid: ProximityUUID(high: 0, low: 9), major: 9, minor: 9),
            BeaconIdentity(uuid: ProximityUUID(high: 1, low: 0), major: 0, minor: 1),
            BeaconIdentity(uuid: ProximityUUID(high: 1, low: 0), major: 1, minor: 0),
            BeaconIdentity(uuid: ProximityUUID(high: 1, low: 0), major: 1, minor: 1),
            BeaconIdentity(uuid: ProximityUUID(high: 1, low: 1), major: 0, minor: 0),
            BeaconIdentity(uuid: ProximityUUID(high: .max, low: 0), major: 0, minor: 0),
        ]
        #expect(identities.reversed().sorted() == identities)
        for identity in identities { #expect(!(identity < identity)) }
    }
}
