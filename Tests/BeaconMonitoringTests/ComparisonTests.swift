import BaseTypes
import Foundation
import TestSupport
import Testing

@testable import BeaconMonitoring

/// The engine gives the same results as the reference model in generated simulation runs.
///
/// `BEACON_ENGINE_RUNS` sets the number of runs, `BEACON_SEED` the seed of the first one.
@Suite struct ComparisonTests {
    private static let stepsPerRun = 200

    @Test func `the engine agrees with the model of the rules in each simulation run`() async throws {
        let seeds = SeededGenerator.seeds(environment("BEACON_ENGINE_RUNS", default: 300))
        // Two halves run concurrently, because each run is a separate computation.
        await withTaskGroup(of: Void.self) { group in
            for half in 0..<2 as Range<UInt64> {
                group.addTask {
                    await Self.check(stride(from: seeds.lowerBound + half, through: seeds.upperBound, by: 2))
                }
            }
        }
    }

    private static func check(_ seeds: some Sequence<UInt64>) async {
        for seed in seeds {
            let script = ScriptGenerator.script(seed: seed, steps: stepsPerRun)
            guard let failure = Comparison.firstFailure(of: script) else { continue }
            let shrunk = Comparison.shrink(script)
            Issue.record("seed \(seed): \(failure.what)\n\(Comparison.story(of: shrunk))")
            // One failure that can be read is more useful than a thousand.
            return
        }
    }
}

/// Runs a script on the engine and on the model, and finds the first difference.
enum Comparison {
    struct Failure {
        /// The number of steps up to the failure. The step that shows it is included.
        var steps: Int
        var what: String
        /// The letters of `what`. Numbers and signs are left out, so that failures with the same cause have the same
        /// kind in all runs.
        var kind: String {
            String(what.filter { $0.isLetter || $0 == " " }.split(separator: " ").joined(separator: " "))
        }
    }

    static func firstFailure(of script: Script) -> Failure? {
        var engine = MonitorEngine(settings: script.settings, start: script.start, clockOffset: script.clockOffset)
        var model = ReferenceMonitor(settings: script.settings, start: script.start, clockOffset: script.clockOffset)
        // T4: this engine is woken at each of its deadlines. The first one is woken only by its inputs.
        var diligent = engine
        // This engine receives many reports at once.
        var hasty = Hasty(engine: engine)
        var latest = script.start
        for (index, step) in script.steps.enumerated() {
            func failure(_ what: String) -> Failure { Failure(steps: index + 1, what: what) }
            let done = engine.perform(step)
            let expected = model.perform(step)
            if let difference = difference(done.actions, expected.actions) { return failure(difference) }
            guard agree(done.error, expected.error) else {
                return failure("refused with \(done.error as Any), expected \(expected.error as Any)")
            }
            if let problem = countProblem(&engine, model) { return failure(problem) }
            for action in done.actions {
                if let problem = stateProblem(&engine, model, after: action) { return failure(problem) }
                guard let time = action.time else { continue }
                guard time >= latest else { return failure("\(action.brief) is dated before \(latest.brief)") }
                latest = time
            }
            if let difference = hasty.perform(step, giving: done.actions, as: difference) {
                return failure("in batches: \(difference)")
            }
            guard let woken = wake(&diligent, for: step, isRefused: done.error != nil) else {
                return failure("woken 10,000 times, and a deadline is still due")
            }
            if let difference = difference(woken, done.actions) {
                return failure("woken at its deadlines: \(difference)")
            }
        }
        if let difference = hasty.flush(as: difference) {
            return Failure(steps: script.steps.count, what: "in batches: \(difference)")
        }
        return nil
    }

    /// Performs a step. If the step is not refused, first handles each deadline up to its time separately. Returns
    /// `nil` if there is no end after 10,000 deadlines.
    private static func wake(_ engine: inout MonitorEngine, for step: Step, isRefused: Bool) -> [Action]? {
        var actions: [Action] = []
        var wakes = 0
        while let time = step.time, !isRefused, let deadline = engine.nextDeadline, deadline <= time {
            actions += engine.perform(.advance(to: deadline)).actions
            wakes += 1
            guard wakes < 10_000 else { return nil }
        }
        return actions + engine.perform(step).actions
    }

    private static func difference(_ actions: [Action], _ expected: [Action]) -> String? {
        // A `String` is equal to its other spellings, but an identifier is not (rule C6).
        let isSpeltAlike = zip(actions, expected).allSatisfy { $0.identifier.utf8.elementsEqual($1.identifier.utf8) }
        guard actions != expected || !isSpeltAlike else { return nil }
        let place =
            zip(actions, expected).enumerated().first { $1.0 != $1.1 }?.offset ?? min(actions.count, expected.count)
        func text(_ list: [Action]) -> String { place < list.count ? list[place].brief : "nothing" }
        return "action \(place) is\n  \(text(actions))\nexpected\n  \(text(expected))"
    }

    private static func agree(_ error: MonitorError?, _ expected: MonitorError?) -> Bool {
        switch (error, expected) {
        case (.settingInvalid, .settingInvalid): true
        default: error == expected
        }
    }

    private static func stateProblem(
        _ engine: inout MonitorEngine, _ model: ReferenceMonitor, after action: Action
    ) -> String? {
        guard
            let identifier = ScriptGenerator.identifiers.first(where: {
                $0.text.utf8.elementsEqual(action.identifier.utf8)
            })
        else { return nil }
        let (state, expected) = (engine.state(of: identifier), model.state(of: identifier))
        return state == expected ? nil : "\(identifier) is \(state as Any), expected \(expected as Any)"
    }

    private static func countProblem(_ engine: inout MonitorEngine, _ model: ReferenceMonitor) -> String? {
        if engine.now != model.now { return "now is \(engine.now.brief), expected \(model.now.brief)" }
        if engine.lateInputs != model.lateInputs {
            return "\(engine.lateInputs) inputs were late, expected \(model.lateInputs)"
        }
        if engine.untrackedBeacons != model.untrackedBeacons {
            return "\(engine.untrackedBeacons) beacons did not fit, expected \(model.untrackedBeacons)"
        }
        for (what, path) in [("displaced", \.displacedBeacons), ("refused", \.refusedBeacons)]
            as [(String, KeyPath<any Monitoring, Int>)]
        {
            let (count, expected) = (engine[keyPath: path], model[keyPath: path])
            if count != expected { return "\(count) beacons were \(what), expected \(expected)" }
        }
        if engine.newBeaconsLeft != model.newBeaconsLeft {
            return "tokens are \(engine.newBeaconsLeft as Any), expected \(model.newBeaconsLeft as Any)"
        }
        guard let due = model.nextDeadline else { return nil }
        guard let deadline = engine.nextDeadline, deadline <= due else {
            return "the next deadline is \(engine.nextDeadline?.brief ?? "none"), something is due at \(due.brief)"
        }
        return nil
    }

    // MARK: Making a failure readable

    /// Removes steps that the failure does not need: shorter and shorter ranges, as long as a failure of the same kind
    /// remains.
    static func shrink(_ script: Script) -> Script {
        var script = script
        guard let failure = firstFailure(of: script) else { return script }
        let kind = failure.kind
        script.steps.removeLast(script.steps.count - failure.steps)
        var run = script.steps.count / 2
        while run > 0 {
            var start = 0
            var removedSome = false
            while start < script.steps.count {
                var smaller = script
                smaller.steps.removeSubrange(start..<min(start + run, script.steps.count))
                if let failure = firstFailure(of: smaller), failure.kind == kind {
                    smaller.steps.removeLast(smaller.steps.count - failure.steps)
                    script = smaller
                    removedSome = true
                } else {
                    start += run
                }
            }
            if run > 1 || !removedSome { run /= 2 }
        }
        return script
    }

    /// Returns the steps with the actions of the engine, up to the failure, and the failure.
    static func story(of script: Script) -> String {
        var engine = MonitorEngine(settings: script.settings, start: script.start, clockOffset: script.clockOffset)
        var lines = [
            "start \(script.start.brief), offset \(script.clockOffset.nanoseconds) ns, deaf after "
                + "\(script.settings.deafAfter.map { "\($0)" } ?? "off"), limit \(script.settings.conditionLimit), "
                + "beacons \(script.settings.maxBeacons), new ones \(script.settings.maxNewBeacons)"
        ]
        for step in script.steps {
            lines.append("- \(step)")
            for action in engine.perform(step).actions { lines.append("    \(action.brief)") }
        }
        if let failure = firstFailure(of: script) { lines.append(failure.what) }
        return lines.joined(separator: "\n")
    }
}

extension Action {
    /// The identifier of the condition, or the name of the adapter.
    var identifier: String {
        switch self {
        case .event(let event): event.identifier
        case .visit(let visit): visit.identifier
        case .condition(let change): change.identifier
        case .adapter(let change): change.adapter
        case .adapterNamed(_, let name): name
        case .trackingLimitExceeded(let identifier, _): identifier
        }
    }

    /// The time on the timeline; `nil` if the action has none.
    var time: Instant? {
        switch self {
        case .event(let event): event.time
        case .visit(let visit): visit.time
        case .condition(let change): change.time
        case .adapter(let change): change.time
        case .adapterNamed, .trackingLimitExceeded: nil
        }
    }
}
