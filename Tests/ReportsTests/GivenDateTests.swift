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
