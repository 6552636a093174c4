import BaseTypes
import Testing

@testable import MQTTPublisher

/// When a ping must be sent, and when a broker that acknowledges nothing is disconnected.
@Suite struct ConnectionSilenceTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)
    private static func at(_ seconds: Int) -> Instant { start + .seconds(seconds) }

    @Test func `a ping is due when either side was silent for the keep-alive time, not 1 ns earlier`() {
        var silence = ConnectionSilence(upTo: .seconds(60), at: Self.start)
        #expect(!silence.isDue(at: Self.at(60) - .nanoseconds(1)) && silence.isDue(at: Self.at(60)))
        // The library counts whole seconds, so it would not send a ping yet.
        #expect(silence.next == Self.at(61))
        silence.sent(at: Self.at(30))
        #expect(silence.isDue(at: Self.at(60)))
        silence.received(at: Self.at(20))
        #expect(!silence.isDue(at: Self.at(79)) && silence.isDue(at: Self.at(80)))
        silence.asked(at: Self.at(80))
        #expect(!silence.isDue(at: Self.at(139)) && silence.isDue(at: Self.at(140)))
    }

    @Test func `a keep-alive time that the broker sets applies from its answer on`() {
        var silence = ConnectionSilence(upTo: .seconds(60), at: Self.start)
        silence.begin(upTo: .seconds(10), at: Self.at(5))
        #expect(silence.isDue(at: Self.at(15)) && !silence.isDue(at: Self.at(14)))
        silence.begin(upTo: nil, at: Self.at(20))
        #expect(silence.next == Self.at(31))
    }

    @Test func `after twice the keep-alive time without an acknowledgement, answers to pings are not enough`() {
        var silence = ConnectionSilence(upTo: .seconds(10), at: Self.start)
        silence.note(isUnderWay: true, at: Self.at(1))
        silence.note(isUnderWay: true, at: Self.at(15))
        silence.received(at: Self.at(20))
        #expect(silence.unacknowledged(at: Self.at(20)) == nil)
        #expect(silence.unacknowledged(at: Self.at(21)) == .seconds(20))
        silence.acknowledged()
        #expect(silence.unacknowledged(at: Self.at(21)) == nil)
        silence.note(isUnderWay: true, at: Self.at(22))
        silence.note(isUnderWay: false, at: Self.at(23))
        #expect(silence.unacknowledged(at: Self.at(100)) == nil)
    }
}
