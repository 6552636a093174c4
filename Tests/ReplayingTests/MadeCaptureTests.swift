import ProgramSupport
import TestSupport
import Testing

/// Generated captures of every format, compared with the expected results of their generator. `BEACON_MADE_CAPTURES=20`
/// generates twenty of each.
@Suite struct MadeCaptureTests {
    static let seeds = SeededGenerator.seeds(environment("BEACON_MADE_CAPTURES", default: 1)).map { Int($0) }

    @Test(arguments: MadeCapture.formats, seeds)
    func `B1, B4, E1, X2: replay gives exactly the generated sightings and events`(format: String, seed: Int) throws {
        for perEvent in [1, 3] {
            let made = try MadeCapture(
                format, seed: seed, perEvent: perEvent, exitTimeouts: MadeCapture.exitTimeouts)
            let sightings = try Gateway.replay(["--sightings", made.path]).lines.map(ExpectedSighting.init(line:))
            #expect(difference(sightings, made.sightings) == nil, "seed \(seed), \(perEvent) reports an event")
            for timeout in MadeCapture.exitTimeouts {
                let lines = try Gateway.replay([
                    "--config", try made.configuration(exitTimeout: timeout), made.path,
                ]).lines
                #expect(
                    difference(try Change.events(of: lines).sorted(), made.changes[timeout] ?? []) == nil,
                    "seed \(seed), \(perEvent) reports an event, \(timeout) s")
            }
            #expect(made.changes[10]?.contains { !$0.isEnter } == true, "the captures must be long enough for an exit")
        }
    }
}
