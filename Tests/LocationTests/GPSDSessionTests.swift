import BaseTypes
import BeaconMonitoring
import TestSupport
import Testing

@testable import Location

/// The protocol with gpsd.
@Suite struct GPSDSessionTests {
    private static func connected() -> GPSDSession {
        var session = GPSDSession(at: at(0))
        _ = session.advance(to: at(0))
        _ = session.connected(at: at(0))
        return session
    }

    private static func fixes(_ actions: [GPSDSession.Action]) -> [LocationFix] {
        actions.compactMap { if case .fix(let fix) = $0 { fix } else { nil } }
    }

    private static func losses(_ actions: [GPSDSession.Action]) -> [String] {
        actions.compactMap { if case .change(.unavailable(_, let reason)) = $0 { reason } else { nil } }
    }

    private static func line(_ text: String) -> [UInt8] { Array((text + "\r\n").utf8) }

    private static func position(_ rest: String) -> [UInt8] {
        line(#"{"class":"TPV","mode":3,"lat":48.2,"lon":16.4,\#(rest)}"#)
    }

    @Test func `the session connects, requests reports, and a position with an error estimate is a fix`() throws {
        var session = GPSDSession(at: at(0))
        #expect(session.nextDeadline == at(0))
        #expect(session.advance(to: at(0)) == [.connect])
        #expect(session.connected(at: at(0)) == [.send(Array("?WATCH={\"enable\":true,\"json\":true};\n".utf8))])
        let fixes = Self.fixes(session.received(Self.line(GPSDReportTests.position), at: at(1)))
        let fix = try #require(fixes.first)
        #expect(fix.time == at(1))
        #expect(fix.coordinate == (try Coordinate(latitude: 48.208649667, longitude: 16.3738)))
        #expect(fix.horizontalAccuracy == 17.1)
        #expect(fix.altitude == 180)
        #expect(fix.speed == 10.001)
        #expect(fix.course == 0)
    }

    @Test func `the accuracy is eph, else epx with epy, else from a dilution of precision of the last 10 s`() {
        var session = Self.connected()
        func accuracy(_ rest: String, at time: Double) -> Double? {
            Self.fixes(session.received(Self.position(rest), at: at(time))).first?.horizontalAccuracy
        }
        #expect(accuracy(#""eph":7,"epx":30,"epy":40"#, at: 1) == 7)
        #expect(accuracy(#""epx":3,"epy":4"#, at: 2) == 5)
        #expect(accuracy(#""epx":3"#, at: 3) == nil)
        _ = session.received(Self.line(#"{"class":"SKY","hdop":1.5,"satellites":[{"PRN":1},{"PRN":2}]}"#), at: at(4))
        #expect(accuracy(#""epx":3"#, at: 14) == 7.5)
        #expect(accuracy(#""epx":3"#, at: 14.001) == nil)
        #expect(session.counters.refused == 2)
    }

    @Test(arguments: [
        #"{"class":"TPV","mode":1}"#, #"{"class":"TPV","mode":0,"lat":1,"lon":2,"eph":3}"#,
        #"{"class":"TPV","mode":3,"lat":91,"lon":2,"eph":3}"#, #"{"class":"TPV","mode":3,"lat":1,"lon":-181,"eph":3}"#,
        #"{"class":"TPV","mode":3,"lat":1,"eph":3}"#, #"{"class":"TPV","mode":3,"lat":1,"lon":2,"eph":-1}"#,
        #"{"class":"TPV","mode":3,"lat":1,"lon":2}"#, #"{"class":"TPV","lat":1,"lon":2,"eph":3}"#,
        #"{"class":"GST","lat":1,"lon":2,"eph":3}"#, #"{"mode":3,"lat":1,"lon":2,"eph":3}"#,
    ])
    func `G1: a report without mode or accuracy, or out of range, is not a fix`(text: String) {
        var session = Self.connected()
        #expect(Self.fixes(session.received(Self.line(text), at: at(1))) == [])
    }

    @Test func `one report without a fix is not a loss, 10 s without a fix are, and one fix ends it`() {
        var session = Self.connected()
        _ = session.received(Self.position(#""eph":5"#), at: at(1))
        for second in 2...10 {
            let actions = session.received(Self.line(#"{"class":"TPV","mode":1}"#), at: at(Double(second)))
            #expect(actions == [])
            #expect(session.advance(to: at(Double(second))) == [])
        }
        #expect(session.nextDeadline == at(11))
        #expect(
            session.advance(to: at(11)) == [.change(.unavailable(since: at(1), reason: "the receiver has no fix"))])
        #expect(session.advance(to: at(12)) == [])
        #expect(Self.fixes(session.received(Self.position(#""eph":5"#), at: at(13))).count == 1)
        #expect(session.nextDeadline == at(23))
    }

    @Test func `a loss names the reason if gpsd has no receiver`() {
        var session = Self.connected()
        _ = session.received(Self.line(#"{"class":"DEVICES","devices":[]}"#), at: at(1))
        #expect(Self.losses(session.advance(to: at(10))) == ["gpsd has no receiver"])
    }

    @Test func `the session retries after 1 s, then with doubled delays up to 60 s, and logs the problem once`() {
        var session = GPSDSession(at: at(0))
        var time = at(0)
        var waits: [Duration] = []
        var remarks = 0
        for _ in 0..<9 {
            #expect(session.advance(to: time).contains(.connect))
            let actions = session.disconnected("nobody is there", at: time)
            remarks += actions.count { if case .change(.remark) = $0 { true } else { false } }
            let next = session.nextDeadline ?? .latest
            waits.append(next - time)
            time = next
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { Duration.seconds($0) })
        #expect(remarks == 1)
        // After a connection with a report, the next retry is after 1 s again.
        #expect(session.advance(to: time) == [.connect])
        _ = session.connected(at: time)
        _ = session.received(Self.position(#""eph":5"#), at: time)
        _ = session.disconnected("it closed the connection", at: time)
        #expect(session.nextDeadline == time + .seconds(1))
    }

    @Test func `a lost connection is a loss at once, dated at the last fix`() {
        var session = Self.connected()
        _ = session.received(Self.position(#""eph":5"#), at: at(1))
        let actions = session.disconnected("it closed the connection", at: at(3))
        #expect(
            actions.contains(
                .change(.unavailable(since: at(1), reason: "gpsd can't be used: it closed the connection"))))
        #expect(session.received(Self.position(#""eph":5"#), at: at(4)) == [])
    }

    @Test func `a silent connection gets a request after 30 s, and is closed after 60 s`() {
        var session = Self.connected()
        _ = session.advance(to: at(10))
        #expect(session.nextDeadline == at(30))
        #expect(session.advance(to: at(30)) == [.send(Array("?VERSION;\n".utf8))])
        #expect(session.nextDeadline == at(60))
        #expect(session.advance(to: at(60)).contains(.close))
    }

    @Test func `an attempt to connect ends after 10 s without an answer`() {
        var session = GPSDSession(at: at(0))
        _ = session.advance(to: at(0))
        #expect(session.advance(to: at(9.999)) == [])
        #expect(session.advance(to: at(10)).contains(.close))
        #expect(session.nextDeadline == at(11))
    }

    @Test func `a line longer than lineMax is counted and skipped, and the next line is read`() {
        var session = Self.connected()
        let long = [UInt8](repeating: UInt8(ascii: "a"), count: GPSDSession.lineMax + 1)
        #expect(session.received(long, at: at(1)) == [])
        #expect(session.received(long, at: at(1)) == [])
        #expect(session.counters.tooLong == 1)
        #expect(Self.fixes(session.received([0x0A] + Self.position(#""eph":5"#), at: at(2))).count == 1)
    }

    @Test func `the result does not depend on how the bytes are cut into pieces`() {
        let text = Self.position(#""eph":5"#) + Self.line(#"{"class":"SKY"}"#) + Self.position(#""eph":6"#)
        for size in [1, 2, 3, 7, 50, 10_000] {
            var session = Self.connected()
            var actions: [GPSDSession.Action] = []
            var rest = text[...]
            while !rest.isEmpty {
                actions += session.received(rest.prefix(size), at: at(1))
                rest = rest.dropFirst(size)
            }
            #expect(Self.fixes(actions).map(\.horizontalAccuracy) == [5, 6])
        }
    }

    @Test func `no input causes a trap`() {
        var random = SeededGenerator(state: SeededGenerator.seed)
        var session = Self.connected()
        let text = Self.line(GPSDReportTests.position) + Self.line(#"{"class":"SKY","hdop":1e300}"#)
        for round in 0..<5000 { _ = session.received(mutated(text, &random), at: at(1 + Double(round) / 10)) }
        #expect(session.counters.malformed > 0)
    }

    @Test func `64 records are taken in 100 ms, and the rest after them`() {
        var session = Self.connected()
        var bytes = [[UInt8]](repeating: Self.position(#""eph":5"#), count: 150).flatMap { $0 }[...]
        #expect(Self.fixes(session.received(&bytes, at: at(1))).count == 64)
        #expect(session.isPaused && session.counters.pauses == 1)
        #expect(session.nextDeadline == at(1.1))
        #expect(session.received(&bytes, at: at(1.05)) == [])
        #expect(session.advance(to: at(1.1)) == [])
        #expect(!session.isPaused)
        #expect(Self.fixes(session.received(&bytes, at: at(1.1))).count == 64)
        #expect(Self.fixes(session.received(&bytes, at: at(1.2))).count == 22)
        #expect(bytes.isEmpty && !session.isPaused && session.counters.pauses == 2)
    }

    @Test func `empty lines count as records, and bytes without a line end are limited too`() {
        var session = Self.connected()
        var bytes = [UInt8](repeating: 0x0A, count: 100)[...]
        #expect(session.received(&bytes, at: at(1)) == [])
        #expect(bytes.count == 36 && session.isPaused)
        session = Self.connected()
        bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 128 << 10)[...]
        #expect(session.received(&bytes, at: at(1)) == [])
        #expect(bytes.isEmpty && session.isPaused)
    }

    /// Passes 65 records every 100 ms, `times` times. That is one more than the limit for 100 ms.
    private static func flood(
        _ session: inout GPSDSession, from start: Instant = at(1), times: Int, of text: [UInt8]
    ) -> [GPSDSession.Action] {
        var actions: [GPSDSession.Action] = []
        for round in 0..<times {
            var bytes = [[UInt8]](repeating: text, count: 65).flatMap { $0 }[...]
            actions += session.received(&bytes, at: start + .milliseconds(100 * round))
        }
        return actions
    }

    @Test func `if gpsd sends too much for 10 s, it is disconnected, longer each time, and the fix is lost`() {
        var session = Self.connected()
        let actions = Self.flood(&session, times: 101, of: Self.position(#""eph":5"#))
        let reason = "gpsd can't be used: it has sent more than 640 records, or 1280 KiB, a second for 10 s"
        #expect(Self.fixes(actions).count == 100 * 64)
        #expect(
            actions.suffix(3) == [
                .close, .change(.remark("\(reason); trying again")),
                .change(.unavailable(since: at(1) + .milliseconds(9900), reason: reason)),
            ])
        #expect(session.counters.floods == 1)
        #expect(!session.isPaused)
        var waits: [Duration] = []
        var end = at(1) + .milliseconds(9900)
        for round in 0..<9 {
            let next = session.nextDeadline ?? .latest
            waits.append(next - end)
            #expect(session.advance(to: next) == [.connect])
            _ = session.connected(at: next)
            // Before the flood of round 7, the connection has no problem for a minute, so the last wait is 1 s again.
            let start = round == 7 ? next + .seconds(60) : next
            if round == 7 { _ = session.received(Self.position(#""eph":5"#), at: next + .seconds(59)) }
            _ = Self.flood(&session, from: start, times: 100, of: Self.position(#""eph":5"#))
            end = start + .milliseconds(9900)
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 1].map { Duration.seconds($0) })
    }

    @Test func `the backlog of a stopped process is not too much, if it ends within 10 s`() {
        var session = Self.connected()
        #expect(Self.losses(Self.flood(&session, times: 99, of: Self.position(#""eph":5"#))) == [])
        // One record in 100 ms is below the limit. Then as many records as before follow.
        #expect(Self.fixes(session.received(Self.position(#""eph":5"#), at: at(11))).count == 1)
        let more = Self.flood(&session, from: at(12), times: 99, of: Self.position(#""eph":5"#))
        #expect(Self.losses(more) == [])
        #expect(session.counters.floods == 0)
    }

    @Test func `one error per minute is reported, with 200 characters at most`() {
        var session = Self.connected()
        let error = Self.line(#"{"class":"ERROR","message":"\n\u000d\#(String(repeating: "e", count: 1000))"}"#)
        let actions = Self.flood(&session, times: 3, of: error)
        // Control characters become spaces, so that the remark is one line.
        #expect(actions == [.change(.remark("gpsd reports:   \(String(repeating: "e", count: 198))"))])
        #expect(session.counters.errorsNotReported == 191)
        #expect(session.received(error, at: at(60.999)) == [])
        #expect(session.received(error, at: at(61)).count == 1)
    }
}

extension GPSDSession {
    /// Passes the bytes that fit into 100 ms.
    fileprivate mutating func received(_ bytes: some Sequence<UInt8>, at now: Instant) -> [Action] {
        var bytes = Array(bytes)[...]
        return received(&bytes, at: now)
    }
}
