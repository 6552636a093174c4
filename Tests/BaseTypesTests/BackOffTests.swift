import BaseTypes
import Testing

@Suite struct BackOffTests {
    @Test func `each wait is twice the one before, up to the maximum, and a reset starts again`() {
        var backOff = BackOff(first: .milliseconds(100), most: .seconds(5))
        let waits = (0..<9).map { _ in backOff.next() }
        #expect(
            waits == [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000].map { Duration.milliseconds($0) })
        #expect(backOff.failures == 9)
        backOff.reset()
        #expect(backOff.failures == 0)
        #expect(backOff.pause == .milliseconds(100))
        #expect(backOff.next() == .milliseconds(100))
    }

    @Test func `a maximum below the first wait applies to all waits`() {
        var backOff = BackOff(first: .seconds(5), most: .seconds(1))
        #expect(backOff.next() == .seconds(1))
        #expect(backOff.next() == .seconds(1))
    }

    @Test func `the wait does not overflow, however many there are`() {
        var backOff = BackOff(first: .seconds(1), most: .seconds(Int64.max / 4))
        for _ in 0..<10_000 { _ = backOff.next() }
        #expect(backOff.pause == .seconds(1 << 40))
    }
}
