import BaseTypes
import BeaconMonitoring
import EventLoops
import Foundation
import Testing

@testable import Location

/// Playing of a GPX file.
@Suite struct GPXPlayerTests {
    private static func file(_ tracks: [[(Double?, Double)]]) throws -> GPXFile {
        var file = GPXFile()
        file.segments = try tracks.map { track in
            try track.map { GPXPoint(try vienna(north: $0.1), time: $0.0.map { at($0) }) }
        }
        return file
    }

    private static func items(_ player: GPXPlayer, most: Int = 1000) -> [GPXPlayer.Item] {
        var player = player
        var items: [GPXPlayer.Item] = []
        while items.count < most, let item = player.next() { items.append(item) }
        return items
    }

    private static func north(_ item: GPXPlayer.Item) throws -> Double {
        guard case .fix(let fix) = item else { return -1 }
        return try vienna().distance(to: fix.coordinate).rounded()
    }

    @Test func `there is a fix at each point, and each second between two points, along the way`() throws {
        let plan = try GPXPlan(try Self.file([[(0, 0), (0.5, 10), (4, 80)]]))
        let items = Self.items(GPXPlayer(plan))
        #expect(items.map(\.time) == [at(0), at(0.5), at(1.5), at(2.5), at(3.5), at(4)])
        #expect(try items.map { try Self.north($0) } == [0, 10, 30, 50, 70, 80])
        guard case .fix(let fix) = items[2] else { throw NoFix() }
        #expect(abs((fix.speed ?? 0) - 20) < 0.001)
        #expect(fix.course.map { min($0, 360 - $0) < 0.001 } == true)
    }

    @Test func `several tracks are played in order of time, with a pause between them`() throws {
        let plan = try GPXPlan(try Self.file([[(100, 5), (101, 6)], [(0, 0), (1, 1)]]))
        let items = Self.items(GPXPlayer(plan))
        #expect(items.map(\.time) == [at(0), at(1), at(1), at(100), at(101)])
        #expect(items[2] == .pause(at: at(1)))
    }

    @Test func `a point that overlaps another track, has no time or goes back is skipped and reported`() throws {
        let plan = try GPXPlan(
            try Self.file([[(0, 0), (10, 1), (5, 2), (nil, 3), (11, 4)], [(3, 0), (12, 1), (13, 2)]]))
        #expect(plan.stretches.map { $0.map(\.time) } == [[at(0), at(10), at(11)], [at(12), at(13)]])
        #expect(plan.damages.count == 3)
    }

    @Test func `more than a day between two points is a break`() throws {
        let plan = try GPXPlan(try Self.file([[(0, 0), (86_400, 1), (172_801, 2)]]))
        #expect(plan.stretches.map(\.count) == [2, 1])
    }

    @Test func `a file without times is played at a pace, and without a pace it is an error`() throws {
        let file = try Self.file([[(nil, 0), (nil, 30), (nil, 30), (nil, 100)]])
        #expect(throws: GPXPlan.Problem.paceMissing) { try GPXPlan(file) }
        #expect(throws: GPXPlan.Problem.paceInvalid(0)) { try GPXPlan(file, pace: 0) }
        #expect(throws: GPXPlan.Problem.empty) { try GPXPlan(GPXFile(), pace: 1) }
        // A file with invalid times is different from a file without times, unless the invalid times belong to points
        // that are not played.
        var invalid = file
        invalid.segments[0][2].isTimeInvalid = true
        #expect(throws: GPXPlan.Problem.timesInvalid(1)) { try GPXPlan(invalid) }
        #expect(
            try GPXPlan(invalid, pace: 10, start: at(0)).stretches == GPXPlan(file, pace: 10, start: at(0)).stretches)
        invalid.waypoints = invalid.segments[0]
        invalid.segments = file.segments
        #expect(throws: GPXPlan.Problem.paceMissing) { try GPXPlan(invalid) }
        let plan = try GPXPlan(file, pace: 10, start: at(0))
        #expect(!plan.hasTimes)
        #expect(abs(((plan.end - plan.start) - .seconds(10)).nanoseconds) < 1000)
        let items = Self.items(GPXPlayer(plan))
        #expect(try items.map { try Self.north($0) } == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
    }

    @Test func `without tracks, routes are played, and without routes, waypoints, as in Xcode's simulator`() throws {
        var file = GPXFile()
        file.waypoints = [GPXPoint(try vienna(), time: at(0)), GPXPoint(try vienna(north: 20), time: at(2))]
        #expect(try Self.items(GPXPlayer(GPXPlan(file))).count == 3)
        file.routes = [[GPXPoint(try vienna(), time: at(50))]]
        #expect(try GPXPlan(file).start == at(50))
    }

    @Test func `a plan that loops starts again one second after its end, without an end`() throws {
        let plan = try GPXPlan(try Self.file([[(0, 0), (2, 20)]]))
        let items = Self.items(GPXPlayer(plan, loops: true), most: 10)
        #expect(items.map(\.time) == [0, 1, 2, 2, 3, 4, 5, 5, 6, 7].map { at($0) })
        #expect(items[3] == .pause(at: at(2)))
    }

    private struct NoFix: Error {}

    /// The state of a clock that the test sets.
    private final class LoopClock { var now = at(5000) }

    @Test func `a live source plays from its start on, at the set speed, and reports its end`() throws {
        let loopClock = LoopClock()
        let loop = try EventLoop(clock: { loopClock.now })
        var options = GPXOptions()
        options.speed = 2
        let plan = try GPXPlan(try Self.file([[(0, 0), (4, 40)], [(20, 50), (21, 60)]]))
        let source = GPXSource(plan, options: options, on: loop)
        let notes = Notes()
        source.start(notes)
        #expect(notes.fixes.map(\.time) == [at(5000)])
        for step in 1...30 {
            loopClock.now = at(5000 + Double(step) / 2)
            source.drain()
        }
        #expect(
            notes.fixes.map(\.time) == [0, 0.5, 1, 1.5, 2, 10, 10.5].map { at(5000 + $0) })
        #expect(abs((notes.fixes[1].speed ?? 0) - 20) < 0.001)
        #expect(
            notes.changes == [
                .unavailable(since: at(5002), reason: "the file has a break"),
                .unavailable(since: at(5010.5), reason: "the file has ended"),
            ])
        source.stop()
    }

    @Test func `one turn plays 64 due fixes, and T5: a drain plays all`() throws {
        let loopClock = LoopClock()
        let loop = try EventLoop(clock: { loopClock.now })
        let source = GPXSource(try GPXPlan(try Self.file([[(0, 0), (500, 40)]])), on: loop)
        let notes = Notes()
        source.start(notes)
        loopClock.now = at(5200)
        var counts: [Int] = []
        for _ in 0..<2 {
            try loop.turn(waits: false)
            counts.append(notes.fixes.count)
        }
        source.drain()
        #expect(counts + [notes.fixes.count] == [65, 129, 201])
        source.stop()
    }
}
