import BluetoothLE
import Synchronization

extension BeaconMonitor {
    /// Handles what becomes due, when it does, until the monitor is ended or the task is cancelled.
    ///
    /// Without it nothing happens in silence: an exit then waits for the next input. It belongs to whoever owns the
    /// monitor, in a task group beside the scanners, so that there is no task that nobody awaits and nothing in the
    /// background that keeps a discarded monitor alive.
    ///
    /// - Parameter drain: called before what is due is handled; returns when every report that the sources received up
    ///   to the call has been handed over, so that no exit overtakes the report that prevents it (rule T5).
    /// - Throws: ``MonitorError/running(_:)`` where it runs already, `CancellationError`, and what the clock throws.
    public func run(draining drain: @Sendable () async -> Void = {}) async throws {
        guard !isRunning else { throw MonitorError.running(name) }
        isRunning = true
        defer { isRunning = false }
        if !isEnded, !lease.hold() { throw MonitorError.nameTaken(name) }
        try await withTaskCancellationHandler {
            try await keepTime(draining: drain)
        } onCancel: {
            leaveName()
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
            // What was drained may have brought the engine further than the moment for which it was drained.
            give { engine, actions in engine.advance(to: max(now, engine.now), into: &actions) }
            let engine = engine
            store?.advance(to: max(now, engine.now)) { engine.snapshot }
            noteKeeping()
            rangingHub.advance(to: now, clockOffset: clock.offset)
        }
    }

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
