import BluetoothLE
import Polling
import Testing

@Suite struct RestTests {
    private static func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    /// A rest that was asked for after a wait of so many nanoseconds that ended at 100 ms.
    private static func rest(waited: Int64 = 2_000_000) -> Rest {
        var rest = Rest()
        rest.waited(from: Instant(nanoseconds: 100_000_000 - waited), to: at(100))
        rest.ask()
        return rest
    }

    @Test func `who is woken again and again for what is not urgent rests for 20 ms`() {
        var rest = Self.rest()
        #expect(rest.end(now: Self.at(100), next: nil) == Self.at(120))
    }

    @Test func `it is asked for each time anew`() {
        var rest = Self.rest()
        _ = rest.end(now: Self.at(100), next: nil)
        #expect(rest.end(now: Self.at(120), next: nil) == nil)
    }

    @Test(arguments: [(9_999_999, true), (10_000_000, false)] as [(Int64, Bool)])
    func `a wait of 10 ms was long enough`(waited: Int64, rests: Bool) {
        var rest = Self.rest(waited: waited)
        #expect((rest.end(now: Self.at(100), next: nil) != nil) == rests)
    }

    @Test func `nobody asked, nobody rests`() {
        var rest = Rest()
        rest.waited(from: Self.at(99), to: Self.at(100))
        #expect(rest.end(now: Self.at(100), next: nil) == nil)
    }

    @Test(arguments: [(119, 119), (120, 120), (121, 120), (101, 101)] as [(Int64, Int64)])
    func `what is due ends it`(due: Int64, end: Int64) {
        var rest = Self.rest()
        #expect(rest.end(now: Self.at(100), next: Self.at(due)) == Self.at(end))
    }

    @Test func `what is due already leaves no time for it`() {
        var rest = Self.rest()
        #expect(rest.end(now: Self.at(100), next: Self.at(100)) == nil)
    }

    @Test func `a loop that rests is on time for what is due`() throws {
        let loop = try EventLoop()
        let pipe = try TestPipe()
        _ = try loop.watch(pipe.reader, for: .read) { _ in loop.restAfterTurn() }
        try pipe.write("a")
        var fired: Instant?
        let due = loop.now + .milliseconds(5)
        loop.set(loop.makeTimer { fired = $0 }, at: due)
        while fired == nil { try loop.turn() }
        #expect(try #require(fired) >= due)
        #expect(loop.wakeUps <= 6)
    }
}
