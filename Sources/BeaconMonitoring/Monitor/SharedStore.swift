import BaseTypes
import Synchronization

/// The record store of a monitor, and the results of deliveries that it does not have yet (rule N3).
///
/// Events are handled on the tasks of their subscribers, also after the end of the monitor. A subscriber passes the
/// results to the store at once, so that a handled event is not delivered again. If the monitor uses the store at that
/// moment, the subscriber does not wait for the disk: the monitor passes them on when it has finished.
final class SharedStore: Sendable {
    private struct Results {
        var handled: [Int] = []
        /// Events that a subscription did not take before it ended. The next process delivers them again. Those before
        /// `head` were discarded.
        var abandoned: [Int] = []
        var head = 0
        /// Events that newer ones replaced; and the total number of these.
        var forgotten: [Int] = []
        var forgottenCount = 0

        var isEmpty: Bool { handled.isEmpty && forgotten.isEmpty }

        mutating func forget(_ numbers: some Collection<Int>) {
            forgotten += numbers
            forgottenCount += numbers.count
        }
    }

    private let results = Mutex(Results())
    private let store: Mutex<any RecordStore>
    private let isClosed = Atomic<Bool>(false)
    private let signal: Signal

    /// Takes a store.
    ///
    /// - Parameters:
    ///   - store: the store, for this monitor alone.
    ///   - signal: raised if the store has a deadline that the monitor does not know.
    init(_ store: sending any RecordStore, _ signal: Signal) {
        self.store = Mutex(store)
        self.signal = signal
    }

    /// Calls `body` with the store, and passes waiting results to the store afterwards.
    func use<Result: Sendable, Failure: Error>(
        _ body: (any RecordStore) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let result = try store.withLock { (store) throws(Failure) in try body(store) }
        pass()
        return result
    }

    /// Closes the store. After that, subscribers wait for each other, so that no loop ends before its results are stored.
    func close(_ snapshot: MonitorSnapshot, at time: Instant) {
        use { store in
            _ = pass(to: store)
            store.close(snapshot, at: time)
            isClosed.store(true, ordering: .releasing)
        }
    }

    /// Records that an event does not wait for any subscriber any more. ``pass()`` must follow.
    func note(_ number: Int, wasTaken: Bool) {
        results.withLock {
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
    }

    /// Counts stored events beyond the bound. ``pass()`` must follow.
    func forget(_ numbers: [Int]) { results.withLock { $0.forget(numbers) } }

    /// Passes the waiting results to the store, unless another call has it, which then does so.
    func pass() {
        while results.withLock({ !$0.isEmpty }) {
            // A call that has the store at this moment looks for results after it has released it.
            let isStoring =
                isClosed.load(ordering: .acquiring)
                ? store.withLock { pass(to: $0) } : store.withLockIfAvailable { pass(to: $0) }
            guard let isStoring else { return }
            if !isStoring { signal.raise() }
        }
    }

    /// Returns whether the store can still store.
    private func pass(to store: any RecordStore) -> Bool {
        let (handled, forgotten) = results.withLock { results in
            defer { (results.handled, results.forgotten) = ([], []) }
            return (results.handled, results.forgotten)
        }
        if !handled.isEmpty { store.handled(handled) }
        if !forgotten.isEmpty { store.forget(forgotten) }
        return store.isStoring
    }

    /// The number of events that were never handled and that newer ones replaced.
    var forgotten: Int { results.withLock { $0.forgottenCount } }
}
