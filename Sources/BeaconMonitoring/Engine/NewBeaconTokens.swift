/// How many beacons without a name may enter (rule P5). Times are nanoseconds.
struct NewBeaconTokens: Sendable {
    /// How often one comes back.
    static let interval: Int64 = 2_000_000_000

    /// The most there are; 0: any number.
    private let most: Int
    private let start: Int64
    private var left: Int
    /// How many times one has come back, or could have.
    private var returned: Int64 = 0

    init(most: Int, start: Int64) {
        self.most = most
        self.start = start
        left = most
    }

    /// How many beacons could enter at `time`; absent where any number can.
    func left(at time: Int64) -> Int? {
        guard most > 0 else { return nil }
        var later = self
        return later.refill(at: time)
    }

    /// Spends one, where there is one.
    /// - Returns: whether there was.
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
