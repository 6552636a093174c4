/// By how much the clocks of gateways that are known for some time are behind the log's, for what is usual among them (rule S3).
/// Nanoseconds.
struct ClockFleet: Sendable, Hashable {
    // In their order. One more clock takes part: the log's own, which is behind itself by nothing.
    private var skews: [Int64] = [0]

    /// The middle of all; of two in the middle the one that is nearer to the log's own clock. Absent where that is the only one.
    var middle: Int64? {
        guard skews.count > 1 else { return nil }
        let (low, high) = (skews[(skews.count - 1) / 2], skews[skews.count / 2])
        return low.magnitude <= high.magnitude ? low : high
    }

    /// Counts a clock.
    mutating func add(_ skew: Int64) { skews.insert(skew, at: place(of: skew)) }

    /// Counts a clock no more.
    mutating func remove(_ skew: Int64) { skews.remove(at: place(of: skew)) }

    // The place of the first that is not less.
    private func place(of skew: Int64) -> Int {
        var (low, high) = (0, skews.count)
        while low < high {
            let middle = (low + high) / 2
            if skews[middle] < skew { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
