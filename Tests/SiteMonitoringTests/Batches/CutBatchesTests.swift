import BaseTypes
import BeaconMonitoring
import Foundation
import SiteMonitoring
import TestSupport
import Testing

@Suite struct CutBatchesTests {
    private static let seeds = SeededGenerator.seeds(environment("BEACON_BATCH_RUNS", default: 16))

    @Test func `an engine decides the same from batches, from smaller batches and from the original input`() throws {
        var (visits, whole, several) = (0, 0, 0)
        for seed in Self.seeds {
            // In every second run, many inputs have the same time.
            let fixture = CutSimulation(seed: seed, areApart: seed % 2 == 0)
            let all = try fixture.batches()
            let parts = try fixture.batches(bytesMax: 120)
            let decided = try CutEngine.decisions(fixture, of: all)
            if let difference = Self.difference(decided, try CutEngine.decisions(fixture, of: parts)) {
                Issue.record("BEACON_SEED=\(seed), batches and smaller batches: \(difference)")
                return
            }
            if seed % 2 == 0, let difference = Self.difference(try CutEngine.decisions(fixture), decided) {
                Issue.record("BEACON_SEED=\(seed), original input and batches: \(difference)")
                return
            }
            for batches in [all, parts] { try Self.checkListening(batches) }
            visits += decided.count { if case .visit = $0 { true } else { false } }
            (whole, several) = (whole + all.count, several + parts.count)
        }
        // Without visits, and without a batch that was divided, the runs would show nothing.
        #expect(visits > 5 * Self.seeds.count, "\(visits)")
        #expect(several > whole, "\(several) of \(whole)")
    }

    /// Checks each batch of a gateway. It must name as scanning exactly the adapters that scan according to the batches
    /// before it, and must start at the time at which the previous batch ended.
    private static func checkListening(_ cuts: [CutBatch]) throws {
        var listening: [LogName: Set<String>] = [:]
        var ends: [LogName: Instant] = [:]
        for batch in cuts.map(\.batch) {
            let gateway = batch.key.gateway
            let said = Set(batch.adapters.filter(\.isListening).map(\.name))
            try #require(said == listening[gateway, default: []], "\(batch.key)")
            try #require(batch.span.from == ends[gateway] ?? CutSimulation.start, "\(batch.key)")
            for change in batch.changes {
                let name = batch.adapters[change.adapter].name
                if change.kind == .started {
                    listening[gateway, default: []].insert(name)
                } else {
                    listening[gateway, default: []].remove(name)
                }
            }
            ends[gateway] = batch.span.completeTo
        }
    }

    /// Returns the first difference between two lists of actions; `nil` if they are equal.
    private static func difference(_ one: ContiguousArray<Action>, _ other: ContiguousArray<Action>) -> String? {
        guard one != other else { return nil }
        let place = zip(one, other).prefix { $0 == $1 }.count
        func text(_ actions: ContiguousArray<Action>) -> String {
            place < actions.count ? "\(actions[place])" : "nothing more"
        }
        return "after \(place): \(text(one))\nor: \(text(other))"
    }
}
