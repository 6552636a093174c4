import Synchronization

/// The places for monitored conditions, and the conditions that wait for one (rule C4).
///
/// The members of a limit are engines. A condition waits if the conditions of all members have at least as many places
/// as the limit of its own engine.
struct ConditionLimit: Sendable {
    private struct Member: Sendable {
        /// `Int.max` if there is no limit.
        let most: Int
        /// Raised when the member gets a place that another one released.
        let signal: Signal?
        var monitored = 0
        /// The conditions that got a place and are not monitored yet.
        var granted: [Int] = []
    }

    private struct Waiting: Sendable {
        let condition: Int
        let member: Int
        let most: Int
    }

    private var members: [Int: Member] = [:]
    private var membersAdded = 0
    private var conditionsAdded = 0
    /// The number of places that conditions have.
    private var taken = 0
    /// In the order of adding.
    private var waiting: [Waiting] = []

    /// Adds a member.
    ///
    /// - Parameters:
    ///   - most: its limit; 0 means no limit.
    ///   - signal: raised when it gets a place that another member released.
    /// - Returns: its number.
    mutating func join(_ most: Int, waking signal: Signal? = nil) -> Int {
        membersAdded += 1
        members[membersAdded] = Member(most: most > 0 ? most : .max, signal: signal)
        return membersAdded
    }

    /// Removes a member and its conditions.
    ///
    /// - Returns: the signals of the members that got a place.
    mutating func leave(_ member: Int) -> [Signal] {
        guard let former = members.removeValue(forKey: member) else { return [] }
        waiting.removeAll { $0.member == member }
        taken -= former.monitored + former.granted.count
        return grant(after: member)
    }

    /// Returns the number of a new condition, which is its position in the order of adding.
    mutating func next() -> Int {
        conditionsAdded += 1
        return conditionsAdded
    }

    /// Adds a condition.
    ///
    /// - Parameters:
    ///   - condition: its number.
    ///   - member: its member. If it has left, nothing is added.
    /// - Returns: whether it has a place; otherwise it waits.
    mutating func enter(_ condition: Int, of member: Int) -> Bool {
        guard let most = members[member]?.most else { return false }
        if taken < most {
            members[member]?.monitored += 1
            taken += 1
            return true
        }
        let last = waiting.lastIndex { $0.condition < condition }
        waiting.insert(Waiting(condition: condition, member: member, most: most), at: last.map { $0 + 1 } ?? 0)
        return false
    }

    /// Removes a condition.
    ///
    /// - Returns: the signals of the other members that got its place.
    mutating func remove(_ condition: Int, of member: Int, isMonitored: Bool) -> [Signal] {
        guard members[member] != nil else { return [] }
        if isMonitored {
            members[member]?.monitored -= 1
        } else if let index = waiting.firstIndex(where: { $0.condition == condition }) {
            waiting.remove(at: index)
            return []
        } else {
            members[member]?.granted.removeAll { $0 == condition }
        }
        taken -= 1
        return grant(after: member)
    }

    /// Whether a condition of a member got a place and is not monitored yet.
    func hasGrant(_ member: Int) -> Bool { members[member]?.granted.isEmpty == false }

    /// Returns the conditions that got a place and are monitored from now on.
    mutating func take(_ member: Int) -> [Int] {
        guard let granted = members[member]?.granted, !granted.isEmpty else { return [] }
        members[member]?.monitored += granted.count
        members[member]?.granted = []
        return granted
    }

    /// Gives free places to the first conditions that their limits permit.
    ///
    /// - Parameter member: the member that released the places.
    /// - Returns: the signals of the other members that got one.
    private mutating func grant(after member: Int) -> [Signal] {
        var signals: [Signal] = []
        while let index = waiting.firstIndex(where: { taken < $0.most }) {
            let first = waiting.remove(at: index)
            members[first.member]?.granted.append(first.condition)
            taken += 1
            if first.member != member, let signal = members[first.member]?.signal { signals.append(signal) }
        }
        return signals
    }
}

/// The limit of conditions that the monitors with one ``ServiceRegistry`` share (rule C4).
final class SharedConditionLimit: Sendable {
    private let limit = Mutex(ConditionLimit())

    /// Adds a monitor.
    ///
    /// - Parameters:
    ///   - most: its limit; 0 means no limit.
    ///   - signal: raised when it gets a place that another monitor released.
    /// - Returns: the monitor as a member of the limit.
    func join(_ most: Int, waking signal: Signal) -> Member {
        Member(of: self, limit.withLock { $0.join(most, waking: signal) })
    }

    /// A monitor that shares the limit, until ``end()`` or its last reference.
    final class Member: Sendable {
        private let owner: SharedConditionLimit
        private let number: Int

        fileprivate init(of owner: SharedConditionLimit, _ number: Int) {
            self.owner = owner
            self.number = number
        }

        deinit { end() }

        /// Releases the places of the monitor. Further calls have no effect.
        func end() { release { $0.leave($1) } }

        /// Returns the result of `body` for the limit and the number of the member.
        func use<Result: Sendable>(_ body: (inout ConditionLimit, Int) -> Result) -> Result {
            owner.limit.withLock { body(&$0, number) }
        }

        /// Raises the signals that `body` returns.
        func release(_ body: (inout ConditionLimit, Int) -> [Signal]) {
            // Outside the lock, because a signal resumes a task.
            for signal in use(body) { signal.raise() }
        }
    }
}

/// The places of the conditions of an engine: within a limit of its own, or within a shared one.
struct EnginePlaces: Sendable {
    private var own = ConditionLimit()
    private let number: Int
    private let shared: SharedConditionLimit.Member?
    private let isLimited: Bool

    /// Creates the places.
    ///
    /// - Parameters:
    ///   - most: the limit of the engine; 0 means no limit.
    ///   - shared: the shared limit; `nil` if the engine has its own.
    init(_ most: Int, sharing shared: SharedConditionLimit.Member? = nil) {
        number = own.join(most)
        self.shared = shared
        isLimited = most > 0
    }

    /// Returns the number of a new condition, which is its position in the order of adding.
    mutating func next() -> Int { use { limit, _ in limit.next() } }

    /// Adds a condition.
    ///
    /// - Returns: whether it has a place; otherwise it waits.
    mutating func enter(_ condition: Int) -> Bool { use { $0.enter(condition, of: $1) } }

    /// Removes a condition. The first that waits gets its place.
    mutating func remove(_ condition: Int, isMonitored: Bool) {
        guard let shared else { return _ = own.remove(condition, of: number, isMonitored: isMonitored) }
        shared.release { $0.remove(condition, of: $1, isMonitored: isMonitored) }
    }

    /// Whether a condition got a place that another engine released, and is not monitored yet.
    var hasGrant: Bool {
        guard isLimited, let shared else { return false }
        return shared.use { $0.hasGrant($1) }
    }

    /// Returns the conditions that got a place and are monitored from now on.
    mutating func take() -> [Int] { use { $0.take($1) } }

    private mutating func use<Result: Sendable>(_ body: (inout ConditionLimit, Int) -> Result) -> Result {
        guard let shared else { return body(&own, number) }
        return shared.use(body)
    }
}
