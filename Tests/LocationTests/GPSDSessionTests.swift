import BeaconMonitoring
import BluetoothLE
import TestSupport
import Testing

@testable import Location

/// The conversation with gpsd.
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

    @Test func `it connects, asks to watch, and a position with an error estimate is a fix`() throws {
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

    @Test func `eph, else epx with epy, else the dilution of precision that came lately`() {
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
    func `G1: what has no mode, no accuracy or is out of range is no fix`(text: String) {
        var session = Self.connected()
        #expect(Self.fixes(session.received(Self.line(text), at: at(1))) == [])
    }

    @Test func `one report without a fix is no loss, ten seconds without one are, and one fix ends it`() {
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

    @Test func `a gpsd without a receiver says so`() {
        var session = Self.connected()
        _ = session.received(Self.line(#"{"class":"DEVICES","devices":[]}"#), at: at(1))
        #expect(Self.losses(session.advance(to: at(10))) == ["gpsd has no receiver"])
    }

    @Test func `it tries again after 1 s, and ever longer up to a minute; the operator hears of it once`() {
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
        // Who was heard of is tried at once again.
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
                .change(.unavailable(since: at(1), reason: "gpsd is away: it closed the connection"))))
        #expect(session.received(Self.position(#""eph":5"#), at: at(4)) == [])
    }

    @Test func `a connection that says nothing is asked, and then given up`() {
        var session = Self.connected()
        _ = session.advance(to: at(10))
        #expect(session.nextDeadline == at(30))
        #expect(session.advance(to: at(30)) == [.send(Array("?VERSION;\n".utf8))])
        #expect(session.nextDeadline == at(60))
        #expect(session.advance(to: at(60)).contains(.close))
    }

    @Test func `an attempt that is not answered ends`() {
        var session = GPSDSession(at: at(0))
        _ = session.advance(to: at(0))
        #expect(session.advance(to: at(9.999)) == [])
        #expect(session.advance(to: at(10)).contains(.close))
        #expect(session.nextDeadline == at(11))
    }

    @Test func `a line is bounded: what is longer is counted and passed over, and the next is read`() {
        var session = Self.connected()
        let long = [UInt8](repeating: UInt8(ascii: "a"), count: GPSDSession.lineMax + 1)
        #expect(session.received(long, at: at(1)) == [])
        #expect(session.received(long, at: at(1)) == [])
        #expect(session.counters.tooLong == 1)
        #expect(Self.fixes(session.received([0x0A] + Self.position(#""eph":5"#), at: at(2))).count == 1)
    }

    @Test func `however it is cut, the same comes of it`() {
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

    @Test func `nothing that is sent traps`() {
        var random = SeededGenerator(state: SeededGenerator.seed)
        var session = Self.connected()
        let text = Self.line(GPSDReportTests.position) + Self.line(#"{"class":"SKY","hdop":1e300}"#)
        for _ in 0..<5000 { _ = session.received(mutated(text, &random), at: at(1)) }
        #expect(session.counters.malformed > 0)
    }
}
