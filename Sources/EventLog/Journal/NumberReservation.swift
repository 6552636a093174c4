import BaseTypes

/// Up to which number lines may come to stand somewhere, as `state.json` says before any of them is written: whoever finds
/// the last lines gone goes on behind it.
struct NumberReservation {
    /// How many numbers are reserved ahead; renewed by each snapshot that finds fewer than half of them left.
    static let count = 10_000
    private static let retryInterval: Duration = .seconds(30)

    private var last: Int
    private var retryAt: Instant?

    /// `last` is the greatest number that is reserved already.
    init(_ last: Int) { self.last = last }

    /// The number that has to be reserved before `sequence` is written; `nil` where that is done, or was tried just now.
    func wanted(for sequence: Int, at now: Instant) -> Int? {
        guard sequence > last, retryAt.map({ $0 <= now }) ?? true else { return nil }
        return sequence + Self.count
    }

    /// What a snapshot says that stands at `sequence`.
    ///
    /// - Parameters:
    ///   - sequence: the number of the last line.
    ///   - isEnd: whether no number can have been given that no line tells of: no segment is open, or will be.
    /// - Returns: the greatest number that is reserved then.
    func forSnapshot(at sequence: Int, isEnd: Bool) -> Int {
        if isEnd { return sequence }
        return last - sequence < Self.count / 2 ? sequence + Self.count : last
    }

    /// A snapshot says so.
    mutating func isKept(_ number: Int) { last = number }

    /// The file says so, without a snapshot.
    mutating func isReserved(_ number: Int) { (last, retryAt) = (number, nil) }

    /// It can't be said. That is no reason not to keep lines (rule N5), and it is tried again.
    mutating func isRefused(at now: Instant) { retryAt = now + Self.retryInterval }
}
