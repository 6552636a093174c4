import BaseTypes

/// Reserves line numbers in `state.json` before they are written. If the last lines are lost, numbers continue after
/// the reserved ones.
struct NumberReservation {
    /// How many numbers are reserved at once. A snapshot renews them if fewer than half are left.
    static let count = 10_000
    private static let retryInterval: Duration = .seconds(30)

    private var last: Int
    private var retryAt: Instant?

    /// Creates a reservation. `last` is the greatest number that is already reserved.
    init(_ last: Int) { self.last = last }

    /// Returns the number that must be reserved before `sequence` is written; `nil` if that is done, or failed just
    /// before.
    func wanted(for sequence: Int, at now: Instant) -> Int? {
        guard sequence > last, retryAt.map({ $0 <= now }) ?? true else { return nil }
        return sequence + Self.count
    }

    /// Returns the greatest number to reserve in a snapshot.
    ///
    /// - Parameters:
    ///   - sequence: the number of the last line.
    ///   - isEnd: whether all used numbers are in lines, because no segment is open or will be.
    /// - Returns: the greatest reserved number.
    func forSnapshot(at sequence: Int, isEnd: Bool) -> Int {
        if isEnd { return sequence }
        return last - sequence < Self.count / 2 ? sequence + Self.count : last
    }

    /// Records that a snapshot with the reservation was stored.
    mutating func isKept(_ number: Int) { last = number }

    /// Records that the reservation was stored without a snapshot.
    mutating func isReserved(_ number: Int) { (last, retryAt) = (number, nil) }

    /// Records that the reservation could not be stored. Lines are still written (rule N5), and it is tried again.
    mutating func isRefused(at now: Instant) { retryAt = now + Self.retryInterval }
}
