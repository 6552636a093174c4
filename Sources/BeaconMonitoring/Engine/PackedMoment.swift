import BaseTypes

/// A moment in one word: a time on the engine's timeline, or a date if it is from before a restart of the machine.
///
/// Dates are stored as microseconds above `Int64.min`, so that they are less than any time on the timeline.
struct PackedMoment: Sendable {
    let word: Int64

    init(_ word: Int64) { self.word = word }

    /// Creates the word for a moment. A time after the present becomes the present.
    init(_ moment: PastMoment, at present: Int64) {
        switch moment {
        case .timeline(let instant): word = min(max(instant.nanoseconds, 0), present)
        case .date(let date): word = Int64.min + min(max(date.microseconds, 0), 9_000_000_000_000_000)
        }
    }

    /// The stored moment.
    var past: PastMoment {
        word < 0
            ? .date(WallDate(microseconds: word - Int64.min)) : .timeline(Instant(nanoseconds: word))
    }

    /// Returns the moment on the timeline, such that the current offset converts it to its original date.
    func instant(offset: ClockOffset) -> Instant {
        guard word < 0 else { return Instant(nanoseconds: word) }
        let (nanoseconds, overflow) = ((word - Int64.min) * 1000).subtractingReportingOverflow(offset.nanoseconds)
        return Instant(remembered: overflow ? .max : nanoseconds)
    }
}

extension PastMoment {
    /// Creates a moment from a time on the timeline. A time before the start of the timeline becomes a date.
    init(place nanoseconds: Int64, offset: ClockOffset) {
        self =
            nanoseconds < 0
            ? .date(WallDate(Instant(remembered: nanoseconds), offset: offset))
            : .timeline(Instant(nanoseconds: nanoseconds))
    }

    /// Returns the time on the timeline, which can be before its start; `Int64.max` if a date is out of range. The
    /// caller must limit it to the present before it adds a timeout.
    func nanoseconds(offset: ClockOffset) -> Int64 {
        switch self {
        case .timeline(let instant): return instant.nanoseconds
        case .date(let date):
            let (nanoseconds, overflow) = date.microseconds.multipliedReportingOverflow(by: 1000)
            let (place, overflowed) = nanoseconds.subtractingReportingOverflow(offset.nanoseconds)
            return overflow || overflowed
                ? .max : min(max(place, -4_000_000_000_000_000_000), 9_000_000_000_000_000_000)
        }
    }
}
