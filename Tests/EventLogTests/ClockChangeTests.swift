import Testing

@testable import BeaconMonitoring
@testable import EventLog

@Suite struct ClockChangeTests {
    private func offset(_ milliseconds: Int64) -> ClockOffset { ClockOffset(nanoseconds: milliseconds * 1_000_000) }

    @Test func `a difference of 21 ms from the last reported offset is a step, one of 20 ms is not`() {
        var watch = WallClockWatch(offset: offset(0), isSynchronized: true)
        #expect(watch.observe(offset(20), isSynchronized: true, at: .start) == nil)
        #expect(watch.offset == offset(0))
        let change = watch.observe(offset(21), isSynchronized: true, at: .start)
        #expect(
            change == ClockChange(before: offset(0), after: offset(21), isSynchronized: true, time: .start))
        #expect(watch.observe(offset(21), isSynchronized: true, at: .start) == nil)
        #expect(watch.observe(offset(-3_600_000), isSynchronized: true, at: .start)?.after == offset(-3_600_000))
    }

    @Test func `becoming synchronized is reported, becoming unsynchronized is not`() {
        var watch = WallClockWatch(offset: offset(5), isSynchronized: false)
        let change = watch.observe(offset(5), isSynchronized: true, at: .start)
        #expect(change == ClockChange(before: offset(5), after: offset(5), isSynchronized: true, time: .start))
        #expect(watch.observe(offset(5), isSynchronized: false, at: .start) == nil)
        #expect(watch.observe(offset(5), isSynchronized: true, at: .start) != nil)
    }

    @Test func `offsets that are far apart do not overflow`() {
        var watch = WallClockWatch(offset: ClockOffset(nanoseconds: .min), isSynchronized: true)
        #expect(watch.observe(ClockOffset(nanoseconds: .max), isSynchronized: true, at: .start) != nil)
    }

    @Test func `a clock line has its topic, both offsets and its dates`() throws {
        var encoder = LineEncoder(LineEncoder.Options(gateway: try Identifier("lobby")))
        let change = ClockChange(
            before: ClockOffset(nanoseconds: 1_500_000_000), after: startOffset, isSynchronized: true, time: .start)
        let line = text { encoder.encode(change, into: &$0) }
        #expect(
            line == """
                {"topic":"beacons/lobby/clock","qos":1,"retain":false,"payload":{"version":2,"type":"clock",\
                "gateway":"lobby","sequence":1,"offsetBefore":1.5,"offsetAfter":1795218200.0,"synchronized":true,\
                "date":"2026-11-21T00:00:00.000000Z","time":1795219200000,"monotonic":1000000000}}\n
                """)
    }

    @Test func `dates before a step are corrected with the last offset of a synchronized clock`() throws {
        var stamping = Restamping()
        let printed = WallDate(.start, offset: offset(0))
        #expect(stamping.date(printed, printedWith: offset(0), machine: "a") == printed)
        func change(_ after: Int64, _ isSynchronized: Bool) -> ClockChange {
            ClockChange(before: offset(0), after: offset(after), isSynchronized: isSynchronized, time: .start)
        }
        stamping.note(change(1000, false), machine: "a")
        #expect(stamping.date(printed, printedWith: offset(0), machine: "a") == WallDate(.start, offset: offset(1000)))
        stamping.note(change(7000, true), machine: "a")
        stamping.note(change(9000, false), machine: "a")
        #expect(stamping.date(printed, printedWith: offset(0), machine: "a") == WallDate(.start, offset: offset(7000)))
        #expect(stamping.date(printed, printedWith: offset(0), machine: "b") == printed)
    }
}
