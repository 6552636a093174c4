import Synchronization

/// The handlers of a monitor's remarks.
final class Remarks: Sendable {
    typealias Handler = @Sendable (MonitorRemark) -> Void

    private struct State {
        // Bounded by the text of the program.
        var handlers: [Handler] = []
        var standard: Handler?
    }

    private let state: Mutex<State>

    /// Creates an empty list.
    ///
    /// - Parameter standard: receives the remarks until a handler is added.
    init(standard: Handler? = nil) { state = Mutex(State(standard: standard)) }

    func add(_ handler: @escaping Handler) {
        state.withLock {
            $0.standard = nil
            $0.handlers.append(handler)
        }
    }

    var hasHandler: Bool { state.withLock { $0.standard != nil || !$0.handlers.isEmpty } }

    /// Passes remarks to the handlers, outside the lock.
    func make(_ remarks: [MonitorRemark]) {
        guard !remarks.isEmpty else { return }
        let handlers = state.withLock { $0.handlers + ($0.standard.map { [$0] } ?? []) }
        for remark in remarks {
            for handler in handlers { handler(remark) }
        }
    }
}
