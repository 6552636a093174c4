import Synchronization

/// Collects which events have been handled (rule N3), until the monitor reports them to its record store.
///
/// Events are handled on the tasks of their subscribers, but only the monitor may call the store.
final class DeliveryNotes: Sendable {
    private struct State {
        /// Handled events that have not been reported to the store.
        var handled: [Int] = []
        /// Events that a subscription did not take before it ended. The next process delivers them again. Those before
        /// `head` were discarded.
        var abandoned: [Int] = []
        var head = 0
        /// Events that newer ones replaced and that have not been reported to the store; and the total number of these.
        var forgotten: [Int] = []
        var forgottenCount = 0

        mutating func forget(_ numbers: some Collection<Int>) {
            forgotten += numbers
            forgottenCount += numbers.count
        }
    }

    private let state = Mutex(State())
    private let signal: Signal

    /// Creates an empty collection.
    ///
    /// - Parameter signal: raised when there is something to report.
    init(_ signal: Signal) { self.signal = signal }

    /// Records that an event does not wait for any subscriber any more.
    func note(_ number: Int, wasTaken: Bool) {
        state.withLock {
            if wasTaken {
                $0.handled.append(number)
                return
            }
            $0.abandoned.append(number)
            guard $0.abandoned.count - $0.head > backlogMax else { return }
            $0.forget(CollectionOfOne($0.abandoned[$0.head]))
            $0.head += 1
            if $0.head * 2 >= $0.abandoned.count {
                $0.abandoned.removeFirst($0.head)
                $0.head = 0
            }
        }
        signal.raise()
    }

    /// Counts stored events beyond the bound.
    func forget(_ numbers: [Int]) { state.withLock { $0.forget(numbers) } }

    /// Returns the events that were handled or replaced since the last call.
    func take() -> (handled: [Int], forgotten: [Int]) {
        state.withLock {
            let notes = ($0.handled, $0.forgotten)
            ($0.handled, $0.forgotten) = ([], [])
            return notes
        }
    }

    /// The number of events that were never handled and that newer ones replaced.
    var forgotten: Int { state.withLock { $0.forgottenCount } }
}
