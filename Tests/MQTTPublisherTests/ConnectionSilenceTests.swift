import BaseTypes
import Testing

@testable import MQTTPublisher

/// When a broker is asked whether it is there, and when its silence ends the connection.
@Suite struct ConnectionSilenceTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)
    private static func at(_ seconds: Int) -> Instant { start + .seconds(seconds) }

    @Test func `it is asked once both sides were silent for as long as they may be, and not a nanosecond before`() {
        var silence = ConnectionSilence(upTo: .seconds(60), at: Self.start)
        #expect(!silence.isDue(at: Self.at(60) - .nanoseconds(1)) && silence.isDue(at: Self.at(60)))
        // The library counts in whole seconds, and would not ask yet.
        #expect(silence.next == Self.at(61))
        silence.sent(at: Self.at(30))
        #expect(silence.isDue(at: Self.at(60)))
        silence.heard(at: Self.at(20))
        #expect(!silence.isDue(at: Self.at(79)) && silence.isDue(at: Self.at(80)))
        silence.asked(at: Self.at(80))
        #expect(!silence.isDue(at: Self.at(139)) && silence.isDue(at: Self.at(140)))
    }

    @Test func `the broker's own time counts from its answer on`() {
        var silence = ConnectionSilence(upTo: .seconds(60), at: Self.start)
        silence.begin(upTo: .seconds(10), at: Self.at(5))
        #expect(silence.isDue(at: Self.at(15)) && !silence.isDue(at: Self.at(14)))
        silence.begin(upTo: nil, at: Self.at(20))
        #expect(silence.next == Self.at(31))
    }

    @Test func `answers to pings alone do not keep a connection on which nothing is acknowledged`() {
        var silence = ConnectionSilence(upTo: .seconds(10), at: Self.start)
        silence.note(isUnderWay: true, at: Self.at(1))
        silence.note(isUnderWay: true, at: Self.at(15))
        silence.heard(at: Self.at(20))
        #expect(silence.unacknowledged(at: Self.at(20)) == nil)
        #expect(silence.unacknowledged(at: Self.at(21)) == .seconds(20))
        silence.acknowledged()
        #expect(silence.unacknowledged(at: Self.at(21)) == nil)
        silence.note(isUnderWay: true, at: Self.at(22))
        silence.note(isUnderWay: false, at: Self.at(23))
        #expect(silence.unacknowledged(at: Self.at(100)) == nil)
    }
}
