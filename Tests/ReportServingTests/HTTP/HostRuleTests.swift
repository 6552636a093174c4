import Testing

@testable import ReportServing

@Suite struct HostRuleTests {
    private let rule = HostRule(name: "Presence.example")

    @Test(arguments: [
        "localhost", "LOCALHOST:8080", "localhost.", "127.0.0.1", "192.0.2.7:80", "[::1]", "[2001:db8::1]:8080",
        "presence.example", "presence.EXAMPLE:443",
    ])
    func `an address and a name of ours are let in`(_ host: String) { #expect(rule.allows(host: host)) }

    @Test(arguments: [
        "", ":80", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "presence.example.evil",
        "localhost:99999", "localhost:", "localhost:80:80", "[::1", "[127.0.0.1]", "[::1]x", "::1", "127.1",
        "0x7f.0.0.1",
        "local host", "presence.example@evil.example", "\u{0}localhost", String(repeating: "a", count: 300),
    ])
    func `anything else is not`(_ host: String) { #expect(!rule.allows(host: host)) }

    @Test func `an origin is the server itself, by the host that was asked`() {
        #expect(rule.allows(origin: "http://localhost:8080", host: "localhost:8080"))
        #expect(rule.allows(origin: "https://presence.example", host: "Presence.example"))
        #expect(!rule.allows(origin: "http://localhost", host: "localhost:8080"))
        #expect(!rule.allows(origin: "file://localhost", host: "localhost"))
        #expect(!rule.allows(origin: "null", host: "localhost"))
        #expect(!rule.allows(origin: "http://evil.example", host: "evil.example"))
    }
}
