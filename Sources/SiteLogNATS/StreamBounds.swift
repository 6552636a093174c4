/// The limits of a site's streams, and their number of replicas.
///
/// If the stream of batches is full, further batches are refused (``SiteLogError/full(_:)``). Then new data wait in the
/// gateways' own queues, and nothing in the log is deleted early. Batches are only deleted by age.
package struct StreamBounds: Sendable, Hashable {
    /// The number of servers that store each message: 1, 3 or 5.
    package var replicas: Int
    /// The maximum size of all batches on a server's disk, in bytes; `nil` for as many as there is room for.
    package var batchBytesMax: Int?
    /// How long a batch is stored; `nil` for no limit.
    package var batchAgeMax: Duration?
    /// The maximum size of all snapshots on a server's disk, in bytes. If they exceed it, the oldest pieces are
    /// deleted.
    package var snapshotBytesMax: Int?

    /// Creates bounds that have only the servers' own limits.
    package init(replicas: Int) { self.replicas = replicas }
}
