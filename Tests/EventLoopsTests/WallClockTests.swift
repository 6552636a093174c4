import Glibc
import Testing

@testable import EventLoops

/// The result of adjtimex(2) determines whether the wall clock is synchronized.
@Suite struct WallClockTests {
    @Test func `the clock is synchronized unless the kernel reports TIME_ERROR or STA_UNSYNC`() {
        // TIME_OK, TIME_INS and TIME_ERROR (5), STA_PLL and STA_UNSYNC (0x40) of linux/timex.h.
        #expect(WallClock.isSynchronized(result: 0, status: 0x2001))
        #expect(WallClock.isSynchronized(result: 1, status: 1))
        #expect(!WallClock.isSynchronized(result: 5, status: 0x40))
        #expect(!WallClock.isSynchronized(result: 0, status: 0x40))
    }

    @Test func `the clock does not count as synchronized if a sandbox refuses the call`() {
        #expect(!WallClock.isSynchronized(result: -1, status: 0))
    }
}
