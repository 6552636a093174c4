/// How one of a site's streams stands, as the servers say it (`$JS.API.STREAM.INFO`). What is not known is absent.
package struct StreamState: Sendable, Hashable {
    /// A server that has a copy beside the leader's.
    package struct Follower: Sendable, Hashable {
        /// As the server is called.
        package let name: String
        /// Whether it has all that the leader has.
        package let isCurrent: Bool
        /// Whether the leader has not heard of it for a while.
        package let isAway: Bool
        /// How many operations it is behind.
        package let lag: Int

        /// A server as the leader sees it.
        package init(name: String, isCurrent: Bool, isAway: Bool, lag: Int) {
            (self.name, self.isCurrent, self.isAway, self.lag) = (name, isCurrent, isAway, lag)
        }
    }

    /// Such as `hq-batches`.
    package let name: String
    /// How many are in it, and how many octets they take on a server's disk.
    package let messages: UInt64
    package let octets: UInt64
    /// Bounds of it; absent where there is none.
    package let octetsMax: Int?
    package let ageMax: Duration?
    /// Whether it refuses what is new when it is full; otherwise the oldest go.
    package let refusesNew: Bool
    /// On how many servers each message is to be.
    package let replicas: Int?
    /// Who leads it; absent while nobody does, and where there is one server alone.
    package let leader: String?
    /// The others that have it.
    package let followers: [Follower]
    /// Of the server that answered; only from 2.11 on they say it here.
    package let serverVersion: String?

    /// How many servers have all of it now, the leader with them; 1 of a server alone.
    package var copies: Int { 1 + followers.count { $0.isCurrent && !$0.isAway } }
}
