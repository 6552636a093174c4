import BaseTypes
import BluetoothLE

/// A part of a capture: its reports, and the changes of adapters between them.
struct CaptureChunk: Sendable {
    /// The changes between reports.
    enum Change: Sendable {
        /// The capture has a new adapter, or another controller has the name. Its first record is at `time`.
        case added(ReplayAdapter, at: Instant)
        /// An adapter starts or stops scanning. If the capture recorded this later than it happened, `since` is the
        /// time at which it happened.
        case listening(Bool, index: Int, at: Instant, since: Instant?)
    }

    /// The reports, with the indices of their adapters in the capture.
    var entries: ContiguousArray<FrameBatch.Entry> = []
    /// The changes, each with the index of the report that follows it.
    var changes: [(index: Int, change: Change)] = []
    /// The latest time of its records.
    var end: Instant
}
