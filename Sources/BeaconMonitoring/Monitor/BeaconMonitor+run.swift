import BaseTypes
import Synchronization

extension BeaconMonitor {
    /// Hears, where the monitor was made with a ``SightingSource``, and handles what becomes due when it does, until the
    /// monitor is ended or the task is cancelled.
    ///
    /// Without it nothing is heard, and nothing happens in silence: an exit then waits for the next input. It belongs to
    /// whoever owns the monitor, in a task group or an `async let`, so that there is no task that nobody awaits and nothing
    /// in the background that keeps a discarded monitor alive.
    ///
    /// Whatever ends hearing ends the monitor: ``events``, ``visits`` and who ranges get what still waits for them and then
    /// the end, with ``MonitorError/hearingEnded(_:)`` where an error was why. A monitor without a source, to which somebody
    /// else hands what is heard, can be run again after its task was cancelled.
    ///
    /// - Throws: ``MonitorError/running(_:)`` where it runs already, `CancellationError`, what stands in the way of a source
    ///   of sightings or of locations, and what the clock throws.
    public func run() async throws {
        #if ServiceLifecycle
            try await runAsService()
        #else
            try await runUntilCancelled()
        #endif
    }

    func runUntilCancelled() async throws {
        guard !isRunning else { throw MonitorError.running(name) }
        isRunning = true
        defer { isRunning = false }
        if !isEnded, !lease.hold() { throw MonitorError.nameTaken(name) }
        try await withTaskCancellationHandler {
            try await hear()
        } onCancel: {
            leaveName()
        }
    }

    private func hear() async throws {
        guard let source else {
            return try await runLocating { try await self.keepTime { await self.drainLocating() } }
        }
        guard !isEnded else { return }
        do {
            try await runLocating { try await self.hear(by: source) }
            end()
        } catch {
            // Whoever ended it knows: what its source makes of that is no news.
            if isEnded, !(error is CancellationError) { return }
            // Who was cancelled knows why; subscribers are told of anything else.
            end(because: error is CancellationError ? nil : .hearingEnded("\(error)"))
            throw error
        }
    }

    /// Leaves the monitor's name to whoever asks for it next, and ends by that.
    private nonisolated func leaveName() {
        // Its files are open until it is ended.
        guard hub.notes == nil else { return }
        lease.loosen { [weak self] in
            guard let self else { return }
            successor.store(true, ordering: .releasing)
            hub.finish()
            rangingHub.finish()
            visitLog.finish()
            session.end()
            signal.raise()
        }
    }

    /// Runs the source beside what becomes due, until one of the two ends; the other is ended then, and awaited.
    private func hear(by source: any SightingSource) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await source.run(into: self) }
            group.addTask {
                try await self.keepTime {
                    await source.drain()
                    await self.drainLocating()
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
        // A source may take its cancellation for its end.
        if !isEnded { try Task.checkCancellation() }
    }

    /// Handles what becomes due until the monitor is ended or the task is cancelled.
    ///
    /// - Parameter drain: called before what is due is handled; returns when every report that was received up to the call
    ///   has been handed over (rule T5).
    /// - Throws: `CancellationError`, and what the clock throws.
    private func keepTime(draining drain: @Sendable () async -> Void) async throws {
        while !isEnded {
            try Task.checkCancellation()
            tellHandled()
            let now = clock.now
            guard let deadline = nextDeadline, deadline <= now else {
                try await sleep(until: nextDeadline)
                continue
            }
            await drain()
            advance(to: now)
        }
    }

    /// Handles what is due at or before `time`; nothing where the monitor has ended, whose store is closed.
    func advance(to time: Instant) {
        guard !isEnded else { return }
        // What was drained may have brought the engine further than the moment for which it was drained.
        give { engine, actions in engine.advance(to: max(time, engine.now), into: &actions) }
        let engine = engine
        store?.advance(to: max(time, engine.now)) { engine.snapshot }
        noteKeeping()
        rangingHub.advance(to: time, clockOffset: clock.offset)
    }

    /// Handles at once what is due by the clock's present: for sources that turn a clock themselves, so that a test knows
    /// when all of it has been done.
    package func catchUp() async {
        let now = clock.now
        await drainLocating()
        advance(to: now)
    }

    /// The moment at which something that was not heard is taken (rule T5): where it comes while something is due that the
    /// source has still to be drained for, before that. It would else overtake the report that prevents an exit.
    func beforeUndrained(_ time: Instant) -> Instant {
        guard isRunning, source != nil, let deadline = engine.nextDeadline, deadline <= time else { return time }
        return max(deadline - .nanoseconds(1), engine.now)
    }

    /// The silence after which an adapter is taken for deaf (rule L5); absent: never.
    package var deafAfter: Duration? { engine.settings.deafAfter }

    /// When something is next due, in the engine, in the store or for who ranges.
    var nextDeadline: Instant? {
        let others = [store?.nextDeadline, rangingHub.isWanted ? rangingHub.nextDeadline : nil]
        return others.reduce(engine.nextDeadline) { next, other in
            guard let next, let other else { return next ?? other }
            return min(next, other)
        }
    }

    /// Sleeps until `deadline`, or until an input makes something due earlier.
    private func sleep(until deadline: Instant?) async throws {
        alarm = deadline
        defer { alarm = nil }
        try await withThrowingTaskGroup(of: Void.self) { [clock, signal] group in
            if let deadline { group.addTask { try await clock.sleep(until: deadline) } }
            group.addTask { await signal.wait() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
