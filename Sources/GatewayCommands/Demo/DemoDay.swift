import BaseTypes
import BluetoothLE
import Captures

/// The simulated day of `run --demo`, in ten minutes: badges arrive and leave, and one of two adapters fails.
enum DemoDay {
    /// A simulated badge.
    private struct Badge {
        let identity: BeaconIdentity
        let name: String?
        let group: String
        /// The seconds of the day in which it is in the building.
        let stays: [Range<Int>]

        init(_ name: String?, _ group: String, _ major: UInt16, _ minor: UInt16, _ stays: Range<Int>...) {
            identity = BeaconIdentity(uuid: uuid, major: major, minor: minor)
            (self.name, self.group, self.stays) = (name, group, stays)
        }

        func isPresent(at second: Int) -> Bool { stays.contains { $0.contains(second) } }
    }

    /// The length of the day.
    static let length = 600
    /// The seconds in which the adapter hci1 does not scan.
    static let outage = 300..<345
    /// The seconds between two advertisements of a badge.
    private static let interval = 2
    /// The UUID of all badges.
    static let uuid = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
    // 2026-01-05T08:00:00Z.
    private static let start = Instant(nanoseconds: 1_767_600_000_000_000_000)

    private static let badges = [
        Badge("Ada Lovelace", "staff", 1, 1, 0..<520),
        Badge("Grace Hopper", "staff", 1, 2, 0..<250, 310..<560),
        Badge("Alan Turing", "staff", 1, 3, 4..<570),
        Badge("Katherine Johnson", "staff", 1, 4, 16..<180, 260..<560),
        Badge("Edsger Dijkstra", "staff", 1, 5, 44..<400),
        Badge("Marie Curie", "visitors", 2, 1, 10..<40, 420..<500),
        Badge("Emmy Noether", "visitors", 2, 2, 90..<430),
        Badge("Niels Bohr", "visitors", 2, 3, 200..<290, 480..<540),
        Badge(nil, "visitors", 2, 99, 150..<240),
    ]

    /// The table with the names of the badges.
    static var names: String {
        let rows = badges.compactMap { badge in
            badge.name.map { "\(badge.identity.major),\(badge.identity.minor),\($0),\(badge.group)\n" }
        }
        return "major,minor,name,group\n" + rows.joined()
    }

    /// Returns the day as an advertisement log.
    ///
    /// - Throws: ``CaptureError`` of the writer.
    static func capture() throws(CaptureError) -> [UInt8] {
        var writer = CaptureWriter(format: .advertisementLog)
        for second in 0..<length {
            let time = start + .seconds(second)
            if second == outage.lowerBound { try writer.write(listening: false, adapter: "hci1", time: time) }
            if second == outage.upperBound { try writer.write(listening: true, adapter: "hci1", time: time) }
            // Another device, which is in range all day: an adapter without reports would count as out of order (L5).
            for adapter in 0...1 where second % interval == 1 && (adapter == 0 || !outage.contains(second)) {
                try writer.write(
                    AdvertisingReport(address: nil, rssi: RSSI(dBm: -83), properties: .legacy, data: 0..<0),
                    data: Span(), adapter: "hci\(adapter)", time: time + .microseconds(700 * adapter))
            }
            for (place, badge) in badges.enumerated() where badge.isPresent(at: second) {
                guard (second + place) % interval == 0 else { continue }
                let time = time + .milliseconds(50 * place + 20)
                for adapter in 0...1 where adapter == 0 || !outage.contains(second) {
                    // A badge is nearer to one of the two adapters. The other values vary a little.
                    let noise = (second * 31 + place * 17 + adapter * 7) % 9
                    let rssi = (place % 2 == adapter ? -55 : -71) - noise
                    try writer.write(
                        IBeacon(identity: badge.identity, measuredPower: -59),
                        report: AdvertisingReport(
                            address: nil, rssi: RSSI(dBm: Int8(rssi)), properties: .legacy, data: 0..<0),
                        adapter: "hci\(adapter)", time: time + .microseconds(700 * adapter))
                }
            }
        }
        return writer.drainBuffered()
    }
}
