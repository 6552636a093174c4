public import BaseTypes

/// A date of the wall clock, in whole microseconds since 1970-01-01T00:00:00Z.
///
/// Dates are only printed. No decision depends on them (rule T1).
public struct WallDate: Sendable, Hashable, Comparable {
    /// Microseconds since 1970-01-01T00:00:00Z, without leap seconds.
    public let microseconds: Int64

    /// Creates a date from microseconds since 1970-01-01T00:00:00Z, which can be negative.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// Creates the date of `instant`, cut to microseconds. `offset` is how far the wall clock is ahead of the timeline.
    @inlinable public init(_ instant: Instant, offset: ClockOffset) {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(offset.nanoseconds)
        let nanoseconds = overflow ? .max : sum
        microseconds = nanoseconds / 1000 - (nanoseconds % 1000 < 0 ? 1 : 0)
    }

    /// Returns whether `left` is earlier than `right`.
    public static func < (left: WallDate, right: WallDate) -> Bool { left.microseconds < right.microseconds }
}

/// How far the wall clock is ahead of the timeline, in nanoseconds (rule T1).
public struct ClockOffset: Sendable, Hashable {
    /// The time of the wall clock minus the time on the timeline, in nanoseconds.
    public let nanoseconds: Int64
    /// Creates an offset; positive if the wall clock is ahead of the timeline.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    /// The offset in a replay, where the timeline is the wall clock.
    public static let zero = ClockOffset(nanoseconds: 0)
}

extension Instant {
    /// Creates the instant of a date, within the bounds of `init(remembered:)`. `offset` is how far the wall clock is
    /// ahead of the timeline.
    package init(remembered date: WallDate, offset: ClockOffset) {
        let (nanoseconds, overflow) = date.microseconds.multipliedReportingOverflow(by: 1000)
        self.init(remembered: overflow ? .max : nanoseconds &- offset.nanoseconds)
    }
}

extension WallDate: LosslessStringConvertible {
    /// The date in the form of RFC 3339, in UTC with microseconds: `2026-11-21T07:46:27.123456Z`.
    ///
    /// Years have at least four digits. A year outside 0000 … 9999 does not conform to RFC 3339: later years have more
    /// digits, and earlier ones have a sign among their digits.
    public var description: String {
        let second = microseconds.flooredQuotient(by: 1_000_000)
        let day = second.flooredQuotient(by: 86_400)
        let date = CivilDate(day: Int(day))
        let rest = Int(second - day * 86_400)
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
        }
        let fraction = digits(Int(microseconds - second * 1_000_000), 6)
        let time = [rest / 3600, rest / 60 % 60, rest % 60].map { digits($0, 2) }.joined(separator: ":")
        return "\(digits(date.year, 4))-\(digits(date.month, 2))-\(digits(date.day, 2))T\(time).\(fraction)Z"
    }

    /// Creates a date from a text in the form of RFC 3339, in UTC: `2026-11-21T07:46:27Z`, with any number of decimals,
    /// of which six count. Returns `nil` for any other text, and if there is no such day (`2026-09-31`). Second 60 is
    /// accepted only at the end of a month and counts as the first second of the next minute (a leap second, RFC 3339
    /// §5.7).
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        func number(_ start: Int, _ count: Int) -> Int? {
            var number = 0
            for byte in bytes[start..<start + count] {
                guard (0x30...0x39).contains(byte) else { return nil }
                number = number * 10 + Int(byte - 0x30)
            }
            return number
        }
        guard bytes.count >= 20, bytes.last.map({ $0 | 0x20 }) == UInt8(ascii: "z"),
            bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[10] | 0x20 == UInt8(ascii: "t"),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
            let minute = number(14, 2), let second = number(17, 2), hour < 24, minute < 60,
            second < 61, let days = CivilDate.existingDay(year: year, month: month, day: day)
        else { return nil }
        var fraction = 0
        if bytes.count > 20 {
            guard bytes.count > 21, bytes[19] == UInt8(ascii: ".") else { return nil }
            for place in 20..<bytes.count - 1 {
                guard let digit = number(place, 1) else { return nil }
                if place < 26 { fraction = fraction * 10 + digit }
            }
            for _ in min(bytes.count - 1, 26)..<26 { fraction *= 10 }
        }
        let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
        guard second < 60 || CivilDate.canFollowLeapSecond(seconds) else { return nil }
        self.init(microseconds: Int64(seconds) * 1_000_000 + Int64(fraction))
    }
}

extension Int64 {
    fileprivate func flooredQuotient(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
