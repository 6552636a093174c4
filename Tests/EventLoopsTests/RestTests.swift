import BaseTypes
import EventLoops
import SystemPackage
import Testing

@Suite struct RestTests {
    private static func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    /// Returns a rest of 100 ms, requested after a wait of `waited` nanoseconds that ended at 200 ms.
    private static func rest(waited: Int64 = 2_000_000) -> Rest {
        var rest = Rest()
        rest.waited(from: Instant(nanoseconds: 200_000_000 - waited), to: at(200))
        rest.ask(for: .milliseconds(100))
        return rest
    }

    @Test func `if the wait was shorter than the requested rest, the loop rests for the requested time`() {
        var rest = Self.rest()
        let begun = rest.begin(now: Self.at(200))
        #expect(begun)
        #expect(rest.end == Self.at(300))
    }

    @Test func `the shortest rest that is requested in a turn counts`() {
        var rest = Self.rest()
        rest.ask(for: .milliseconds(20))
        rest.ask(for: .milliseconds(500))
        let begun = rest.begin(now: Self.at(200))
        #expect(begun)
        #expect(rest.end == Self.at(220))
    }

    @Test func `each rest must be requested again`() {
        var rest = Self.rest()
        let begun = rest.begin(now: Self.at(200))
        #expect(begun)
        rest.finish()
        #expect(rest.end == nil)
        let again = rest.begin(now: Self.at(300))
        #expect(!again)
    }

    @Test func `a request during a rest does not extend it`() {
        var rest = Self.rest()
        let begun = rest.begin(now: Self.at(200))
        #expect(begun)
        rest.ask(for: .milliseconds(100))
        let again = rest.begin(now: Self.at(250))
        #expect(!again)
        #expect(rest.end == Self.at(300))
    }

    @Test(arguments: [(99_999_999, true), (100_000_000, false)] as [(Int64, Bool)])
    func `there is a rest only if the wait for the data was shorter than the rest`(waited: Int64, rests: Bool) {
        var rest = Self.rest(waited: waited)
        let begun = rest.begin(now: Self.at(200))
        #expect(begun == rests)
    }

    @Test func `no rest follows a turn that left data unread, but one can follow the next turn`() {
        var rest = Self.rest()
        rest.refuse()
        let begun = rest.begin(now: Self.at(200))
        #expect(!begun)
        rest.ask(for: .milliseconds(100))
        let next = rest.begin(now: Self.at(200))
        #expect(next)
    }

    @Test func `without a request there is no rest`() {
        var rest = Rest()
        rest.waited(from: Self.at(199), to: Self.at(200))
        let begun = rest.begin(now: Self.at(200))
        #expect(!begun)
        #expect(rest.milliseconds(from: Self.at(200)) == nil)
    }

    @Test(
        arguments: [
            (200_000_000, 100), (200_000_001, 100), (299_000_000, 1), (299_999_999, 1), (300_000_000, 0),
            (400_000_000, 0),
        ] as [(Int64, Int32)])
    func `the remaining time of a rest is rounded up to whole milliseconds`(now: Int64, milliseconds: Int32) {
        var rest = Self.rest()
        let begun = rest.begin(now: Self.at(200))
        #expect(begun)
        #expect(rest.milliseconds(from: Instant(nanoseconds: now)) == milliseconds)
    }
}

@Suite struct RestingLoopTests {
    /// A loop that rests after each turn in which it reads from `reports`, and has read one byte.
    private final class Resting {
        let loop: EventLoop
        let clock = StoppableClock()
        let reports: TestPipe
        /// The number of bytes that were read from `reports`.
        private(set) var read = 0
        /// Whether `reports` has ended.
        private(set) var isEnded = false

        init(length: Duration = .seconds(60)) throws {
            let clock = clock
            loop = try EventLoop(clock: { clock.now })
            reports = try TestPipe()
            _ = try loop.watch(reports.reader, for: .read, mayRest: true) { [unowned self] readiness in
                read += RestingLoopTests.readAll(reports.reader)
                if readiness.contains(.hangUp) { isEnded = true }
                loop.restAfterTurn(for: length)
            }
            try reports.write("a")
            // The clock is stopped, so the loop has not waited, even if the turn takes long.
            clock.stop()
            try loop.turn()
            clock.go()
            #expect(read == 1)
        }
    }

    private static func readAll(_ descriptor: FileDescriptor) -> Int {
        unsafe withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) {
            (try? unsafe descriptor.read(into: $0)) ?? 0
        }
    }

    @Test func `a loop that rests handles timers on time, and ignores watches that can rest`() throws {
        let resting = try Resting()
        let loop = resting.loop
        var fired: Instant?
        resting.clock.stop()
        loop.afterWaiting = { resting.clock.go() }
        let due = loop.now + .milliseconds(5)
        loop.set(loop.makeTimer { fired = $0 }, at: due)
        try resting.reports.write("b")
        try loop.turn()
        #expect(try #require(fired) >= due)
        #expect(resting.read == 1)
        #expect(loop.wakeUps == 2)
    }

    @Test func `a watch that cannot rest is handled at once during a rest`() throws {
        let resting = try Resting()
        let other = try TestPipe()
        var handled = 0
        _ = try resting.loop.watch(other.reader, for: .read) { _ in handled += Self.readAll(other.reader) }
        try resting.reports.write("b")
        try other.write("c")
        try resting.loop.turn()
        #expect(handled == 1)
        #expect(resting.read == 1)
    }

    @Test func `data that arrive during a rest are read together at its end, with one wake-up`() throws {
        let resting = try Resting(length: .milliseconds(200))
        let loop = resting.loop
        let begin = loop.now
        for _ in 0..<20 { try resting.reports.write("b") }
        try loop.turn()
        #expect(resting.read == 21)
        #expect(loop.now - begin >= .milliseconds(200))
        // One wake-up less if the rest ended before the loop waited for its end.
        #expect(loop.wakeUps <= 2)
    }

    @Test func `a turn that does not wait handles everything that is ready, also during a rest`() throws {
        let resting = try Resting()
        let loop = resting.loop
        loop.set(loop.makeTimer { _ in }, at: loop.now + .milliseconds(1))
        try resting.reports.write("b")
        try loop.turn()
        #expect(resting.read == 1)
        try loop.turn(waits: false)
        #expect(resting.read == 2)
    }

    @Test func `a watch that changes its interest during a rest is not handled until the rest ends`() throws {
        let loop = try EventLoop()
        let pipe = try TestPipe()
        var calls = 0
        let watch = try loop.watch(pipe.reader, for: .read, mayRest: true) { _ in
            calls += 1
            loop.restAfterTurn(for: .seconds(60))
        }
        try pipe.write("a")
        try loop.turn()
        loop.set(loop.makeTimer { _ in }, at: loop.now + .milliseconds(1))
        try loop.turn()
        // The loop still rests. The watch waits for reading again, but must not be handled yet.
        try loop.change(watch, to: [])
        try loop.change(watch, to: .read)
        loop.set(loop.makeTimer { _ in }, at: loop.now + .milliseconds(1))
        try loop.turn()
        #expect(calls == 1)
        try loop.turn(waits: false)
        #expect(calls == 2)
    }

    @Test func `a hang-up is reported during a rest`() throws {
        let resting = try Resting()
        try resting.reports.closeWriter()
        try resting.loop.turn()
        #expect(resting.isEnded)
    }
}
