import BaseTypes
import Testing

@testable import MQTTPublisher

@Suite struct LineAgeTests {
    private func isStale(_ text: String, at seconds: Double) -> Bool {
        let bytes = Array(("{}" + text).utf8)
        return LineAge.isStale(bytes[2...], at: Instant(nanoseconds: Int64(seconds * 1e9)))
    }

    @Test func `a line is stale if it is older than 10 s: not at 10 s, but at 10.001 s`() {
        let payload = #"{"version":2,"type":"ranging","monotonic":100000000,"condition":{}}"#
        #expect(!isStale(payload, at: 100))
        #expect(!isStale(payload, at: 110))
        #expect(isStale(payload, at: 110.001))
    }

    @Test func `a line more than 1 s in the future is stale, because it is from an earlier start of the machine`() {
        let payload = #"{"monotonic":100000000}"#
        #expect(!isStale(payload, at: 99.5))
        #expect(isStale(payload, at: 98.9))
        #expect(isStale(payload, at: 0))
        #expect(isStale(#"{"monotonic":9999999999999999}"#, at: 100))
    }

    @Test(arguments: [
        "", "{}", #"{"monotonic":}"#, #"{"monotonic":"1"}"#, #"{"monotonic":-5}"#, #"{"monotonic""#, #""monotonic":"#,
        #"{"monotonic":99999999999999999999999}"#, #"{"date":"2026"}"#,
    ])
    func `a payload without a valid time is not stale, and never traps`(payload: String) {
        #expect(!isStale(payload, at: 100))
    }
}
