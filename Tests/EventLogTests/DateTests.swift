import BaseTypes
import Foundation
import JSON
import TestSupport
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// Dates compared with known ones, and with those of Foundation's calendar.
@Suite struct DateTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000000Z"), (-1, "1969-12-31T23:59:59.999999Z"), (1, "1970-01-01T00:00:00.000001Z"),
        (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"), (951_868_799_999_999, "2000-02-29T23:59:59.999999Z"),
        (951_868_800_000_000, "2000-03-01T00:00:00.000000Z"), (1_709_164_800_000_000, "2024-02-29T00:00:00.000000Z"),
        (1_740_787_199_999_999, "2025-02-28T23:59:59.999999Z"), (1_740_787_200_000_000, "2025-03-01T00:00:00.000000Z"),
        (1_735_689_599_999_999, "2024-12-31T23:59:59.999999Z"), (1_735_689_600_000_000, "2025-01-01T00:00:00.000000Z"),
        // 2100 is not a leap year.
        (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"), (4_107_542_399_999_999, "2100-02-28T23:59:59.999999Z"),
        (9_000_000_000_000_000, "2255-03-14T16:00:00.000000Z"), (Int64.max / 1000, "2262-04-11T23:47:16.854775Z"),
    ])
    func `known dates are encoded exactly`(microseconds: Int64, date: String) {
        #expect(text { $0.append(WallDate(microseconds: microseconds)) } == date)
    }

    @Test func `the end of the timeline is encoded as a date of the year 2255`() {
        #expect(text { $0.append(WallDate(.latest, offset: .zero)) } == "2255-03-14T16:00:00.000000Z")
    }

    @Test func `the end and the start of every month from 1970 to 2254 equal Foundation's`() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        for month in 0..<(285 * 12) {
            let components = DateComponents(year: 1970 + month / 12, month: month % 12 + 1, day: 1)
            let first = Int64(try #require(calendar.date(from: components)).timeIntervalSince1970) * 1_000_000
            let name = "\(components.year ?? 0)-\(components.month ?? 0 < 10 ? "0" : "")\(components.month ?? 0)-01"
            #expect(text { $0.append(WallDate(microseconds: first)) } == name + "T00:00:00.000000Z")
            let last = text { $0.append(WallDate(microseconds: first - 1)) }
            let day = calendar.dateComponents(
                [.year, .month, .day], from: Date(timeIntervalSince1970: Double(first / 1_000_000 - 1)))
            #expect(last.hasSuffix("-\(day.day ?? 0)T23:59:59.999999Z"), "\(last)")
        }
    }

    @Test func `random dates equal Foundation's`() {
        var random = SeededGenerator(state: SeededGenerator.seed)
        let formatter = ISO8601DateFormatter()
        for _ in 0..<5000 {
            let seconds = Int64(random.next() % 9_000_000_000)
            let fraction = Int64(random.next() % 1_000_000)
            let expected =
                formatter.string(from: Date(timeIntervalSince1970: Double(seconds))).dropLast()
                + "." + String(fraction + 1_000_000).dropFirst() + "Z"
            #expect(
                text { $0.append(WallDate(microseconds: seconds * 1_000_000 + fraction)) } == expected,
                "seed \(SeededGenerator.seed)")
        }
    }
}
