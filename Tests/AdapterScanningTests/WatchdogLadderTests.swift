import BaseTypes
import Testing

@testable import AdapterScanning

func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64((seconds * 1e9).rounded())) }

/// Returns a ladder whose adapter is present and listening from the start.
private func climber(deafAfter: Duration? = .seconds(10)) -> WatchdogLadder {
    var ladder = WatchdogLadder(deafAfter: deafAfter)
    ladder.appeared(at: at(0))
    ladder.listening(at: at(0))
    return ladder
}

extension WatchdogLadder {
    /// Returns all actions that are due by `time`. Steps in `skipping` cannot be taken.
    fileprivate mutating func all(at time: Instant, skipping: Set<WatchdogStep> = []) -> [Action] {
        var actions: [Action] = []
        while let action = next(at: time) {
            actions.append(action)
            if case .take(let step) = action, skipping.contains(step) { skipped(step, at: time) }
            if actions.count > 100 { break }
        }
        return actions
    }

    /// Returns the actions up to `end`, each with its time in seconds, as they occur if the caller wakes at each
    /// deadline.
    fileprivate mutating func climb(to end: Double, skipping: Set<WatchdogStep> = []) -> [(Double, Action)] {
        var actions: [(Double, Action)] = []
        while let deadline = nextDeadline, deadline <= at(end) {
            for action in all(at: deadline, skipping: skipping) {
                actions.append((Double(deadline.nanoseconds) / 1e9, action))
            }
        }
        return actions
    }
}

@Suite struct WatchdogLadderTests {
    @Test func `a silence of half of deaf_after starts the climb, 1 ns less does not`() {
        var ladder = climber()
        #expect(ladder.nextDeadline == at(5))
        #expect(ladder.all(at: at(5) - .nanoseconds(1)) == [])
        #expect(ladder.state == .receiving)
        #expect(ladder.all(at: at(5)) == [.fellSilent(since: at(0)), .take(.widen)])
        #expect(ladder.state == .climbing(.widen))
        #expect(ladder.isClimbing)
    }

    @Test(arguments: [(Duration?.none, 5.0), (.seconds(60), 30), (.seconds(1), 0.5)])
    func `a climb starts after half of deaf_after, or 5 s if it is off`(deafAfter: Duration?, silence: Double) {
        #expect(climber(deafAfter: deafAfter).nextDeadline == at(silence))
    }

    @Test func `each report restarts the silence, and one with an earlier time does not move it back`() {
        var ladder = climber()
        #expect(ladder.received(at: at(3)) == nil)
        #expect(ladder.received(at: at(2)) == nil)
        #expect(ladder.nextDeadline == at(8))
    }

    @Test func `the steps are taken in order, each with time to take effect`() {
        var ladder = climber()
        let steps = ladder.climb(to: 20)
        #expect(
            steps.map(\.1) == [
                .fellSilent(since: at(0)), .take(.widen), .take(.restartScan), .take(.powerCycle), .take(.reset),
                .exhausted, .take(.restartScan),
            ])
        #expect(steps.map(\.0) == [5, 5, 7, 10, 15, 20, 20])
        #expect(ladder.state == .retrying)
    }

    @Test func `a step that cannot be taken is skipped at once and counted`() {
        var ladder = climber()
        let steps = ladder.climb(to: 10, skipping: [.widen, .powerCycle])
        #expect(steps.map(\.0) == [5, 5, 5, 8, 8])
        #expect(steps.map(\.1).last == .take(.reset))
        #expect(ladder.counters.skipped(.widen) == 1)
        #expect(ladder.counters.taken(.widen) == 0)
        #expect(ladder.counters.taken(.restartScan) == 1)
        #expect(ladder.counters.taken(.reset) == 1)
    }

    @Test func `if no step can be taken, the attempts continue, at most one per second`() {
        var ladder = climber()
        let steps = ladder.climb(to: 600, skipping: Set(WatchdogStep.allCases))
        #expect(steps.count < 600)
        #expect(steps.count > 595 / 5)
        #expect(ladder.state == .retrying)
    }

    @Test func `at the top of the ladder, no pause is longer than 5 s`() {
        var ladder = climber()
        let steps = ladder.climb(to: 3_600)
        #expect(steps.count > 3_600 / 5)
        for (earlier, later) in zip(steps, steps.dropFirst()) { #expect(later.0 - earlier.0 <= 5) }
    }

    @Test func `if an adapter scans without reports, the time between power cycles grows from 30 s to 5 min`() {
        var ladder = climber()
        let cycles = ladder.climb(to: 7_200).filter { $0.1 == .take(.powerCycle) }.map(\.0)
        let pauses = zip(cycles.dropFirst(), cycles).map { $0 - $1 }
        #expect(pauses.allSatisfy { $0 >= 30 })
        #expect(pauses.last ?? 0 >= 300)
        #expect(pauses.last ?? 0 <= 320)
        #expect(cycles.count < 40)
    }

    @Test func `an adapter that does not scan is switched off and on in every round`() {
        var ladder = climber()
        _ = ladder.climb(to: 20)
        ladder.stopped(at: at(20))
        let cycles = ladder.climb(to: 120).filter { $0.1 == .take(.powerCycle) }
        #expect(cycles.count >= 6)
    }

    @Test func `if an adapter does not scan and only the power can be switched, that is done every 5 s`() {
        var ladder = climber()
        _ = ladder.climb(to: 7)
        ladder.stopped(at: at(7))
        let cycles = ladder.climb(to: 100, skipping: [.restartScan, .reset]).filter { $0.1 == .take(.powerCycle) }
        #expect(cycles.map(\.0) == Array(stride(from: 10.0, through: 100, by: 5)))
    }

    @Test func `at the top, a round in which no step can be taken is followed by a pause of at least 3 s`() {
        var ladder = climber()
        _ = ladder.climb(to: 7, skipping: Set(WatchdogStep.allCases))
        ladder.stopped(at: at(7))
        let steps = ladder.climb(to: 60, skipping: Set(WatchdogStep.allCases)).drop { $0.0 <= 20 }
        let rounds = Dictionary(grouping: steps, by: \.0)
        #expect(rounds.count >= 8)
        #expect(rounds.values.allSatisfy { $0.count == 3 })
        let times = rounds.keys.sorted()
        #expect(zip(times.dropFirst(), times).allSatisfy { $0 - $1 >= 3 })
    }

    @Test func `skipped steps do not make the power cycles of an adapter that scans more frequent`() {
        for skipping: Set<WatchdogStep> in [[.restartScan], [.reset], [.restartScan, .reset]] {
            var ladder = climber()
            let cycles = ladder.climb(to: 7_200, skipping: skipping).filter { $0.1 == .take(.powerCycle) }.map(\.0)
            let pauses = zip(cycles.dropFirst(), cycles).map { $0 - $1 }
            #expect(pauses.allSatisfy { $0 >= 30 })
            #expect(pauses.last ?? 0 >= 300)
        }
    }

    @Test func `a step that is known to help is due at once, and the climb continues from there`() {
        var ladder = climber()
        ladder.stopped(at: at(1))
        #expect(ladder.needs(.powerCycle, at: at(2)) == true)
        #expect(ladder.isClimbing)
        let steps = ladder.climb(to: 12)
        #expect(steps.map(\.0) == [2, 7, 12, 12])
        #expect(steps.map(\.1) == [.take(.powerCycle), .take(.reset), .exhausted, .take(.restartScan)])
        let recovery = ladder.received(at: at(13))
        #expect(recovery?.silence == .seconds(12))
    }

    @Test
    func `a step known to help is due at once, also in a climb and at its top, and again after its time`() {
        var ladder = climber()
        ladder.stopped(at: at(0))
        _ = ladder.climb(to: 5)
        #expect(ladder.isClimbing)
        #expect(ladder.needs(.powerCycle, at: at(5.5)) == true)
        #expect(ladder.all(at: at(5.5)) == [.take(.powerCycle)])
        #expect(ladder.needs(.powerCycle, at: at(10.499)) == false)
        #expect(ladder.needs(.powerCycle, at: at(10.5)) == true)
        #expect(ladder.all(at: at(10.5)).last == .take(.powerCycle))
        _ = ladder.climb(to: 40)
        #expect(ladder.state == .retrying)
        #expect(ladder.needs(.widen, at: at(40)) == true)
        #expect(ladder.all(at: at(40)).first == .take(.restartScan))
    }

    @Test func `a climb that a need started ends when the adapter is listening, one that silence started does not`() {
        var ladder = climber()
        ladder.stopped(at: at(1))
        _ = ladder.needs(.powerCycle, at: at(2))
        _ = ladder.all(at: at(2))
        ladder.listening(at: at(3))
        #expect(ladder.state == .receiving)
        #expect(ladder.nextDeadline == at(8))
        #expect(ladder.counters.recoveries == 1)
        _ = ladder.all(at: at(8))
        ladder.stopped(at: at(9))
        #expect(ladder.needs(.powerCycle, at: at(9)) == true)
        ladder.listening(at: at(9))
        #expect(ladder.isClimbing)
    }

    @Test func `while an adapter is listening, steps that disturb others keep their intervals, even on request`() {
        var ladder = climber()
        _ = ladder.climb(to: 20)
        #expect(ladder.counters.taken(.powerCycle) == 1)
        #expect(ladder.state == .retrying)
        #expect(ladder.needs(.powerCycle, at: at(22)) == false)
        ladder.disappeared()
        ladder.appeared(at: at(22))
        ladder.listening(at: at(22))
        #expect(ladder.needs(.powerCycle, at: at(23)) == false)
        #expect(!ladder.isClimbing)
        ladder.stopped(at: at(24))
        #expect(ladder.needs(.powerCycle, at: at(24)) == true)
    }

    @Test func `for an adapter that is absent or has an obstacle, no step is due`() {
        var ladder = WatchdogLadder(deafAfter: .seconds(10))
        #expect(ladder.needs(.powerCycle, at: at(1)) == false)
        ladder.appeared(at: at(1))
        ladder.heldUp(unlessAfter: nil, at: at(2))
        #expect(ladder.needs(.powerCycle, at: at(3)) == false)
        #expect(ladder.nextDeadline == nil)
    }

    @Test func `a report ends the climb after any step, and the result has the last step`() {
        var ladder = climber()
        _ = ladder.climb(to: 7)
        #expect(ladder.received(at: at(7.5)) == .some(.init(silence: .milliseconds(7_500), step: .restartScan)))
        #expect(ladder.state == .receiving)
        #expect(ladder.nextDeadline == at(12.5))
        #expect(ladder.counters.climbs == 1)
        #expect(ladder.counters.recoveries == 1)
        #expect(ladder.climb(to: 12.5).map(\.1) == [.fellSilent(since: at(7.5)), .take(.widen)])
    }

    @Test func `after a recovery, the intervals start with the shortest again`() {
        var ladder = climber()
        _ = ladder.climb(to: 3_600)
        _ = ladder.received(at: at(3_600))
        let cycles = ladder.climb(to: 3_700).filter { $0.1 == .take(.powerCycle) }.map(\.0)
        #expect(cycles.first == 3_610)
        #expect(cycles.count >= 2)
    }

    @Test func `a start of listening gives the last step at least 3 s from then on, up to 8 s in total`() {
        var ladder = climber()
        _ = ladder.climb(to: 10)
        ladder.stopped(at: at(10))
        ladder.listening(at: at(14))
        #expect(ladder.nextDeadline == at(17))
        ladder.listening(at: at(17))
        ladder.listening(at: at(18))
        #expect(ladder.nextDeadline == at(18))
    }

    @Test func `an obstacle that no step can remove ends the climb, and its end restarts the silence`() {
        var ladder = climber()
        _ = ladder.climb(to: 7)
        ladder.heldUp(unlessAfter: nil, at: at(8))
        #expect(ladder.state == .resting)
        #expect(ladder.nextDeadline == nil)
        ladder.listening(at: at(20))
        #expect(ladder.state == .resting)
        ladder.released(at: at(30))
        #expect(ladder.nextDeadline == at(35))
    }

    @Test func `a wait that the ladder's own step caused does not end the climb, any other wait does`() {
        var ladder = climber()
        _ = ladder.climb(to: 10)
        ladder.heldUp(unlessAfter: .powerCycle, at: at(10))
        #expect(ladder.isClimbing)
        ladder.heldUp(unlessAfter: nil, at: at(10))
        #expect(ladder.state == .resting)
        var other = climber()
        _ = other.climb(to: 7)
        other.heldUp(unlessAfter: .restartScan, at: at(7))
        #expect(other.isClimbing)
        other.heldUp(unlessAfter: .powerCycle, at: at(8))
        #expect(other.state == .resting)
    }

    @Test func `the ladder rests while the adapter is absent; an adapter that appears gets the full time`() {
        var ladder = climber()
        _ = ladder.climb(to: 7)
        ladder.disappeared()
        #expect(ladder.state == .resting)
        ladder.released(at: at(8))
        #expect(ladder.nextDeadline == nil)
        ladder.appeared(at: at(60))
        #expect(ladder.nextDeadline == at(65))
    }

    @Test func `a climb also starts for an adapter that is present but was never listening`() {
        var ladder = WatchdogLadder(deafAfter: nil)
        #expect(ladder.nextDeadline == nil)
        ladder.appeared(at: at(1))
        #expect(ladder.all(at: at(6)) == [.fellSilent(since: at(1)), .take(.widen)])
    }

    @Test func `a reset that removes and adds the adapter does not shorten the intervals`() {
        var ladder = climber()
        var cycles: [Double] = []
        var time = 5.0
        while time < 3_600 {
            for action in ladder.all(at: at(time)) {
                if action == .take(.powerCycle) { cycles.append(time) }
                if action == .take(.reset) {
                    ladder.disappeared()
                    ladder.appeared(at: at(time + 1))
                    ladder.listening(at: at(time + 1))
                }
            }
            time += 0.5
        }
        #expect(cycles.count < 40)
    }

    @Test func `L6: the time in which the machine was suspended does not count as silence`() {
        var ladder = climber()
        ladder.resumed(at: at(100))
        #expect(ladder.nextDeadline == at(105))
        _ = ladder.climb(to: 105)
        ladder.resumed(at: at(200))
        #expect(ladder.nextDeadline == at(203))
    }
}
