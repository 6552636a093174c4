/// The state of one of a site's streams, as the servers report it (`$JS.API.STREAM.INFO`). Unknown values are `nil`.
package struct StreamState: Sendable, Hashable {
    /// A server that has a copy of the stream, other than the leader.
    package struct Follower: Sendable, Hashable {
        /// The name of the server.
        package let name: String
        /// Whether the server has everything that the leader has.
        package let isCurrent: Bool
        /// Whether the leader has received nothing from the server for a while.
        package let isAway: Bool
        /// The number of operations by which the server lags.
        package let lag: Int

        /// Creates a follower, as the leader sees it.
        package init(name: String, isCurrent: Bool, isAway: Bool, lag: Int) {
            (self.name, self.isCurrent, self.isAway, self.lag) = (name, isCurrent, isAway, lag)
        }
    }

    /// The name of the stream, such as `hq-batches`.
    package let name: String
    /// The number of messages, and their size on a server's disk in bytes.
    package let messages: UInt64
    package let bytes: UInt64
    /// The maximum size in bytes and the maximum age; `nil` if there is no limit.
    package let bytesMax: Int?
    package let ageMax: Duration?
    /// Whether a full stream refuses new messages. Otherwise the oldest ones are deleted.
    package let refusesNew: Bool
    /// The number of servers that should store each message.
    package let replicas: Int?
    /// The name of the leader; `nil` if there is none, and if there is only one server.
    package let leader: String?
    /// The other servers that have the stream.
    package let followers: [Follower]
    /// The version of the server that answered. Servers report it here since 2.11.
    package let serverVersion: String?

    /// The number of servers that have the whole stream now, including the leader; 1 for a single server.
    package var copies: Int { 1 + followers.count { $0.isCurrent && !$0.isAway } }
}
