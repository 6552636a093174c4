import Testing

@testable import ReportServing

@Suite struct HostRuleTests {
    private let rule = HostRule(name: "Presence.example")

    @Test(arguments: [
        "localhost", "LOCALHOST:8080", "localhost.", "127.0.0.1", "192.0.2.7:80", "[::1]", "[2001:db8::1]:8080",
        "presence.example", "presence.EXAMPLE:443",
    ])
    func `addresses and names of this server are allowed`(_ host: String) { #expect(rule.allows(host: host)) }

    @Test(arguments: [
        "", ":80", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "presence.example.evil",
        "localhost:99999", "localhost:", "localhost:80:80", "[::1", "[127.0.0.1]", "[::1]x", "::1", "127.1",
        "0x7f.0.0.1",
        "local host", "presence.example@evil.example", "\u{0}localhost", String(repeating: "a", count: 300),
    ])
    func `other hosts are refused`(_ host: String) { #expect(!rule.allows(host: host)) }

    @Test func `an origin is allowed only if it equals the host of the request and this is allowed`() {
        #expect(rule.allows(origin: "http://localhost:8080", host: "localhost:8080"))
        #expect(rule.allows(origin: "https://presence.example", host: "Presence.example"))
        #expect(!rule.allows(origin: "http://localhost", host: "localhost:8080"))
        #expect(!rule.allows(origin: "file://localhost", host: "localhost"))
        #expect(!rule.allows(origin: "null", host: "localhost"))
        #expect(!rule.allows(origin: "http://evil.example", host: "evil.example"))
    }
}
