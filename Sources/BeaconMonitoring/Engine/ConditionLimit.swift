/// How many conditions are monitored, of those that are to be (rule C4).
struct ConditionLimit: Sendable {
    // 0: all are.
    private let most: Int
    private var monitored = 0
    /// How many wait for a place.
    private(set) var waiting = 0

    init(_ most: Int) { self.most = most }

    /// Counts one more condition.
    /// - Returns: whether there is a place for it; where not, it waits for one.
    mutating func enter() -> Bool {
        let hasPlace = most <= 0 || monitored < most
        add(hasPlace: hasPlace)
        return hasPlace
    }

    /// Counts one more, which has a place by right, or has none.
    mutating func add(hasPlace: Bool) { if hasPlace { monitored += 1 } else { waiting += 1 } }

    /// Counts one less.
    mutating func remove(hadPlace: Bool) { if hadPlace { monitored -= 1 } else { waiting -= 1 } }

    /// Gives one that waited a place.
    mutating func promote() {
        waiting -= 1
        monitored += 1
    }
}
