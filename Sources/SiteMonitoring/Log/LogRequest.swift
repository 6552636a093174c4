/// What can be asked of a site's log. Behind each stands the response that it gets where nothing is the matter.
package enum LogRequest: Sendable, Hashable {
    // MARK: Batches

    /// Stores a gateway's batch; ``LogResponse/appended(offset:isRepeat:)`` once a quorum has it.
    ///
    /// One with a key that was stored within ``LogLimits/repeatWindow`` is not stored again. One that is repeated later is;
    /// readers have to know it by what stands in it.
    case append(BatchKey, [UInt8])
    /// Reads batches in their order; ``LogResponse/batches(_:)``.
    case readBatches(LogRange)

    // MARK: The lease

    /// Wants the lease; ``LogResponse/lease(_:)``. Who holds it already has it anew, which is what to do after a
    /// request that was not answered. A name is to belong to one start of one process.
    case acquireLease(LogName)
    /// Keeps the lease for ``LogLimits/leaseTime`` from now on; ``LogResponse/lease(_:)``.
    case renewLease(Lease)
    /// Gives the lease back, where it still has it; ``LogResponse/lease(_:)``, `free` or somebody else's.
    case releaseLease(Lease)
    /// Asks who has the lease; ``LogResponse/lease(_:)``, `free` or `heldBy`.
    case readLease

    // MARK: Snapshots

    /// Stores a piece of a snapshot; ``LogResponse/stored``. The last piece makes it whole: one that is not is never read.
    /// Pieces are sent in their order, each after the one before it was answered. Of whole ones the last two are kept.
    case writeSnapshot(SnapshotPiece)
    /// Asks for the whole snapshot that was finished last; ``LogResponse/snapshot(_:)``.
    case latestSnapshot
    /// Reads a piece of a whole snapshot; ``LogResponse/piece(_:)``, absent where it has gone for newer ones.
    case readSnapshot(SnapshotName, index: Int)

    // MARK: Small values

    /// Stores a value under a key; ``LogResponse/written(revision:)``, or ``LogResponse/differs(revision:)`` where another
    /// revision than `over` is there. 0 expects none to be there, `nil` takes what is there.
    case writeValue(LogName, [UInt8], over: UInt64?)
    /// Reads the value under a key; ``LogResponse/value(_:)``.
    case readValue(LogName)

    // MARK: The log itself

    /// Asks what keeps the log, for operators; ``LogResponse/engine(_:)``.
    case describe
}

/// Which batches are wanted.
package struct LogRange: Sendable, Hashable {
    /// The first number that is wanted; 1 is the first that there ever is.
    package var from: UInt64
    /// How many at most; at least 1.
    package var countMax: Int
    /// How many octets at most, together; the first one comes even if it is bigger.
    package var octetsMax: Int
    /// How long the answer may wait for the first of them, ``Duration/zero`` for not at all. An answer without any then says
    /// that there are none.
    package var patience: Duration

    /// Those from a number on.
    package init(from: UInt64, countMax: Int = 256, octetsMax: Int = 4 << 20, patience: Duration = .zero) {
        self.from = max(from, 1)
        self.countMax = max(countMax, 1)
        self.octetsMax = max(octetsMax, 0)
        self.patience = max(patience, .zero)
    }
}

extension LogRequest {
    /// How long it may wait for what is to come.
    package func patience(_ limits: LogLimits) -> Duration {
        switch self {
        case .readBatches(let range): min(range.patience, limits.patienceMax)
        default: .zero
        }
    }
}
