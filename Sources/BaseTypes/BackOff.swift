/// How long to wait before something is tried again: twice as long after each failure, up to a bound.
package struct BackOff: Sendable, Hashable {
    // So many are told apart, and more than any bound needs: of a nanosecond doubled as often, 18 minutes.
    private static let failuresMax = 40

    private let first: Duration
    private let most: Duration
    /// How many failures there were in a row; at most 40 are counted.
    package private(set) var failures = 0

    /// Nothing has failed yet.
    ///
    /// - Parameters:
    ///   - first: the wait after the first failure.
    ///   - most: the longest one.
    ///   - failures: how many there were already.
    package init(first: Duration, most: Duration, failures: Int = 0) {
        self.first = first
        self.most = most
        self.failures = min(max(failures, 0), Self.failuresMax)
    }

    /// The wait that ``next()`` would give.
    package var pause: Duration {
        var pause = first
        for _ in 0..<failures where pause < most { pause *= 2 }
        return min(pause, most)
    }

    /// Something failed.
    ///
    /// - Returns: how long to wait before it is tried again.
    package mutating func next() -> Duration {
        defer { failures = min(failures + 1, Self.failuresMax) }
        return pause
    }

    /// What failed before says nothing of what comes: it went well, or it is something else now.
    package mutating func reset() { failures = 0 }
}
