import Testing

@testable import GatewayConfiguration

/// `mqtt.names` decides whether the broker receives names of beacons.
@Suite struct PublishedNamesTests {
    @Test func `the broker receives names only if mqtt.names is set; useless or unsafe use is a warning`() throws {
        let ada = "monitor: {per_beacon: true}\nbeacons: [{major: 1, minor: 2, name: Ada}]\n"
        func read(_ mqtt: String, _ beacons: String) throws -> (Bool?, [String]) {
            let read = try configuration(file("mqtt: {\(mqtt)}\n\(beacons)"))
            return (read.mqtt?.names, read.warnings.map(\.description))
        }
        #expect(try read("host: localhost", ada) == (false, []))
        #expect(try read("host: localhost, names: false", "") == (false, []))
        #expect(try read("host: localhost, names: true", ada) == (true, []))
        #expect(try read("host: b.net, tls: true, names: true", ada) == (true, []))
        #expect(try read("host: b.net, names: true", "beacons: {file: b.csv}").1.count == 1)
        #expect(
            try read("host: b.net, names: true", ada).1 == [
                "g.yaml:1:28: mqtt sends the names of beacons without encryption; write tls: true if the broker supports it"
            ])
        #expect(
            try read("host: localhost, names: true", "").1 == [
                "g.yaml:1:32: mqtt.names is true, but no beacon has a name; add names under beacons, or remove it"
            ])
    }
}
