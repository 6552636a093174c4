import BeaconMonitoring
import CommandSupport
import ProgramSupport
import Testing

@testable import Reports

/// Instants of dates that people enter, in UTC. Zones are tested with the program, because a process has only one zone.
@Suite struct GivenDateTests {
    private let time = ZonedTime(isUTC: true)

    /// Returns the instant of a date that has only one, such as `2026-11-21T09:00:00.000000Z`.
    private func instant(_ text: String) throws -> String {
        let date = try GivenDate(text, in: time)
        #expect(date.second == nil && date.text == text)
        #expect(date.date(.first) == date.date(.second))
        return "\(date.first)"
    }

    @Test(
        arguments: [
            ("2026-11-21", "2026-11-21T00:00:00.000000Z"), ("1970-01-01", "1970-01-01T00:00:00.000000Z"),
            ("2024-02-29", "2024-02-29T00:00:00.000000Z"), ("2000-02-29T23:59", "2000-02-29T23:59:00.000000Z"),
            ("2026-11-21T09:00", "2026-11-21T09:00:00.000000Z"), ("2026-11-21t09:00z", "2026-11-21T09:00:00.000000Z"),
            ("2026-11-21 09:00:30", "2026-11-21T09:00:30.000000Z"),
            ("2026-11-21T09:00:30.5", "2026-11-21T09:00:30.500000Z"),
            ("2026-11-21T09:00:30.1234567+01:00", "2026-11-21T08:00:30.123456Z"),
            ("2026-11-21T09:00-0530", "2026-11-21T14:30:00.000000Z"),
            ("2026-11-21 09:00 +01", "2026-11-21T08:00:00.000000Z"),
            ("2026-11-21Z", "2026-11-21T00:00:00.000000Z"), ("2026-11-21+23:59", "2026-11-20T00:01:00.000000Z"),
            ("2026-11-21-05:00", "2026-11-21T05:00:00.000000Z"), ("2200-12-31T23:59:59", "2200-12-31T23:59:59.000000Z"),
        ])
    func `each form of a date is read as its instant`(text: String, expected: String) throws {
        #expect(try instant(text) == expected)
    }

    @Test(
        arguments: [
            ("2026-09-31", .noSuchDay(month: "2026-09", days: 30)),
            ("2026-11-00", .noSuchDay(month: "2026-11", days: 30)),
            ("2026-02-29", .noSuchDay(month: "2026-02", days: 28)),
            ("2024-02-30", .noSuchDay(month: "2024-02", days: 29)),
            ("2100-02-29", .noSuchDay(month: "2100-02", days: 28)),
            ("2026-12-32", .noSuchDay(month: "2026-12", days: 31)),
            ("2026-13-01", .noSuchMonth), ("2026-00-01", .noSuchMonth), ("1969-12-31", .yearOutOfRange),
            ("2201-01-01", .yearOutOfRange), ("2026-11-21T10:00:99", .noSuchTime), ("2026-11-21T10:00:60", .noSuchTime),
            ("2026-11-21T10:60", .noSuchTime), ("2026-11-21T24:00", .noSuchTime),
            ("2026-11-21T10:00+24:00", .noSuchOffset), ("2026-11-21T10:00-01:60", .noSuchOffset),
        ] as [(String, GivenDate.Invalid)])
    func `a date, a time or an offset that does not exist is refused with the reason`(
        text: String, expected: GivenDate.Invalid
    ) {
        #expect(throws: expected) { try GivenDate(text, in: time) }
    }

    /// 2026-11-25T14:30:05.5Z, a Wednesday.
    private static let wednesday = WallDate(microseconds: 1_795_617_005_500_000)

    @Test(
        arguments: [
            ("today", "2026-11-25", "2026-11-26"), ("Yesterday", "2026-11-24", "2026-11-25"),
            ("this-week", "2026-11-23", "2026-11-30"), ("THIS WEEK", "2026-11-23", "2026-11-30"),
            ("last-week", "2026-11-16", "2026-11-23"), ("last week", "2026-11-16", "2026-11-23"),
        ])
    func `the name of a day or week means this period, relative to the present`(
        text: String, start: String, end: String
    ) throws {
        let date = try GivenDate(text, in: time, now: Self.wednesday)
        #expect("\(date.first)" == "\(start)T00:00:00.000000Z" && date.second == nil && date.isRelative)
        #expect(date.end.map { "\($0)" } == "\(end)T00:00:00.000000Z" && date.text == text)
    }

    @Test func `a week starts with Monday`() throws {
        // 2026-11-23 is a Monday.
        let monday: Int64 = 1_795_392_000_000_000
        for (day, start) in [(-1, -7), (0, 0), (1, 0), (6, 0), (7, 7)] as [(Int64, Int64)] {
            for microsecond in [0, 86_399_999_999] as [Int64] {
                let now = WallDate(microseconds: monday + day * 86_400_000_000 + microsecond)
                let week = try GivenDate("this-week", in: time, now: now)
                #expect(week.first.microseconds == monday + start * 86_400_000_000)
                #expect(try GivenDate("last-week", in: time, now: now).end == week.first)
            }
        }
    }

    @Test(
        arguments: [
            ("-7d", "2026-11-18T14:30:05"), ("-2w", "2026-11-11T14:30:05"), ("-12h", "2026-11-25T02:30:05"),
            ("-90m", "2026-11-25T13:00:05"), ("-5s", "2026-11-25T14:30:00"), ("-0s", "2026-11-25T14:30:05"),
            ("-999999999s", "1995-03-19T12:43:26"),
        ])
    func `a duration after a minus sign means this time ago, to the second`(text: String, expected: String) throws {
        let date = try GivenDate(text, in: time, now: Self.wednesday)
        #expect("\(date.first)" == expected + ".000000Z")
        #expect(date.second == nil && date.end == nil && date.isRelative)
    }

    @Test(arguments: [
        "-", "-d", "-7", "-7x", "-7D", "-1.5h", "--7d", "-+7d", "- 7d", "-7 d", "-7d ", "\u{2212}7d", "-\u{FF17}d",
        "-1000000000s", "tomorrow", "now", "last  week", "lastweek", "last_week", "week", "today ", "todaY\u{301}",
    ])
    func `any other text that is relative is malformed`(text: String) {
        #expect(throws: GivenDate.Invalid.malformed) { try GivenDate(text, in: time, now: Self.wednesday) }
    }

    @Test func `dates before 1970 are refused`() throws {
        let now = WallDate(microseconds: 86_400_000_000)
        #expect(try GivenDate("yesterday", in: time, now: now).first.microseconds == 0)
        #expect(try GivenDate("-1d", in: time, now: now).first.microseconds == 0)
        for text in ["-86401s", "-999999999w", "last-week", "this-week"] {
            #expect(throws: GivenDate.Invalid.yearOutOfRange) { try GivenDate(text, in: time, now: now) }
        }
    }

    @Test func `a day has an end and depends on nothing, a time has no end`() throws {
        for (text, end) in [
            ("2026-11-21", "2026-11-22T00:00:00.000000Z"), ("2200-12-31", "2201-01-01T00:00:00.000000Z"),
            ("2026-11-21+01:00", "2026-11-21T23:00:00.000000Z"), ("2026-11-21T00:00", nil),
        ] {
            let date = try GivenDate(text, in: time, now: Self.wednesday)
            #expect(date.end.map { "\($0)" } == end && !date.isRelative, "\(text)")
            #expect(try GivenDate(text, in: time) == date)
        }
    }

    @Test(
        arguments: [
            ("2026-11-21", "2026-11-21", nil, "2026-11-21 2026-11-22"),
            ("today", "today", nil, "2026-11-25 2026-11-26"), ("today", "2026-11-25", nil, "2026-11-25 2026-11-26"),
            ("last-week", "last week", nil, "2026-11-16 2026-11-23"), (nil, nil, "last-week", "2026-11-16 2026-11-23"),
            ("2026-11-20", "2026-11-21", nil, "2026-11-20 2026-11-21"),
            ("last-week", "this-week", nil, "2026-11-16 2026-11-23"),
            ("-7d", "today", nil, "2026-11-18T14:30:05 2026-11-25"), ("yesterday", nil, nil, "2026-11-24 -"),
            (nil, "yesterday", nil, "- 2026-11-24"), (nil, nil, nil, "- -"),
            // A week and its first day start together, but are not the same period.
            ("2026-11-23", "this-week", nil, nil), ("this-week", "2026-11-23", nil, nil),
            ("2026-11-21", "2026-11-21T00:00", nil, nil), ("-7d", "-7d", nil, nil), ("today", "yesterday", nil, nil),
            (nil, nil, "-7d", nil), (nil, nil, "2026-11-21T09:00", nil), ("today", nil, "today", nil),
            (nil, "today", "today", nil), ("x", nil, nil, nil), (nil, "x", nil, nil), (nil, nil, "x", nil),
        ] as [(String?, String?, String?, String?)])
    func `a range has a start and an end; the same day or week twice is the range of this period`(
        from: String?, to: String?, on: String?, expected: String?
    ) throws {
        let range = try? GivenRange(from: from, to: to, on: on, in: time, now: Self.wednesday)
        let dates = range.map { range in
            [range.from, range.to].map { date in
                date.map { "\($0)".replacing("T00:00:00.000000Z", with: "").replacing(".000000Z", with: "") } ?? "-"
            }.joined(separator: " ")
        }
        #expect(dates == expected)
        // The fixed texts of a range give the same range on each day.
        guard let range else { return }
        let again = try GivenRange(
            from: range.fixed.from, to: range.fixed.to, on: nil, in: time, now: WallDate(microseconds: 0))
        #expect(again.from == range.from && again.to == range.to && again.fixed == range.fixed)
    }

    @Test func `dates that are not relative keep their texts, also next to relative ones`() throws {
        func fixed(_ from: String?, _ to: String?, on: String? = nil) throws -> [String?] {
            let range = try GivenRange(from: from, to: to, on: on, in: time, now: Self.wednesday)
            return [range.fixed.from, range.fixed.to]
        }
        #expect(try fixed("today", "2026-11-25T00:00:00.5") == ["2026-11-25", "2026-11-25T00:00:00.5"])
        #expect(try fixed("2026-11-20 09:00", "today") == ["2026-11-20 09:00", "2026-11-25"])
        #expect(try fixed("-7d", nil) == ["2026-11-18T14:30:05+00:00", nil])
        #expect(try fixed(nil, nil, on: "2200-12-31") == ["2200-12-31", "2200-12-31"])
        #expect(try fixed(nil, nil, on: "1970-01-01+14:00") == ["1970-01-01+14:00", "1970-01-01+14:00"])
        #expect(try fixed(nil, nil, on: "yesterday") == ["2026-11-24", "2026-11-25"])
    }

    @Test(arguments: [
        "", "x", "2026", "2026-11", "2026-11-2", "2026-11-211", "2026/11/21", "2026-11-21x", "2026-11-21T",
        "2026-11-21T9:00",
        "2026-11-21T09", "2026-11-21T09:0", "2026-11-21T09:00:", "2026-11-21T09:00:0", "2026-11-21T09:00:00.",
        "2026-11-21T09:00:00.x", "2026-11-21T09:00:00.+1", "2026-11-21T09:00ZZ", "2026-11-21T09:00+",
        "2026-11-21T09:00+1",
        "2026-11-21T09:00+01:", "2026-11-21T09:00+01:0", "2026-11-21T09:00+01:00x", "2026-11-21T09:00 ", " 2026-11-21",
        "+026-11-21", "2026-11-21T09:00:00 01:00", "２026-11-21",
    ])
    func `any other text is malformed`(text: String) {
        #expect(throws: GivenDate.Invalid.malformed) { try GivenDate(text, in: time) }
    }
}
