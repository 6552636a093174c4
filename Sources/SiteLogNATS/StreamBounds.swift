/// How much a site's streams keep, and on how many servers.
///
/// Batches are refused when their stream is full (``LogTrouble/full(_:)``): what gateways heard waits in their own queues
/// then, and nothing that is in the log goes before its time. Batches go by their age.
package struct StreamBounds: Sendable, Hashable {
    /// On how many servers each message is; 1, 3 or 5.
    package var replicas: Int
    /// Of batches, octets on a server's disk; absent for as many as there is room for.
    package var batchOctetsMax: Int?
    /// How long a batch is kept; absent for ever.
    package var batchAgeMax: Duration?
    /// Of snapshots, octets on a server's disk; when there are more, the oldest pieces go.
    package var snapshotOctetsMax: Int?

    /// Without any bound but the servers' own.
    package init(replicas: Int) { self.replicas = replicas }
}
