import BaseTypes
import Testing

@testable import MQTTPublisher

@Suite struct LineAgeTests {
    private func isStale(_ text: String, at seconds: Double) -> Bool {
        let bytes = Array(("{}" + text).utf8)
        return LineAge.isStale(bytes[2...], at: Instant(nanoseconds: Int64(seconds * 1e9)))
    }

    @Test func `ten seconds are not too old, a millisecond more is`() {
        let payload = #"{"version":2,"type":"ranging","monotonic":100000000,"condition":{}}"#
        #expect(!isStale(payload, at: 100))
        #expect(!isStale(payload, at: 110))
        #expect(isStale(payload, at: 110.001))
    }

    @Test func `what lies ahead is of an earlier start of the machine`() {
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
    func `what has no time is not told to be old, and nothing traps`(payload: String) {
        #expect(!isStale(payload, at: 100))
    }
}
