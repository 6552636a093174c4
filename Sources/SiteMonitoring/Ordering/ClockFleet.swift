/// Computes the usual skew: the median of how far the clocks of settled streams are behind the log's (rule S2). Times
/// are nanoseconds.
struct ClockFleet: Sendable, Hashable {
    // Sorted. The log's own clock counts too, with a skew of 0.
    private var skews: [Int64] = [0]

    /// The median. Of two middle values it is the one nearer to 0. It is `nil` if only the log's own clock counts.
    var middle: Int64? {
        guard skews.count > 1 else { return nil }
        let (low, high) = (skews[(skews.count - 1) / 2], skews[skews.count / 2])
        return low.magnitude <= high.magnitude ? low : high
    }

    /// Adds the skew of a clock.
    mutating func add(_ skew: Int64) { skews.insert(skew, at: place(of: skew)) }

    /// Removes the skew of a clock.
    mutating func remove(_ skew: Int64) { skews.remove(at: place(of: skew)) }

    // Returns the index of the first value that is not less.
    private func place(of skew: Int64) -> Int {
        var (low, high) = (0, skews.count)
        while low < high {
            let middle = (low + high) / 2
            if skews[middle] < skew { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
