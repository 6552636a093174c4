/// The pause before an operation is tried again: it doubles after each failure, up to a maximum.
package struct BackOff: Sendable, Hashable {
    // Failures are counted up to this number. After 40, a pause that started at 1 ns is 18 minutes, longer than any
    // maximum in use.
    private static let failuresMax = 40

    private let first: Duration
    private let most: Duration
    /// The number of failures in a row, at most 40.
    package private(set) var failures = 0

    /// Creates a back-off.
    ///
    /// - Parameters:
    ///   - first: the pause after the first failure.
    ///   - most: the longest pause.
    ///   - failures: the number of failures that were already counted; other values than 0…40 are moved into that
    ///     range.
    package init(first: Duration, most: Duration, failures: Int = 0) {
        self.first = first
        self.most = most
        self.failures = min(max(failures, 0), Self.failuresMax)
    }

    /// The pause that ``next()`` would return.
    package var pause: Duration {
        var pause = first
        for _ in 0..<failures where pause < most { pause *= 2 }
        return min(pause, most)
    }

    /// Counts a failure.
    ///
    /// - Returns: the pause before the operation should be tried again.
    package mutating func next() -> Duration {
        defer { failures = min(failures + 1, Self.failuresMax) }
        return pause
    }

    /// Sets ``failures`` to 0. Call this if the operation succeeded, or if another operation is tried.
    package mutating func reset() { failures = 0 }
}
