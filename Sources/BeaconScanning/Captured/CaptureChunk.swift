import BaseTypes
import BluetoothLE

/// A piece of a recording, as a monitor takes it: what was heard, and what is told between.
struct CaptureChunk: Sendable {
    /// What is told between reports.
    enum News: Sendable {
        /// The recording has a new adapter, or its name another controller; the first record of it is at `time`.
        case met(ReplayAdapter, at: Instant)
        /// It says that an adapter listens, or does not; where that was learnt of late, `since` when.
        case listening(Bool, index: Int, at: Instant, since: Instant?)
    }

    /// The reports, with the indices of their adapters.
    var entries: ContiguousArray<FrameBatch.Entry> = []
    /// What is told between them, each before the report at its index.
    var news: [(index: Int, news: News)] = []
    /// The latest time of its records.
    var end: Instant
}
