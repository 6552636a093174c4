import Glibc
import Testing

@testable import EventLoops

/// What adjtimex(2) answers, and what that says of the wall clock.
@Suite struct WallClockTests {
    @Test func `the clock has been set where the kernel says so, and not where it says otherwise`() {
        // TIME_OK, TIME_INS and TIME_ERROR (5), STA_PLL and STA_UNSYNC (0x40) of linux/timex.h.
        #expect(WallClock.isSynchronized(result: 0, status: 0x2001))
        #expect(WallClock.isSynchronized(result: 1, status: 1))
        #expect(!WallClock.isSynchronized(result: 5, status: 0x40))
        #expect(!WallClock.isSynchronized(result: 0, status: 0x40))
    }

    @Test func `a sandbox that refuses the question does not make the clock one that has been set`() {
        #expect(!WallClock.isSynchronized(result: -1, status: 0))
    }
}
