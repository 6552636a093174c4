package import BaseTypes

/// The response of a site's log to a valid request.
package enum LogResponse: Sendable, Hashable {
    /// A quorum has stored the batch at this offset. If `isRepeat` is true, it was stored before, and was not stored
    /// again.
    case appended(offset: UInt64, isRepeat: Bool)
    /// Batches as stored in the log.
    case batches(LogPage)
    /// The state of the lease.
    case lease(LeaseState)
    /// The piece of the snapshot is stored.
    case stored
    /// The complete snapshot that was finished last; `nil` if there is none.
    case snapshot(SnapshotHead?)
    /// A piece of a snapshot; `nil` if the snapshot was deleted.
    case piece([UInt8]?)
    /// The value under the key; `nil` if there is none.
    case value(StoredValue?)
    /// The value is stored. Its revision is greater than all earlier ones.
    case written(revision: UInt64)
    /// The stored value is not the expected one, and was not changed. The revision is that of the stored value, 0 if
    /// there is none.
    case differs(revision: UInt64)
    /// A description of the log's server.
    case engine(LogEngine)
}

/// A range of batches, and the range of the whole log.
package struct LogPage: Sendable, Hashable {
    /// The batches in the order of their numbers. Numbers are consecutive, except for batches that the log has deleted.
    package let entries: [LogEntry]
    /// The number of the oldest batch in the log, or `last + 1` if it is empty. If it is greater than the requested
    /// number, the batches in between were deleted.
    package let first: UInt64
    /// The number of the newest batch; 0 if there never was a batch.
    package let last: UInt64

    /// Creates a page of a log that has the batches `first` to `last`.
    package init(entries: [LogEntry], first: UInt64, last: UInt64) {
        self.entries = entries
        self.first = first
        self.last = last
    }
}

/// A batch as stored in a log.
package struct LogEntry: Sendable, Hashable {
    /// The batch's offset: 1 for the first batch that was ever stored.
    package let number: UInt64
    /// The time when the log accepted the batch, in nanoseconds since 1970, by the clock of the accepting machine. In a
    /// cluster each machine has its own clock, so the time can go back by as much as the clocks differ.
    package let stored: Instant
    /// The bytes that were appended.
    package let bytes: [UInt8]

    /// Creates the entry of a number.
    package init(number: UInt64, stored: Instant, bytes: [UInt8]) {
        self.number = number
        self.stored = stored
        self.bytes = bytes
    }
}

/// A small value, with its revision.
package struct StoredValue: Sendable, Hashable {
    /// The bytes that were written.
    package let bytes: [UInt8]
    /// The revision of the value. It grows with each value that is written.
    package let revision: UInt64

    /// Creates a value as it was read.
    package init(bytes: [UInt8], revision: UInt64) {
        self.bytes = bytes
        self.revision = revision
    }
}

/// A description of the server that stores a log. Unknown properties are `nil`.
package struct LogEngine: Sendable, Hashable {
    /// The name and version, such as `nats-server 2.11.4`, or `memory`.
    package var name: String
    /// The number of machines that store each batch.
    package var replicas: Int?
    /// The present and the maximum size of the log of batches, in bytes.
    package var bytes: UInt64?
    package var bytesMax: UInt64?

    /// Creates a description of which only the name is known.
    package init(name: String) { self.name = name }
}
