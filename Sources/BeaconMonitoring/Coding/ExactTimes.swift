import BaseTypes

/// The times of a value in nanoseconds, so that decoding restores them exactly.
///
/// The dates of lines are cut to microseconds. Lines of a gateway do not have exact times; values decoded from them
/// have the precision of their dates.
struct ExactTimes: Codable {
    var time: Int64
    var offset: Int64
    /// Further times of the value, by their keys.
    var others: [String: Int64] = [:]

    init(_ time: Instant, _ offset: ClockOffset) {
        self.time = time.nanoseconds
        self.offset = offset.nanoseconds
    }

    /// Returns the time of a value and the offset of the wall clock: the exact ones if present, otherwise those of the
    /// line.
    static func read(
        _ exact: ExactTimes?, date: WallDate, monotonic: Int64
    ) -> (time: Instant, offset: ClockOffset) {
        if let exact { return (Instant(remembered: exact.time), ClockOffset(nanoseconds: exact.offset)) }
        let time = Instant(remembered: monotonic.clampedProduct(1000))
        return (time, ClockOffset(nanoseconds: date.nanoseconds &- time.nanoseconds))
    }

    /// Returns a further time of a value. With exact times it is the one of the key, or `nil` if there is none; without
    /// them, it is the time of the date.
    static func read(_ exact: ExactTimes?, _ key: String, date: WallDate?, offset: ClockOffset) -> Instant? {
        if let exact { return exact.others[key].map { Instant(remembered: $0) } }
        return date.map { Instant(remembered: $0.nanoseconds.clampedDifference(offset.nanoseconds)) }
    }
}

extension WallDate {
    /// Nanoseconds since 1970. A value beyond the range of `Int64` becomes the nearest bound.
    fileprivate var nanoseconds: Int64 { microseconds.clampedProduct(1000) }
}

extension Int64 {
    /// Decoded numbers can have any value, so a product or difference that overflows becomes the nearest bound of
    /// `Int64`.
    fileprivate func clampedProduct(_ factor: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? (self < 0 ? .min : .max) : product
    }

    fileprivate func clampedDifference(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (self < 0 ? .min : .max) : difference
    }
}
