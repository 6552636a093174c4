import BaseTypes
import BeaconMonitoring
import Synchronization

/// The expected events or visits. Checks that each of them is delivered once and in order.
final class Ledger: Sendable {
    enum Entry: Hashable, Sendable {
        case event(String, BeaconMonitor.Event.State, Instant)
        case visit(String, arrival: Instant?, departure: Instant?)
    }

    private struct Book {
        var expected: [Entry] = []
        /// The number of entries in `expected` that have been delivered.
        var settled = 0
        var delivered = 0
        var surprise: String?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let book = Mutex(Book())

    func expect(_ entries: [Entry]) { book.withLock { $0.expected += entries } }

    func deliver(_ entry: Entry) {
        let waiter = book.withLock { book -> CheckedContinuation<Void, Never>? in
            book.delivered += 1
            let expected = book.settled < book.expected.count ? book.expected[book.settled] : nil
            if expected != entry, book.surprise == nil {
                book.surprise = "delivered \(entry), expected \(expected.map { "\($0)" } ?? "nothing")"
            }
            book.settled = min(book.settled + 1, book.expected.count)
            return Self.settle(&book)
        }
        waiter?.resume()
    }

    /// Returns when all expected entries have been delivered, or when an unexpected one has been delivered.
    func settled() async {
        await withCheckedContinuation { continuation in
            let waiter = book.withLock { book -> CheckedContinuation<Void, Never>? in
                book.waiter = continuation
                return Self.settle(&book)
            }
            waiter?.resume()
        }
    }

    private static func settle(_ book: inout Book) -> CheckedContinuation<Void, Never>? {
        if book.surprise != nil { return book.waiter.take() }
        guard book.settled == book.expected.count else { return nil }
        book.expected.removeAll(keepingCapacity: true)
        book.settled = 0
        return book.waiter.take()
    }

    /// The number of delivered entries, the number of expected entries that have not been delivered, and a text about
    /// the first unexpected delivery.
    var balance: (delivered: Int, owed: Int, surprise: String?) {
        book.withLock { ($0.delivered, $0.expected.count - $0.settled, $0.surprise) }
    }
}
