import BaseTypes

/// A moment as the engine keeps it, in one word: a place on its timeline, or, where it was remembered over a restart of the
/// machine, a date.
///
/// Dates are microseconds counted from the smallest number there is, so that they are below any place.
struct KeptMoment: Sendable {
    let word: Int64

    init(_ word: Int64) { self.word = word }

    /// What is kept for a moment that is remembered; none lies behind the present.
    init(_ moment: PastMoment, at present: Int64) {
        switch moment {
        case .timeline(let instant): word = min(max(instant.nanoseconds, 0), present)
        case .date(let date): word = Int64.min + min(max(date.microseconds, 0), 9_000_000_000_000_000)
        }
    }

    /// The moment that was kept.
    var past: PastMoment {
        word < 0
            ? .date(WallDate(microseconds: word - Int64.min)) : .timeline(Instant(nanoseconds: word))
    }

    /// The moment on the timeline, where the present offset prints it as the date that it was.
    func instant(offset: ClockOffset) -> Instant {
        guard word < 0 else { return Instant(nanoseconds: word) }
        let (nanoseconds, overflow) = ((word - Int64.min) * 1000).subtractingReportingOverflow(offset.nanoseconds)
        return Instant(remembered: overflow ? .max : nanoseconds)
    }
}

extension PastMoment {
    /// A place on the timeline; one before its beginning is the date that it was.
    init(place nanoseconds: Int64, offset: ClockOffset) {
        self =
            nanoseconds < 0
            ? .date(WallDate(Instant(remembered: nanoseconds), offset: offset))
            : .timeline(Instant(nanoseconds: nanoseconds))
    }

    /// The same on the timeline, before its beginning where it was; far from the ends of what counts, so that a timeout can
    /// be added.
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
