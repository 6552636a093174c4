import BaseTypes
import BeaconMonitoring
import Synchronization

/// The expected events or visits. Checks that each of them is delivered once and in order.
final class Ledger: Sendable {
    enum Entry: Hashable, Sendable {
        case event(String, BeaconMonitor.Event.State, Instant)
        case visit(String, arrival: Instant?, departure: Instant?)
    }

    private struct State {
        var expected: [Entry] = []
        /// The number of entries in `expected` that have been delivered.
        var settled = 0
        var delivered = 0
        var surprise: String?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func expect(_ entries: [Entry]) { state.withLock { $0.expected += entries } }

    func deliver(_ entry: Entry) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.delivered += 1
            let expected = state.settled < state.expected.count ? state.expected[state.settled] : nil
            if expected != entry, state.surprise == nil {
                state.surprise = "delivered \(entry), expected \(expected.map { "\($0)" } ?? "nothing")"
            }
            state.settled = min(state.settled + 1, state.expected.count)
            return Self.settle(&state)
        }
        waiter?.resume()
    }

    /// Returns when all expected entries have been delivered, or when an unexpected one has been delivered.
    func settled() async {
        await withCheckedContinuation { continuation in
            let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
                state.waiter = continuation
                return Self.settle(&state)
            }
            waiter?.resume()
        }
    }

    private static func settle(_ state: inout State) -> CheckedContinuation<Void, Never>? {
        if state.surprise != nil { return state.waiter.take() }
        guard state.settled == state.expected.count else { return nil }
        state.expected.removeAll(keepingCapacity: true)
        state.settled = 0
        return state.waiter.take()
    }

    /// The number of delivered entries, the number of expected entries that have not been delivered, and a text about
    /// the first unexpected delivery.
    var balance: (delivered: Int, owed: Int, surprise: String?) {
        state.withLock { ($0.delivered, $0.expected.count - $0.settled, $0.surprise) }
    }
}
