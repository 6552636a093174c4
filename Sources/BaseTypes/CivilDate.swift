/// A day of the proleptic Gregorian calendar.
package struct CivilDate: Sendable {
    package let year: Int
    package let month: Int
    package let day: Int

    /// Creates the date `day` days after 1970-01-01.
    ///
    /// Source: the days-to-civil algorithm of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": eras of
    /// 400 years with 146,097 days. A year starts on 1 March there, so that the leap day is its last day.
    package init(day: Int) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        self.day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }
}

extension CivilDate {
    /// Returns the number of days from 1970-01-01 to a date; negative if the date is earlier.
    ///
    /// Source: the civil-to-days algorithm of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
    package static func day(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// Returns how many days a date lies after 1970-01-01; `nil` if the calendar has no such date, such as 2026-09-31.
    package static func existingDay(year: Int, month: Int, day: Int) -> Int? {
        guard day >= 1, day <= daysInMonth(year: year, month: month) else { return nil }
        return Self.day(year: year, month: month, day: day)
    }

    /// Returns whether the second before `instant`, in seconds since 1970, can be a leap second, which is written
    /// `:60`: it is the last of a month in UTC (RFC 3339 §5.7).
    package static func canFollowLeapSecond(_ instant: Int) -> Bool {
        instant % 86_400 == 0 && CivilDate(day: instant / 86_400).day == 1
    }

    /// Returns how many days a month has: 28…31; 0 if the month is not 1…12.
    package static func daysInMonth(year: Int, month: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        case 1...12: 31
        default: 0
        }
    }

    /// Returns the instants at which clocks of a zone show a local time, in order: two in the hour that is repeated
    /// when clocks go back, none in the hour that is skipped when they go forward, one otherwise.
    ///
    /// A zone must not change its offset twice within two days.
    /// - Parameters:
    ///   - local: the local time, in seconds from 1970-01-01T00:00:00 on the same clock.
    ///   - secondsAheadOfUTC: returns the zone's offset at an instant in seconds since 1970.
    /// - Returns: seconds since 1970.
    package static func instants(local: Int64, secondsAheadOfUTC: (Int64) -> Int64) -> [Int64] {
        // The offsets before and after a change that is near.
        let offsets = [secondsAheadOfUTC(local - 86_400), secondsAheadOfUTC(local + 86_400)]
        var instants = offsets.map { local - $0 }.filter { secondsAheadOfUTC($0) == local - $0 }
        if instants.count == 2, instants[0] == instants[1] { instants.removeLast() }
        return instants.sorted()
    }
}
