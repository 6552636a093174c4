import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLoops
import Foundation
import ProgramSupport
import Reports
import SystemPackage
import TestSupport
import Testing

@testable import GatewayConfiguration
@testable import ReportServing

/// Answers that are made on a separate thread.
///
/// The loop takes a result only in a turn. So if a test sends requests between two turns, they arrive while the
/// previous snapshot is being made.
@Suite struct SnapshotRendererTests {
    /// A folder that was read, and a renderer whose inputs the test sets.
    private final class Rendering {
        let scratch: Scratch
        let loop: EventLoop
        let following: Following
        var renderer: SnapshotRenderer!
        var key = SnapshotRenderer.Key(version: 1, second: 1, epoch: 1)
        var problem: HTTPProblem?
        var names = BeaconNames()

        init() async throws {
            scratch = try Scratch()
            loop = try EventLoop()
            var writer = LineWriter()
            writer.started(1)
            writer.event("staff", "satisfied", 10, minor: 7, seen: 10)
            _ = try scratch.write("events-000000000001-20261121T000000Z.jsonl", writer.lines.map { $0 + "\n" }.joined())
            following = Following(FilePath(scratch.url.path), on: loop)
            let now = WallDate(microseconds: Int64((writer.offset + 11) * 1_000_000))
            renderer = try SnapshotRenderer(
                on: loop,
                .init(
                    key: { [unowned self] in key },
                    source: { [unowned self] () throws(HTTPProblem) in
                        if let problem { throw problem }
                        return Snapshot.Source(following, BeaconDirectory(names), ZonedTime(isUTC: true), now: now)
                    }, addServer: { _ in }))
            try await turn(until: "the files are read") { following.isCurrent }
        }

        deinit { renderer.stop() }

        func turn(until what: String, _ isSo: () -> Bool) async throws {
            try await TestSupport.until(what, saw: "\(renderer.count) snapshots") {
                try loop.turn(waits: false)
                return isSo()
            }
        }

        func ask(_ path: SnapshotPath) -> HTTPPromise {
            let promise = HTTPPromise()
            renderer.answer(path, promise)
            return promise
        }
    }

    private static func body(_ promise: HTTPPromise) throws -> HTTPBody {
        guard case .whole(let response) = promise.answer else {
            throw HTTPProblem(500, "\(String(describing: promise.answer))", hint: "")
        }
        return response.body
    }

    @Test func `requests for the same state share one answer, and get it in a later turn`() async throws {
        let fixture = try await Rendering()
        let promises = (0..<20).map { _ in fixture.ask(.presentPage) }
        #expect(promises.allSatisfy { $0.answer == nil })
        #expect(fixture.renderer.count == 1)
        try await fixture.turn(until: "all requests are answered") { promises.allSatisfy { $0.answer != nil } }
        let first = try Self.body(promises[0])
        #expect(try promises.allSatisfy { try Self.body($0) === first })
        // A later request must get the same answer immediately.
        #expect(try Self.body(fixture.ask(.presentPage)) === first)
        #expect(fixture.renderer.count == 1)
    }

    @Test func `requests for a newer state wait for one snapshot that is made after the first`() async throws {
        let fixture = try await Rendering()
        let first = fixture.ask(.presentPage)
        fixture.key.version = 2
        let later = [SnapshotPath.presentPage, .presentJSON, .metrics, .gatewaysJSON, .gatewaysPage].map {
            fixture.ask($0)
        }
        #expect(fixture.renderer.count == 1)
        try await fixture.turn(until: "the first is answered") { first.answer != nil }
        #expect(later.allSatisfy { $0.answer == nil })
        #expect(fixture.renderer.count == 2)
        try await fixture.turn(until: "all requests are answered") { later.allSatisfy { $0.answer != nil } }
        #expect(fixture.renderer.count == 2)
        #expect(try Self.body(first) !== Self.body(later[0]))
    }

    @Test func `if names change while an answer is made, it is not sent but made again`() async throws {
        let fixture = try await Rendering()
        let promise = fixture.ask(.presentJSON)
        let uuid = try #require(ProximityUUID(LineWriter.uuid))
        _ = fixture.names.add(NamedBeacon(BeaconIdentity(uuid: uuid, major: 1, minor: 7), name: "Ada"))
        fixture.key.epoch += 1
        try await fixture.turn(until: "the request is answered") { promise.answer != nil }
        #expect(fixture.renderer.count == 2)
        guard case .whole(let response) = promise.answer else { return #expect(Bool(false), "it is not an answer") }
        #expect(String(decoding: response.body.bytes, as: UTF8.self).contains("\"name\":\"Ada\""))
    }

    @Test func `a waiting request gets the error if the files cannot be read any more`() async throws {
        let fixture = try await Rendering()
        let first = fixture.ask(.presentPage)
        fixture.key.version = 2
        let second = fixture.ask(.presentPage)
        fixture.problem = HTTPProblem(503, "the folder is gone", hint: "check it")
        try await fixture.turn(until: "both are answered") { second.answer != nil && first.answer != nil }
        _ = try Self.body(first)
        guard case .problem(let problem) = second.answer else { return #expect(Bool(false), "it is an answer") }
        #expect(problem.status == 503)
        #expect(problem.error == "the folder is gone")
    }

    @Test func `answers of the same state and second are cached for each path`() async throws {
        let fixture = try await Rendering()
        var bodies: [HTTPBody] = []
        for path in [SnapshotPath.presentPage, .presentJSON, .presentPage, .metrics, .presentJSON] {
            let promise = fixture.ask(path)
            try await fixture.turn(until: "the request is answered") { promise.answer != nil }
            bodies.append(try Self.body(promise))
        }
        #expect(fixture.renderer.count == 3)
        #expect(bodies[0] === bodies[2])
        #expect(bodies[1] === bodies[4])
    }

    @Test func `requests for metrics that wait together share one answer`() async throws {
        let fixture = try await Rendering()
        let promises = (0..<3).map { _ in fixture.ask(.metrics) }
        try await fixture.turn(until: "all requests are answered") { promises.allSatisfy { $0.answer != nil } }
        let first = try Self.body(promises[0])
        #expect(try promises.allSatisfy { try Self.body($0) === first })
    }

    @Test func `at most 256 requests wait, and the next gets 503 and can try again after 5 s`() async throws {
        let fixture = try await Rendering()
        let first = fixture.ask(.presentPage)
        fixture.key.version = 2
        let promises = (1...SnapshotRenderer.waitersMax).map { _ in fixture.ask(.presentPage) }
        guard case .problem(let problem) = promises.last?.answer else { return #expect(Bool(false), "it waits") }
        #expect(problem.status == 503 && problem.retryAfter == 5)
        try await fixture.turn(until: "the others are answered") { promises.allSatisfy { $0.answer != nil } }
        #expect(try promises.dropLast().allSatisfy { try Self.body($0) !== Self.body(first) })
    }

    @Test func `can be stopped while a snapshot is made, and then sends no answer`() async throws {
        let fixture = try await Rendering()
        let promise = fixture.ask(.presentPage)
        fixture.renderer.stop()
        try fixture.loop.turn(waits: false)
        #expect(promise.answer == nil)
    }

    @Test func `no snapshot is made for requests that were abandoned`() async throws {
        let fixture = try await Rendering()
        let first = fixture.ask(.presentPage)
        fixture.key.version = 2
        let gone = fixture.ask(.presentPage)
        gone.abandoned()
        try await fixture.turn(until: "the first is answered") { first.answer != nil }
        #expect(fixture.renderer.count == 1)
        #expect(gone.answer == nil)
    }
}
