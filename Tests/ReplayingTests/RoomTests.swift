import Foundation
import ProgramSupport
import Testing

/// Captures of beacons that were carried through rooms. For each scanner alone, the events are compared with expected
/// ones that were not made by this project's code.
@Suite struct RoomTests {
    struct Job: CustomTestStringConvertible, Sendable {
        var name: String
        var timeout: String
        var testDescription: String { "\(name), exit timeout \(timeout)" }

        static let all = Fixtures.rooms.flatMap { name in ["10s", "30s"].map { Job(name: name, timeout: $0) } }
    }

    @Test(arguments: Job.all)
    func `E1, X2, L4: each scanner alone gives the expected entries and exits with their times`(job: Job) throws {
        let expected = try Ending(
            output: Fixtures.bytes("\(job.name).events-\(job.timeout).jsonl"), errors: "", status: 0, wasKilled: false
        ).lines.map(object)
        let conditions = Set(try expected.map(ExpectedCondition.init)).sorted()
        let scratch = try Scratch()
        let config = try scratch.write(
            "c.yaml", ExpectedCondition.configuration(conditions, exitTimeout: job.timeout))
        let scanners = Set(expected.compactMap { $0["scanner"] as? String }).sorted()
        #expect(scanners.count > 1)
        for scanner in scanners {
            let found = try Gateway.replay([
                "--config", config, "--adapter", scanner, "--reorder", "10s", "--fields", Fixtures.roomFields,
                Fixtures.path(job.name),
            ])
            let changes = try expected.filter { $0["scanner"] as? String == scanner }.map { object in
                Change(
                    time: Int64((try #require(object["t"] as? Double) * 1_000_000).rounded()),
                    isEnter: object["event"] as? String == "enter",
                    identifier: try ExpectedCondition(object).identifier)
            }
            #expect(difference(try Change.events(of: found.lines).sorted(), changes.sorted()) == nil, "\(scanner)")
            #expect(found.errors == "")
        }
    }

    @Test func `T2: --stats counts all sightings and the late records, and no more steps back than these`() throws {
        let path = Fixtures.path(Fixtures.rooms[2])
        let counts = try object(
            try Gateway.replay(["--stats", "--sightings", "--fields", Fixtures.roomFields, path]).errors)
        let reordered = try #require(counts["reordered"] as? Int)
        #expect(reordered > 0)
        #expect(counts["sightings"] as? Int == 2250)
        let steps = try #require(counts["stepsBack"] as? [String: Any])
        #expect((steps["count"] as? Int ?? -1) <= reordered)
    }
}
