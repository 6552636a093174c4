import BaseTypes

/// What the dates of lines, which are cut to microseconds, leave out: nanoseconds of the timeline, by which a decoded value
/// is the one that was encoded. Lines of a gateway have none of it; what is read of them has their dates.
struct ExactTimes: Codable {
    var time: Int64
    var offset: Int64
    /// The others of a value, by their keys.
    var others: [String: Int64] = [:]

    init(_ time: Instant, _ offset: ClockOffset) {
        self.time = time.nanoseconds
        self.offset = offset.nanoseconds
    }

    /// When, and how far the wall clock was ahead: of a line, where there is no more than that.
    static func read(
        _ exact: ExactTimes?, date: WallDate, monotonic: Int64
    ) -> (time: Instant, offset: ClockOffset) {
        if let exact { return (Instant(remembered: exact.time), ClockOffset(nanoseconds: exact.offset)) }
        let time = Instant(remembered: monotonic.clampedProduct(1000))
        return (time, ClockOffset(nanoseconds: date.nanoseconds &- time.nanoseconds))
    }

    /// Another instant of a value: exact where that is known, else by its date.
    static func read(_ exact: ExactTimes?, _ key: String, date: WallDate?, offset: ClockOffset) -> Instant? {
        if let exact { return exact.others[key].map { Instant(remembered: $0) } }
        return date.map { Instant(remembered: $0.nanoseconds.clampedDifference(offset.nanoseconds)) }
    }
}

extension WallDate {
    /// Nanoseconds since 1970, as far as they go.
    fileprivate var nanoseconds: Int64 { microseconds.clampedProduct(1000) }
}

extension Int64 {
    /// What is read may be anything; it is never multiplied beyond what an integer holds.
    fileprivate func clampedProduct(_ factor: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? (self < 0 ? .min : .max) : product
    }

    fileprivate func clampedDifference(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (self < 0 ? .min : .max) : difference
    }
}
