/// A request to a site's log. The comment of each request names its response if there is no error.
package enum LogRequest: Sendable, Hashable {
    // MARK: Batches

    /// Stores a gateway's batch; ``LogResponse/appended(offset:isRepeat:)`` after a quorum has stored it.
    ///
    /// A batch with a key that was stored within ``LogLimits/repeatWindow`` is not stored again. If it is repeated
    /// later, it is stored again, so readers must recognize it by its content.
    case append(BatchKey, [UInt8])
    /// Reads batches in their order; ``LogResponse/batches(_:)``.
    case readBatches(LogRange)

    // MARK: The lease

    /// Acquires the lease; ``LogResponse/lease(_:)``. If the process already holds the lease, it acquires it again. It
    /// should do this after a request without an answer. A name must belong to one start of one process.
    case acquireLease(LogName)
    /// Extends the lease to ``LogLimits/leaseTime`` from now; ``LogResponse/lease(_:)``.
    case renewLease(Lease)
    /// Releases the lease if its revision is still the latest; ``LogResponse/lease(_:)`` with `free`, or with `heldBy`
    /// if a process still holds it.
    case releaseLease(Lease)
    /// Reads the state of the lease; ``LogResponse/lease(_:)`` with `free` or `heldBy`.
    case readLease

    // MARK: Snapshots

    /// Stores a piece of a snapshot; ``LogResponse/stored``. The last piece completes the snapshot. An incomplete
    /// snapshot is never read. Pieces must be sent in their order, each after the answer to the previous one. The log
    /// keeps the last two complete snapshots.
    case writeSnapshot(SnapshotPiece)
    /// Reads the head (name and number of pieces) of the complete snapshot that was finished last;
    /// ``LogResponse/snapshot(_:)``.
    case latestSnapshot
    /// Reads a piece of a complete snapshot; ``LogResponse/piece(_:)``, with `nil` if newer snapshots have replaced it.
    case readSnapshot(SnapshotName, index: Int)

    // MARK: Small values

    /// Stores a value under a key; ``LogResponse/written(revision:)``. The response is
    /// ``LogResponse/differs(revision:)`` if the stored revision is not `over`. If `over` is 0, the key must not have a
    /// value yet; if it is `nil`, any value is replaced.
    case writeValue(LogName, [UInt8], over: UInt64?)
    /// Reads the value under a key; ``LogResponse/value(_:)``.
    case readValue(LogName)

    // MARK: The log itself

    /// Reads a description of the log's server, for operators; ``LogResponse/engine(_:)``.
    case describe
}

/// A range of batches to read.
package struct LogRange: Sendable, Hashable {
    /// The number of the first batch to read, from 1.
    package var from: UInt64
    /// The maximum number of batches; at least 1.
    package var countMax: Int
    /// The maximum size of all batches together, in bytes. The first batch is returned even if it is larger.
    package var bytesMax: Int
    /// How long the answer can wait for the first batch; ``Duration/zero`` means not at all. An answer without batches
    /// then means that there are none.
    package var patience: Duration

    /// Creates a range that starts at a number.
    package init(from: UInt64, countMax: Int = 256, bytesMax: Int = 4 << 20, patience: Duration = .zero) {
        self.from = max(from, 1)
        self.countMax = max(countMax, 1)
        self.bytesMax = max(bytesMax, 0)
        self.patience = max(patience, .zero)
    }
}

extension LogRequest {
    /// Returns how long the request can wait for new batches.
    package func patience(_ limits: LogLimits) -> Duration {
        switch self {
        case .readBatches(let range): min(range.patience, limits.patienceMax)
        default: .zero
        }
    }
}
