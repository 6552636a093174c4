import BaseTypes
import EventLoops
import Testing

@testable import ReportServing

@Suite struct ChangeStreamsTests {
    /// Open pages in an event loop whose clock the test sets.
    private final class Fixture {
        var now = Instant(nanoseconds: 1)
        let loop: EventLoop
        let changes: ChangeStreams

        init() throws {
            final class Clock { var now = Instant(nanoseconds: 1) }
            let clock = Clock()
            loop = try EventLoop(clock: { clock.now })
            changes = ChangeStreams(on: loop)
            move = { clock.now = $0 }
        }

        private let move: (Instant) -> Void

        func pass(_ duration: Duration) throws {
            now = now + duration
            move(now)
            try loop.turn(waits: false)
        }

        func read(_ stream: HTTPStream) -> String {
            var bytes = [UInt8](repeating: 0, count: 4096)
            var text = ""
            while true {
                let count = bytes.withUnsafeMutableBytes { stream.take(into: $0) }
                guard count > 0 else { return text }
                text += String(decoding: bytes[..<count], as: UTF8.self)
            }
        }
    }

    @Test func `a change is sent immediately, later ones together after 500 ms, with the last line`() throws {
        let fixture = try Fixture()
        fixture.changes.note(.init(sequence: 1))
        let pages = [fixture.changes.open(), fixture.changes.open()]
        // A page already has the changes before it was opened, so they are not sent.
        for page in pages { #expect(fixture.read(page) == "retry: 2000\n\n") }
        fixture.changes.note(.init(sequence: 2))
        for page in pages { #expect(fixture.read(page) == "data: {\"sequence\":2}\n\n") }
        for number in 3...50 {
            fixture.changes.note(.init(sequence: number))
            try fixture.pass(.milliseconds(10))
            #expect(pages.allSatisfy { $0.isSuspended }, "\(number)")
        }
        try fixture.pass(ChangeStreams.pause)
        for page in pages { #expect(fixture.read(page) == "data: {\"sequence\":50}\n\n") }
        // No change is left to send, so no timer is set.
        try fixture.pass(ChangeStreams.pause)
        try fixture.pass(.seconds(3600))
        #expect(pages.allSatisfy { $0.isSuspended })
        #expect(fixture.changes.rest == nil)
        fixture.changes.note(.init(sequence: 51))
        #expect(fixture.read(pages[0]) == "data: {\"sequence\":51}\n\n")
    }

    @Test func `an unchanged state is not sent; an error or missing lines are, also without a new line`() throws {
        let fixture = try Fixture()
        fixture.changes.note(.init(sequence: 1))
        let page = fixture.changes.open()
        _ = fixture.read(page)
        fixture.changes.note(.init(sequence: 1))
        #expect(page.isSuspended)
        fixture.changes.note(.init(sequence: 1, failure: "the disk is gone"))
        #expect(!page.isSuspended)
        #expect(fixture.read(page) == "data: {\"sequence\":1}\n\n")
        try fixture.pass(ChangeStreams.pause)
        fixture.changes.note(.init(sequence: 1, missed: 3))
        #expect(fixture.read(page) == "data: {\"sequence\":1}\n\n")
    }

    @Test func `after the only page was closed, a change sets no timer`() throws {
        let fixture = try Fixture()
        fixture.changes.note(.init(sequence: 1))
        let page = fixture.changes.open()
        _ = fixture.read(page)
        page.forget()
        fixture.changes.note(.init(sequence: 2))
        // No page is left to notify, so no timer is set.
        #expect(fixture.changes.rest == nil)
    }

    @Test func `live.js opens the stream of changes, and the server sends the number of a new line`() async throws {
        let fixture = try ServedFixture { $0.completeVisit("staff", 10, 20, minor: 7) }
        _ = try await fixture.get("/api/v1/present")
        #expect(try await fixture.get("/live.js").body.contains("new EventSource(\"/api/v1/changes\")"))
        let page = try fixture.open("/api/v1/changes")
        try await fixture.turn(until: "the stream waits") { fixture.served.server?.streamCount == 1 }
        fixture.writer.event("staff", "satisfied", 50, minor: 8, seen: 50)
        try fixture.flush()
        try await fixture.turn(until: "the change is reported") { page.hasRead("data: {\"sequence\":4}\n\n") }
    }
}
