package import BaseTypes

/// What a site's log says to a request that it understood.
package enum LogResponse: Sendable, Hashable {
    /// The batch is stored on a quorum, there; `isRepeat` where it was before, and was not stored again.
    case appended(offset: UInt64, isRepeat: Bool)
    /// Batches as they stand in the log.
    case batches(LogPage)
    /// How it stands with the lease.
    case lease(LeaseState)
    /// The piece of the snapshot is stored.
    case stored
    /// The whole snapshot that was finished last; absent where there is none.
    case snapshot(SnapshotHead?)
    /// A piece; absent where its snapshot has gone.
    case piece([UInt8]?)
    /// What stands under the key; absent where nothing does.
    case value(StoredValue?)
    /// The value is stored, and this is its revision, greater than any before.
    case written(revision: UInt64)
    /// Another value than the expected one is there, and was left as it is: its revision, 0 where there is none.
    case differs(revision: UInt64)
    /// What keeps the log.
    case engine(LogEngine)
}

/// A piece of a log, and how far it goes.
package struct LogPage: Sendable, Hashable {
    /// In the order of their numbers, without gap but for what the log has thrown away.
    package let entries: [LogEntry]
    /// The number of the oldest that is still kept; `last + 1` where nothing is. Where it is greater than what was asked for,
    /// what lay between has gone.
    package let first: UInt64
    /// The number of the newest; 0 where there never was any.
    package let last: UInt64

    /// Some of a log that reaches from `first` to `last`.
    package init(entries: [LogEntry], first: UInt64, last: UInt64) {
        self.entries = entries
        self.first = first
        self.last = last
    }
}

/// A batch as it stands in a log.
package struct LogEntry: Sendable, Hashable {
    /// The batch's offset: 1 for the first that was ever stored.
    package let number: UInt64
    /// When the log took it, nanoseconds since 1970 by the clock of the machine that did. Of a cluster each machine has its
    /// own: it may go back by as much as they differ.
    package let stored: Instant
    /// As they were appended.
    package let octets: [UInt8]

    /// What stands at a number.
    package init(number: UInt64, stored: Instant, octets: [UInt8]) {
        self.number = number
        self.stored = stored
        self.octets = octets
    }
}

/// A small value, and which one it is.
package struct StoredValue: Sendable, Hashable {
    /// As they were written.
    package let octets: [UInt8]
    /// Grows with each that is written.
    package let revision: UInt64

    /// A value as it was found.
    package init(octets: [UInt8], revision: UInt64) {
        self.octets = octets
        self.revision = revision
    }
}

/// What keeps a log, as far as it can be seen from here. What is not known is absent.
package struct LogEngine: Sendable, Hashable {
    /// Such as `nats-server 2.11.4`, or `memory`.
    package var name: String
    /// How many machines have each batch.
    package var replicas: Int?
    /// How many octets the log of batches has, and may have.
    package var octets: UInt64?
    package var octetsMax: UInt64?

    /// One of which nothing but its name is known.
    package init(name: String) { self.name = name }
}
