/// The number of beacons without names that may enter (rule P5). Times are nanoseconds.
struct NewBeaconTokens: Sendable {
    /// The interval in which one token is added.
    static let interval: Int64 = 2_000_000_000

    /// The maximum number of tokens; 0 means no limit.
    private let most: Int
    private let start: Int64
    private var left: Int
    /// The number of intervals that have passed since the start.
    private var returned: Int64 = 0

    init(most: Int, start: Int64) {
        self.most = most
        self.start = start
        left = most
    }

    /// Returns the number of tokens at `time`; `nil` if there is no limit.
    func left(at time: Int64) -> Int? {
        guard most > 0 else { return nil }
        var later = self
        return later.refill(at: time)
    }

    /// Takes a token.
    /// - Returns: whether there was one, or there is no limit.
    mutating func spend(at time: Int64) -> Bool {
        guard most > 0 else { return true }
        guard refill(at: time) > 0 else { return false }
        left -= 1
        return true
    }

    private mutating func refill(at time: Int64) -> Int {
        let returned = (time - start) / Self.interval
        left = Int(min(Int64(most), Int64(left) + (returned - self.returned)))
        self.returned = returned
        return left
    }
}
