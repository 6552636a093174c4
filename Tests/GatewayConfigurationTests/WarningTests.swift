import Testing

@testable import GatewayConfiguration

/// Settings that are valid but probably not intended are warnings.
@Suite struct WarningTests {
    @Test(
        arguments: [
            ("port: 1883", []), ("port: 8883, tls: true", []), ("port: 8884", []), ("port: 1884, tls: true", []),
            ("tls: true", []), ("tls: {ca_file: /a}, port: 8883", []),
            (
                "tls: true, port: 1883",
                [
                    "g.yaml:1:39: mqtt.port is 1883, the port for connections without TLS, but mqtt.tls is set; "
                        + "write port: 8883, or remove tls"
                ]
            ),
            (
                "port: 1883, tls: {ca_file: /a}",
                [
                    "g.yaml:1:28: mqtt.port is 1883, the port for connections without TLS, but mqtt.tls is set; "
                        + "write port: 8883, or remove tls"
                ]
            ),
            (
                "port: 8883, tls: false",
                [
                    "g.yaml:1:28: mqtt.port is 8883, the port for connections with TLS, but mqtt.tls is not set; "
                        + "write tls: true, or port: 1883"
                ]
            ),
            (
                "port: 8883",
                [
                    "g.yaml:1:28: mqtt.port is 8883, the port for connections with TLS, but mqtt.tls is not set; "
                        + "write tls: true, or port: 1883"
                ]
            ),
        ] as [(String, [String])])
    func `port 1883 with TLS and port 8883 without TLS are warnings`(mqtt: String, words: [String]) throws {
        #expect(
            try configuration(file("mqtt: {host: broker, \(mqtt)}")).warnings.map(\.description) == words)
    }

    @Test func `200 warnings are listed, and the others are counted`() throws {
        let conditions = (0..<250).map {
            "- {identifier: c\($0), uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, exit_timeout: 5s}\n"
        }
        let made = try configuration("conditions:\n" + conditions.joined())
        #expect(made.warnings.count == 200 && made.warningsLeftOut == 50)
    }
}
