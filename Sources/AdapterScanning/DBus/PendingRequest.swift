/// The one request to an adapter that is under way, if there is one, told from all that were before it.
struct PendingRequest {
    // 0 where none is.
    private var token: UInt64 = 0
    private var lastToken: UInt64

    /// Nothing is under way.
    ///
    /// - Parameter generation: another one for each adapter that is made, so that an answer to what an earlier one asked is
    ///   told apart; below 2³².
    init(generation: UInt64) { lastToken = generation << 32 }

    /// A request is made: what its answer will carry.
    mutating func next() -> UInt64 {
        lastToken &+= 1
        token = lastToken
        return token
    }

    /// An answer came; whether it is the one that is waited for, which nothing is then.
    mutating func isAnswered(by token: UInt64) -> Bool {
        guard token == self.token, token != 0 else { return false }
        self.token = 0
        return true
    }

    /// What it says is not wanted any more.
    mutating func drop() { token = 0 }
}
