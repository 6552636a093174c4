/// Identifies the one pending request to an adapter, so that answers to earlier requests are ignored.
struct PendingRequest {
    // 0 if no request is pending.
    private var token: UInt64 = 0
    private var lastToken: UInt64

    /// Creates a value without a pending request.
    ///
    /// - Parameter generation: a different number for each adapter that is created, below 2³², so that answers to
    ///   requests of an earlier adapter are recognized.
    init(generation: UInt64) { lastToken = generation << 32 }

    /// Starts a request and returns the token that its answer must carry.
    mutating func next() -> UInt64 {
        lastToken &+= 1
        token = lastToken
        return token
    }

    /// Returns whether an answer belongs to the pending request. If so, no request is pending afterwards.
    mutating func isAnswered(by token: UInt64) -> Bool {
        guard token == self.token, token != 0 else { return false }
        self.token = 0
        return true
    }

    /// Ignores the answer to the pending request.
    mutating func drop() { token = 0 }
}
