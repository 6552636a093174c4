import BluetoothLE
import Testing

@Suite struct BeaconIdentityTextTests {
    private static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"

    private func beacon(_ major: UInt16, _ minor: UInt16) throws -> BeaconIdentity {
        BeaconIdentity(uuid: try #require(ProximityUUID(Self.uuid)), major: major, minor: minor)
    }

    @Test func `a beacon is written as its UUID, its major and its minor with slashes between them`() throws {
        let beacon = try beacon(100, 65_535)
        #expect(beacon.description == "\(Self.uuid)/100/65535")
        #expect(beacon.numbers == "100/65535")
        #expect(beacon.texts == [Self.uuid, "100", "65535"])
        #expect(BeaconIdentity.Part.allCases.map { "\($0.key)" } == ["uuid", "major", "minor"])
    }

    @Test(arguments: ["\(uuid)/0/65535", "f7826da64fa24e988024bc5b71e0893e/0/65535"])
    func `the text of a beacon is read in upper and in lower case, with and without hyphens`(text: String) throws {
        #expect(BeaconIdentity(text) == (try beacon(0, 65_535)))
    }

    @Test(arguments: [
        "", "/", "//", uuid, "\(uuid)/1", "\(uuid)/1/", "\(uuid)//1", "\(uuid)/1/65536", "\(uuid)/-1/1",
        "\(uuid)/1/2/3",
        "\(uuid) 1 2", " \(uuid)/1/2", "1/2", "G7826DA6-4FA2-4E98-8024-BC5B71E0893E/1/2",
    ])
    func `a text that is not exactly one beacon is rejected`(text: String) {
        #expect(BeaconIdentity(text) == nil)
    }

    @Test(arguments: [
        (uuid, true, true), ("\(uuid)/100", true, true), ("\(uuid)/100/7", true, false), ("100/7", true, false),
        ("101/7", false, false), ("F7826DA6-4FA2-4E98-8024-BC5B71E0893F", false, false),
        ("F7826DA6-4FA2-4E98-8024-BC5B71E0893F/100/7", false, false),
    ])
    func `a filter matches the beacons that have all parts of the filter`(
        text: String, matches: Bool, matchesNext: Bool
    ) throws {
        let filter = try #require(BeaconFilter(text))
        #expect(filter.matches(try beacon(100, 7)) == matches)
        #expect(filter.matches(try beacon(100, 8)) == matchesNext)
    }

    @Test(arguments: ["", "7", "1/2/3", "1/65536", "\(uuid)/", "\(uuid)/1/2/3", "staff 1/2"])
    func `a text of another form is not a filter`(text: String) {
        #expect(BeaconFilter(text) == nil)
    }
}
