import Testing

@testable import GatewayConfiguration

/// Values that were copied from an example and not replaced are warnings.
@Suite struct PlaceholderTests {
    private func warnings(_ text: String) throws -> [String] {
        try configuration(text).warnings.map(\.description)
    }

    @Test(arguments: [
        "broker.example", "example.com", "mqtt.example.org", "MQTT.Example.NET.", "broker.invalid", "a.b.test",
        "example",
    ])
    func `a broker name that is reserved for examples is a warning`(host: String) throws {
        #expect(
            try warnings(file("mqtt:\n  host: \(host)")) == [
                """
                g.yaml:2:9: mqtt.host is \(host), which is reserved for examples and tests (RFC 2606); write the \
                name or address of your broker
                """
            ])
    }

    @Test(arguments: [
        "localhost", "broker", "broker.local", "example.home.arpa", "myexample.com", "notexample", "192.0.2.1", "::1",
        "example.com.au", "test.mosquitto.org",
    ])
    func `any other broker name is not a warning`(host: String) throws {
        #expect(try warnings(file("mqtt:\n  host: '\(host)'")) == [])
    }

    @Test func `a variable in braces is a warning at its position, because variables are not replaced`() throws {
        #expect(
            try warnings(
                file("gateway:\n  name: ${HOSTNAME}\nmqtt:\n  host: b\n  username: 'x-${USER:-lobby}'\n  tls: true"))
                == [
                    """
                    g.yaml:2:9: ${HOSTNAME} is used literally: variables are not replaced; write the value itself, or \
                    generate this file with a tool that replaces variables
                    """,
                    """
                    g.yaml:5:13: ${USER:-lobby} is used literally: variables are not replaced; write the value \
                    itself, or generate this file with a tool that replaces variables
                    """,
                ])
    }

    @Test(arguments: ["$HOSTNAME", "{HOSTNAME}", "${}", "${", "${ }", "$ {A}", "${1}", "a$"])
    func `a text without a variable name in ${ } is not a warning`(name: String) throws {
        #expect(try warnings(file("gateway:\n  name: '\(name)'")) == [])
    }

    @Test func `a variable in a comment is not a warning`() throws {
        #expect(try warnings(file("# ${HOSTNAME}\ngateway:\n  name: a # ${HOSTNAME}")) == [])
    }
}
