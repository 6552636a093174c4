import Synchronization

/// What has become of the events that a record store keeps (rule N3), until the monitor tells the store.
///
/// Events are handled wherever their subscribers run; the store belongs to the monitor.
final class DeliveryNotes: Sendable {
    private struct State {
        /// Handled, and not told to the store.
        var handled: [Int] = []
        /// Not taken by a subscription that ended: they wait for the next process, those before `head` no more.
        var abandoned: [Int] = []
        var head = 0
        /// Gave way to newer ones, not told to the store; and how many in all.
        var forgotten: [Int] = []
        var forgottenCount = 0

        mutating func forget(_ numbers: some Collection<Int>) {
            forgotten += numbers
            forgottenCount += numbers.count
        }
    }

    private let state = Mutex(State())
    private let signal: Signal

    /// - Parameter signal: raised when there is something to tell the store.
    init(_ signal: Signal) { self.signal = signal }

    /// Takes note of an event that waits for nobody any more.
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

    /// Counts events that a store had kept beyond the bound.
    func forget(_ numbers: [Int]) { state.withLock { $0.forget(numbers) } }

    /// What is to be told to the store since the last call: what was handled, and what gave way to newer ones.
    func take() -> (handled: [Int], forgotten: [Int]) {
        state.withLock {
            let notes = ($0.handled, $0.forgotten)
            ($0.handled, $0.forgotten) = ([], [])
            return notes
        }
    }

    /// How many events were never handled and gave way to newer ones.
    var forgotten: Int { state.withLock { $0.forgottenCount } }
}
