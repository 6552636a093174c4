import BaseTypes
import Captures
import HeapModule

/// Delays the records of one capture and returns them in the order of their times.
struct ReorderBuffer {
    /// A record with a copy of its payload in `bytes`.
    struct Held: Comparable {
        let record: CaptureRecord
        let time: Instant
        let number: Int
        let bytes: [UInt8]

        static func < (left: Held, right: Held) -> Bool {
            left.time != right.time ? left.time < right.time : left.number < right.number
        }

        static func == (left: Held, right: Held) -> Bool { left.number == right.number }
    }

    /// The maximum number of delayed records. If there are more, the earliest is returned early and counted.
    static let recordsMax = 1_000_000

    private let delay: Duration
    private var held = Heap<Held>()
    private var latest = Instant.earliest
    private var count = 0
    private(set) var releasedEarly = 0

    init(delay: Duration) { self.delay = delay }

    mutating func insert(_ record: CaptureRecord, at time: Instant, payload: ArraySlice<UInt8>) {
        count += 1
        latest = max(latest, time)
        var kept = record
        kept.payload = 0..<payload.count
        held.insert(Held(record: kept, time: time, number: count, bytes: Array(payload)))
    }

    /// Returns the earliest record if it was delayed long enough, if the capture has ended, or if there are too many
    /// records.
    mutating func next(hasEnded: Bool) -> Held? {
        guard let first = held.min else { return nil }
        if hasEnded || first.time <= latest - delay { return held.popMin() }
        guard held.count > Self.recordsMax else { return nil }
        releasedEarly += 1
        return held.popMin()
    }
}
