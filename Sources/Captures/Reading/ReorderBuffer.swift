package import BaseTypes
import HeapModule

/// Delays the records of one capture and returns them in the order of their times.
package struct ReorderBuffer {
    /// A record with a copy of its payload in `bytes`.
    package struct Held: Comparable {
        package let record: CaptureRecord
        package let time: Instant
        fileprivate let number: Int
        package let bytes: [UInt8]

        package static func < (left: Held, right: Held) -> Bool {
            left.time != right.time ? left.time < right.time : left.number < right.number
        }

        package static func == (left: Held, right: Held) -> Bool { left.number == right.number }
    }

    /// The maximum number of delayed records. If there are more, the earliest is returned early and counted.
    package static let recordsMax = 1_000_000

    private let delay: Duration
    private var held = Heap<Held>()
    private var latest = Instant.earliest
    private var count = 0
    package private(set) var releasedEarly = 0

    package init(delay: Duration) { self.delay = delay }

    package mutating func insert(_ record: CaptureRecord, at time: Instant, payload: ArraySlice<UInt8>) {
        count += 1
        latest = max(latest, time)
        var kept = record
        kept.payload = 0..<payload.count
        held.insert(Held(record: kept, time: time, number: count, bytes: Array(payload)))
    }

    /// Returns the earliest record if it was delayed long enough, if the capture has ended, or if there are too many
    /// records.
    package mutating func next(hasEnded: Bool) -> Held? {
        guard let first = held.min else { return nil }
        if hasEnded || first.time <= latest - delay { return held.popMin() }
        guard held.count > Self.recordsMax else { return nil }
        releasedEarly += 1
        return held.popMin()
    }
}
