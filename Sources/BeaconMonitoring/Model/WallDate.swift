public import BaseTypes

/// A wall-clock date, in whole microseconds since 1970-01-01T00:00:00Z.
///
/// Only ever printed: nothing is decided by it (rule T1).
public struct WallDate: Sendable, Hashable, Comparable {
    /// Microseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
    public let microseconds: Int64

    /// A date that many microseconds after 1970-01-01 00:00:00 UTC; before it where negative.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// The date of `instant` where the wall clock is `offset` ahead of the timeline, cut to microseconds.
    @inlinable public init(_ instant: Instant, offset: ClockOffset) {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(offset.nanoseconds)
        let nanoseconds = overflow ? .max : sum
        microseconds = nanoseconds / 1000 - (nanoseconds % 1000 < 0 ? 1 : 0)
    }

    /// The earlier date.
    public static func < (left: WallDate, right: WallDate) -> Bool { left.microseconds < right.microseconds }
}

/// How far the wall clock is ahead of the timeline, in nanoseconds (rule T1).
public struct ClockOffset: Sendable, Hashable {
    /// Wall clock minus timeline, in nanoseconds.
    public let nanoseconds: Int64
    /// An offset of that many nanoseconds, by which the wall clock is ahead of the timeline.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    /// The timeline is the wall clock, as in a replay.
    public static let zero = ClockOffset(nanoseconds: 0)
}

extension Instant {
    /// The instant of a date where the wall clock is `offset` ahead of the timeline, within the bounds of
    /// `init(remembered:)`.
    package init(remembered date: WallDate, offset: ClockOffset) {
        let (nanoseconds, overflow) = date.microseconds.multipliedReportingOverflow(by: 1000)
        self.init(remembered: overflow ? .max : nanoseconds &- offset.nanoseconds)
    }
}

extension WallDate: LosslessStringConvertible {
    /// The date as RFC 3339 has it, in UTC with microseconds, as lines do: `2026-11-21T07:46:27.123456Z`.
    ///
    /// Years have four digits: what lies outside of 0000 … 9999 is written as far as they go.
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

    /// The date that a text spells as RFC 3339 has it, in UTC: `2026-11-21T07:46:27Z`, with any number of decimals, of
    /// which six count. The result is `nil` if `text` is anything else, or if there is no such day (`2026-09-31`). Second 60
    /// is the first of the next minute, at the end of a month only (a leap second, RFC 3339 §5.7).
    public init?(_ text: String) {
        let octets = Array(text.utf8)
        func number(_ start: Int, _ count: Int) -> Int? {
            var number = 0
            for octet in octets[start..<start + count] {
                guard (0x30...0x39).contains(octet) else { return nil }
                number = number * 10 + Int(octet - 0x30)
            }
            return number
        }
        guard octets.count >= 20, octets.last.map({ $0 | 0x20 }) == UInt8(ascii: "z"),
            octets[4] == UInt8(ascii: "-"), octets[7] == UInt8(ascii: "-"), octets[10] | 0x20 == UInt8(ascii: "t"),
            octets[13] == UInt8(ascii: ":"), octets[16] == UInt8(ascii: ":"),
            let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
            let minute = number(14, 2), let second = number(17, 2), hour < 24, minute < 60,
            second < 61, let days = CivilDate.existingDay(year: year, month: month, day: day)
        else { return nil }
        var fraction = 0
        if octets.count > 20 {
            guard octets.count > 21, octets[19] == UInt8(ascii: ".") else { return nil }
            for place in 20..<octets.count - 1 {
                guard let digit = number(place, 1) else { return nil }
                if place < 26 { fraction = fraction * 10 + digit }
            }
            for _ in min(octets.count - 1, 26)..<26 { fraction *= 10 }
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
