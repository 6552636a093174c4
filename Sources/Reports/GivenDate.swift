import BaseTypes
package import BeaconMonitoring
package import CommandSupport

/// A date or period that a person gave, and the instants that it means.
package struct GivenDate: Sendable, Hashable {
    /// The instant that is taken if clocks show the date twice.
    package enum Occurrence: Sendable, Hashable {
        case first
        case second
    }

    /// An error in a date; its description has the expected form.
    package enum Invalid: Error, Hashable, CustomStringConvertible {
        /// The text does not have any of the forms.
        case malformed
        /// The year is not within 1970…2200.
        case yearOutOfRange
        /// The month is not within 01…12.
        case noSuchMonth
        /// The day does not exist: the month, `2026-09`, has only this number of days.
        case noSuchDay(month: String, days: Int)
        /// The time of day does not exist.
        case noSuchTime
        /// The offset does not exist.
        case noSuchOffset
        /// The clocks of the zone never show the date, because they change from the one time to the other.
        case skipped(from: String, to: String)

        package var description: String {
            switch self {
            case .malformed:
                "expected a date such as 2026-11-21 or 2026-11-21T09:00, with an offset from UTC (+01:00) if needed; "
                    + "or today, yesterday, this-week, last-week, or -7d for 7 days ago"
            case .yearOutOfRange: "years are 1970…2200"
            case .noSuchMonth: "months are 01…12"
            case .noSuchDay(let month, let days): "\(month) has \(days) days"
            case .noSuchTime: "hours are 00…23, minutes and seconds 00…59"
            case .noSuchOffset: "offsets from UTC are -23:59…+23:59"
            case .skipped(let from, let to):
                "this local time does not exist: clocks change from \(from) to \(to)"
            }
        }
    }

    /// The text as it was given.
    package let text: String
    /// The only instant, or the first of two. Of a period, its start.
    package let first: WallDate
    /// The second instant, if clocks show the date twice.
    package let second: WallDate?
    /// The end of the day or week that the text names, which is not part of it; `nil` if the text names an instant.
    package let end: WallDate?
    /// Whether the text means another date on another day.
    package let isRelative: Bool

    /// Parses a date as ``init(_:in:)`` does, or a date that depends on the present:
    ///
    /// - `today`, `yesterday`, `this-week` and `last-week`: the start of this day or week. Weeks start on Monday (ISO
    ///   8601). Capitals do not matter, and a space can be in place of the hyphen.
    /// - `-7d`, `-12h`, `-90m`: this time ago, to the second. The units are `s`, `m`, `h`, `d` and `w`.
    ///
    /// - Throws: ``Invalid`` if `text` is not such a date, or if the date does not exist.
    package init(_ text: String, in time: ZonedTime, now: WallDate) throws(Invalid) {
        let second = now.microseconds / 1_000_000
        if text.first == "-" {
            let start = second - (try Self.seconds(ago: text))
            guard start >= 0 else { throw .yearOutOfRange }
            self.init(text, first: WallDate(microseconds: start * 1_000_000), isRelative: true)
            return
        }
        let today = time.day(atSecond: second)
        // 1970-01-01, the day 0, was a Thursday.
        let monday = today - (today + 3) % 7
        let days: Range<Int64>
        switch text.lowercased().replacing(" ", with: "-") {
        case "today": days = today..<today + 1
        case "yesterday": days = today - 1..<today
        case "this-week": days = monday..<monday + 7
        case "last-week": days = monday - 7..<monday
        default:
            try self.init(text, in: time)
            return
        }
        guard days.lowerBound >= 0 else { throw .yearOutOfRange }
        func start(_ day: Int64) -> WallDate { WallDate(microseconds: time.start(ofDay: day) * 1_000_000) }
        self.init(text, first: start(days.lowerBound), end: start(days.upperBound), isRelative: true)
    }

    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]

    /// Returns the number of seconds in `-7d`, with at most nine digits.
    private static func seconds(ago text: String) throws(Invalid) -> Int64 {
        let digits = text.dropFirst().dropLast()
        guard (1...9).contains(digits.utf8.count), digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
            let number = Int64(digits), let unit = text.last.flatMap({ units[$0] })
        else { throw .malformed }
        return number * unit
    }

    private init(
        _ text: String, first: WallDate, second: WallDate? = nil, end: WallDate? = nil, isRelative: Bool = false
    ) {
        (self.text, self.first, self.second, self.end, self.isRelative) = (text, first, second, end, isRelative)
    }

    /// Parses a date in the zone of `time`: `2026-11-21`, `2026-11-21T09:00` or `2026-11-21 09:00:30.5`. With `Z`,
    /// `+01:00`, `+0100` or `+01` at the end, the date is at that offset.
    ///
    /// A day without a time means its first instant.
    ///
    /// - Throws: ``Invalid`` if `text` is not such a date, or if the date does not exist.
    package init(_ text: String, in time: ZonedTime) throws(Invalid) {
        var parser = Parser(text)
        let day = try parser.day()
        guard !parser.isAtEnd else {
            let end = WallDate(microseconds: time.start(ofDay: day + 1) * 1_000_000)
            self.init(text, first: try Self.start(ofDay: day, in: time), end: end)
            return
        }
        if let offset = try parser.offset() {
            let start = (day * 86_400 - offset) * 1_000_000
            self.init(
                text, first: WallDate(microseconds: start), end: WallDate(microseconds: start + 86_400_000_000))
            return
        }
        let (local, fraction) = try parser.time(of: day)
        let instants: [Int64]
        if let offset = try parser.offset() {
            instants = [local - offset]
        } else {
            guard parser.isAtEnd else { throw .malformed }
            instants = time.instants(local: local)
        }
        guard let first = instants.first else { throw Self.skipped(local, in: time) }
        self.init(
            text, first: WallDate(microseconds: first * 1_000_000 + fraction),
            second: instants.count > 1 ? WallDate(microseconds: instants[1] * 1_000_000 + fraction) : nil)
    }

    /// Returns the instant for an occurrence; the only one if there are not two.
    package func date(_ occurrence: Occurrence) -> WallDate { occurrence == .first ? first : second ?? first }

    /// Returns the instant that was taken, and the other one in a form that can be given; `nil` if there is only one.
    package func ambiguity(of option: String, taken: Occurrence, in time: ZonedTime) -> AmbiguousDate? {
        guard let second else { return nil }
        return AmbiguousDate(option: option, text: text, first: first, second: second, taken: taken, time: time)
    }

    private static func start(ofDay day: Int64, in time: ZonedTime) throws(Invalid) -> WallDate {
        let start = time.start(ofDay: day)
        guard time.day(atSecond: start) == day else { throw skipped(day * 86_400, in: time) }
        return WallDate(microseconds: start * 1_000_000)
    }

    /// Returns the error for a local time that a zone's clocks do not show, with the times between which it lies.
    private static func skipped(_ local: Int64, in time: ZonedTime) -> Invalid {
        // Searches for the first instant at which clocks show a later time.
        var (low, high) = (local - 2 * 86_400, local + 2 * 86_400)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if middle + time.offset(atSecond: middle) > local { high = middle } else { low = middle }
        }
        func text(_ second: Int64) -> String {
            let date = WallDate(microseconds: second * 1_000_000)
            return "\(time.plainText(date)) \(time.zone(at: date))"
        }
        return .skipped(from: text(low), to: text(high))
    }
}

/// A date that clocks show twice, and the instant that a report took.
package struct AmbiguousDate: Sendable, Hashable, CustomStringConvertible {
    /// The option, without hyphens: `from`.
    package let option: String
    /// The date as the user gave it.
    package let text: String
    /// The instant that was taken.
    package let taken: WallDate
    /// The other instant.
    package let other: WallDate
    /// A sentence with both instants, each in a form that the user can give as a date.
    package let description: String

    fileprivate init(
        option: String, text: String, first: WallDate, second: WallDate, taken: GivenDate.Occurrence, time: ZonedTime
    ) {
        self.option = option
        self.text = text
        (self.taken, other) = taken == .first ? (first, second) : (second, first)
        func full(_ date: WallDate) -> String {
            let (text, offset) = (time.plainText(date), time.offsetText(date))
            var fraction = "\(1_000_000 + date.microseconds % 1_000_000)".dropFirst()
            while fraction.last == "0" { fraction.removeLast() }
            return text.replacing(" ", with: "T") + (fraction.isEmpty ? "" : ".\(fraction)") + offset
        }
        description =
            "\(option) is \(text), a local time that occurs twice; the \(taken) was used, \(full(self.taken)); "
            + "the other is \(full(other))"
    }
}

/// Parses the parts of a date from left to right.
private struct Parser {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    /// Parses `2026-11-21` and returns the days since 1970.
    mutating func day() throws(GivenDate.Invalid) -> Int64 {
        guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2) else {
            throw .malformed
        }
        guard 1970...2200 ~= year else { throw .yearOutOfRange }
        guard 1...12 ~= month else { throw .noSuchMonth }
        guard let days = CivilDate.existingDay(year: year, month: month, day: day) else {
            throw .noSuchDay(
                month: "\(year)-\(ZonedTime.two(month))", days: CivilDate.daysInMonth(year: year, month: month))
        }
        return Int64(days)
    }

    /// Parses `T09:00` or ` 09:00:30.5`. Returns whole seconds since 1970 on the same clock, and microseconds.
    mutating func time(of day: Int64) throws(GivenDate.Invalid) -> (Int64, Int64) {
        guard take("T") || take("t") || take(" "), let hour = number(2), take(":"), let minute = number(2) else {
            throw .malformed
        }
        var (second, fraction): (Int, Int64) = (0, 0)
        if take(":") {
            guard let seconds = number(2) else { throw .malformed }
            second = seconds
            if take(".") {
                guard let first = rest.first, 0x30...0x39 ~= first else { throw .malformed }
                var scale: Int64 = 100_000
                while let digit = rest.first, 0x30...0x39 ~= digit {
                    fraction += Int64(digit - 0x30) * scale
                    scale /= 10
                    rest = rest.dropFirst()
                }
            }
        }
        guard hour < 24, minute < 60, second < 60 else { throw .noSuchTime }
        return (day * 86_400 + Int64(hour * 3600 + minute * 60 + second), fraction)
    }

    /// Parses `Z`, `+01:00` or ` +0100`, which must be the last part, and returns the seconds ahead of UTC. Returns
    /// `nil` at the end of the text, or if a time follows.
    mutating func offset() throws(GivenDate.Invalid) -> Int64? {
        if rest.isEmpty { return nil }
        let before = rest
        _ = take(" ")
        if take("Z") || take("z") {
            guard rest.isEmpty else { throw .malformed }
            return 0
        }
        let isBehind = take("-")
        guard isBehind || take("+") else {
            rest = before
            return nil
        }
        guard let hours = number(2) else { throw .malformed }
        let hasMinutes = take(":") || !rest.isEmpty
        guard let minutes = hasMinutes ? number(2) : 0, rest.isEmpty else { throw .malformed }
        guard hours < 24, minutes < 60 else { throw .noSuchOffset }
        return Int64(hours * 3600 + minutes * 60) * (isBehind ? -1 : 1)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard let first = rest.first, UInt32(first) == character.value else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func number(_ count: Int) -> Int? {
        guard rest.count >= count else { return nil }
        var number = 0
        for digit in rest.prefix(count) {
            guard 0x30...0x39 ~= digit else { return nil }
            number = number * 10 + Int(digit - 0x30)
        }
        rest = rest.dropFirst(count)
        return number
    }
}
