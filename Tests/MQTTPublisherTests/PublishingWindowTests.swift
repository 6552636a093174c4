import EventLog
import MQTTPublisher
import Testing

@Suite struct PublishingWindowTests {
    private func window(_ sent: ClosedRange<Int>, capacity: Int = 10) -> PublishingWindow {
        var window = PublishingWindow(after: LinePosition(sequence: sent.lowerBound - 1), capacity: capacity)
        for number in sent { window.sent(Int32(number + 100), LinePosition(sequence: number)) }
        return window
    }

    @Test func `the checkpoint moves past a line when it and all lines before it are acknowledged`() {
        var window = window(1...4)
        #expect(window.published.sequence == 0)
        #expect(window.acknowledged(102) == true)
        #expect(window.published.sequence == 0)
        #expect(window.acknowledged(101) == true)
        #expect(window.published.sequence == 2)
        #expect(window.inFlight == 2)
        #expect(window.acknowledged(103) == true)
        #expect(window.acknowledged(104) == true)
        #expect(window.published.sequence == 4)
        #expect(window.inFlight == 0)
    }

    @Test func `an acknowledgement of a message that is not in flight changes nothing`() {
        var window = window(1...2)
        #expect(window.acknowledged(7) == false)
        #expect(window.acknowledged(101) == true)
        #expect(window.acknowledged(101) == false)
        #expect(window.published.sequence == 1)
    }

    @Test func `lines that are acknowledged but not stored use room like lines in flight`() {
        var window = window(1...10)
        #expect(window.room == 0)
        for number in 1...6 { _ = window.acknowledged(Int32(number + 100)) }
        #expect(window.unstoredCount == 6)
        #expect(window.room == 0)
        window.keep()
        #expect(window.stored.sequence == 6)
        #expect(window.room == 6)
    }

    @Test func `at most as many lines are in flight as the broker accepts at a time`() {
        var window = window(1...3)
        window.atATime = 4
        #expect(window.room == 1)
        window.atATime = 3
        #expect(window.room == 0)
        window.atATime = 2
        #expect(window.room == 0)
        _ = window.acknowledged(101)
        _ = window.acknowledged(102)
        #expect(window.room == 1)
        window.atATime = .max
        #expect(window.room == 7)
    }

    @Test func `after a connection ended, the next one starts after the last line up to which all are acknowledged`() {
        var window = window(1...4)
        _ = window.acknowledged(101)
        _ = window.acknowledged(103)
        let under = window.restart()
        #expect(under == 3)
        #expect(window.inFlight == 0)
        #expect(window.published.sequence == 1)
        // Message numbers of the old connection are not valid in the new one.
        #expect(window.acknowledged(102) == false)
    }

    @Test func `the message numbers repeat after 65,535`() {
        var window = PublishingWindow(after: LinePosition(sequence: 0), capacity: 8)
        for number in 1...200_000 {
            window.sent(Int32((number - 1) % 65_535 + 1), LinePosition(sequence: number))
            #expect(window.acknowledged(Int32((number - 1) % 65_535 + 1)) == true)
            if window.unstoredCount == 4 { window.keep() }
        }
        #expect(window.published.sequence == 200_000)
    }

    @Test func `a line that is set aside is finished when all lines before it are, not earlier`() {
        var window = window(1...2)
        window.setAside(LinePosition(sequence: 3))
        window.sent(104, LinePosition(sequence: 4))
        #expect(window.published.sequence == 0)
        // The library's numbers start with 1, so 0 belongs to no message.
        #expect(window.acknowledged(0) == false)
        #expect(window.acknowledged(102) == true)
        #expect(window.acknowledged(101) == true)
        #expect(window.published.sequence == 3)
        #expect(window.acknowledged(104) == true)
        window.setAside(LinePosition(sequence: 5))
        #expect(window.published.sequence == 5)
        #expect(window.inFlight == 0)
    }
}
