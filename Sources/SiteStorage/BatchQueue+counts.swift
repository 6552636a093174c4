package import BaseTypes
import SiteMonitoring

extension BatchQueue {
    /// How a gateway's batches are sent.
    package struct Settings: Sendable, Hashable {
        /// How long a batch may wait for its acknowledgement in memory alone.
        package var keepAfter = Duration.seconds(10)
        /// How many octets may wait, in memory and on the disk: `queue_size`.
        package var octetsMax = 64 << 20
        /// How many of them in memory: what is more goes to the disk at once, and where that takes none, the oldest go.
        package var memoryOctetsMax = 8 << 20
        /// How big a file becomes before there is a next one. One goes when nothing in it is wanted.
        package var fileOctetsMax = 1 << 20
        /// How many batches are sent before the first of them is acknowledged.
        package var sentMax = 32

        /// Those that a gateway has.
        package init() {}
    }

    /// What a queue counts, from its start on.
    package struct Counts: Sendable, Hashable {
        /// Batches that the log has acknowledged.
        package var acknowledged: UInt64 = 0
        /// Batches that were sent again: no answer came, or none that said that they are there.
        package var repeated: UInt64 = 0
        /// Batches that went unsent, the oldest first, since more waited than may: the gap in their numbers shows it.
        package var dropped: UInt64 = 0
        /// Batches that the log will never take: they are too big, or another site's or gateway's.
        package var refused: UInt64 = 0
        /// Batches that were on the disk and could not be read; and files that ended in something that is no batch.
        package var damaged: UInt64 = 0
        /// Batches that were put on the disk.
        package var kept: UInt64 = 0

        /// All at 0.
        package init() {}
    }

    /// The number that a process's first batch gets: the milliseconds since the machine's start.
    ///
    /// No process sends a thousand batches a second for its whole time, so the one after it begins behind its last, and
    /// nothing has to be written down for that.
    package static func firstSequence(at now: Instant) -> UInt64 { UInt64(max(now.nanoseconds, 0)) / 1_000_000 + 1 }
}
