import BaseTypes
import Synchronization

/// Whether a monitor runs, and the remark if a program waits for a monitor that it has never run.
final class RunState: Sendable {
    private enum Phase {
        /// ``BeaconMonitor/run()`` was never called, and there was no remark.
        case new
        /// ``BeaconMonitor/run()`` was never called, and the remark was made.
        case reported
        case running
        /// The task of ``BeaconMonitor/run()`` was cancelled. The monitor can run again.
        case stopped
        case ended
    }

    private struct State {
        var phase = Phase.new
        /// The time at which the program asked for an event or a record for the first time.
        var askedAt: Instant?
    }

    /// The time between the first request and the remark. A program usually starts ``BeaconMonitor/run()`` and its loops
    /// in any order, at nearly the same time.
    static let patience: Duration = .seconds(5)

    /// Whether the monitor needs ``BeaconMonitor/run()``: it has a source, or the clock of the machine.
    private let isNeeded: Bool
    /// The clock for ``patience``.
    private let clock: any MonitorClock
    private let remarks: Remarks
    private let state = Mutex(State())

    init(isNeeded: Bool, on clock: any MonitorClock, _ remarks: Remarks) {
        self.isNeeded = isNeeded
        self.clock = clock
        self.remarks = remarks
    }

    /// Whether the monitor needs to run and does not.
    var isMissing: Bool {
        guard isNeeded else { return false }
        return switch state.withLock({ $0.phase }) {
        case .new, .reported, .stopped: true
        case .running, .ended: false
        }
    }

    func run() { state.withLock { if $0.phase != .ended { $0.phase = .running } } }

    func stop() { state.withLock { if $0.phase == .running { $0.phase = .stopped } } }

    func end() { state.withLock { $0.phase = .ended } }

    /// Records a request of the program, and makes the remark if one is due.
    ///
    /// - Returns: the time at which a remark becomes due; `nil` if there will be none.
    @discardableResult func ask() -> Instant? {
        guard isNeeded, state.withLock({ $0.phase == .new }) else { return nil }
        let now = clock.now
        let dueAt = state.withLock { state in
            let askedAt = state.askedAt ?? now
            state.askedAt = askedAt
            return askedAt + Self.patience
        }
        guard now >= dueAt else { return dueAt }
        report()
        return nil
    }

    /// Makes the remark if one is due. Called when the program has added a handler of remarks.
    func check() {
        guard let askedAt = state.withLock({ $0.askedAt }), clock.now - askedAt >= Self.patience else { return }
        report()
    }

    /// Makes the remark, once. Without a handler, it waits for one.
    private func report() {
        guard remarks.hasHandler else { return }
        let isFirst = state.withLock { state in
            guard state.phase == .new else { return false }
            state.phase = .reported
            return true
        }
        if isFirst { remarks.make([.notRunning]) }
    }

    /// Returns the result of `wait`, and makes the remark if it takes too long because the monitor does not run.
    func check<Answer: Sendable>(
        during wait: () async -> Answer, isolation: isolated (any Actor)? = #isolation
    ) async -> Answer {
        guard let dueAt = ask() else { return await wait() }
        async let _: Void = report(at: dueAt)
        return await wait()
    }

    private func report(at time: Instant) async {
        do { try await clock.sleep(until: time) } catch { return }
        report()
    }
}
