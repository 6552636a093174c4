/// Counts the monitored conditions and those that wait because of the limit (rule C4).
struct ConditionLimit: Sendable {
    // 0 means no limit.
    private let most: Int
    private var monitored = 0
    /// The number of conditions that wait to be monitored.
    private(set) var waiting = 0

    init(_ most: Int) { self.most = most }

    /// Adds a condition.
    /// - Returns: whether it is monitored; otherwise it waits.
    mutating func enter() -> Bool {
        let hasPlace = most <= 0 || monitored < most
        add(hasPlace: hasPlace)
        return hasPlace
    }

    /// Adds a condition that is known to be monitored or to wait.
    mutating func add(hasPlace: Bool) { if hasPlace { monitored += 1 } else { waiting += 1 } }

    /// Removes a condition.
    mutating func remove(hadPlace: Bool) { if hadPlace { monitored -= 1 } else { waiting -= 1 } }

    /// Moves a waiting condition to the monitored ones.
    mutating func promote() {
        waiting -= 1
        monitored += 1
    }
}
