import BaseTypes
import Testing

/// The instants at which clocks show a local time.
@Suite struct CivilDateTests {
    /// Returns the instants of a local time in a zone whose clocks change once. `before` is the offset from UTC in
    /// seconds before `change`, and `after` the offset from `change` on. Offsets are positive if local time is later
    /// than UTC.
    private func instants(_ local: Int64, before: Int64, after: Int64, change: Int64) -> [Int64] {
        CivilDate.instants(local: local) { $0 < change ? before : after }
    }

    @Test func `every day of four centuries exists; day 0 and the day after the last of a month do not`() {
        var number = CivilDate.day(year: 1970, month: 1, day: 1)
        for year in 1970..<2370 {
            for month in 1...12 {
                let days = CivilDate.daysInMonth(year: year, month: month)
                for day in 1...days {
                    #expect(CivilDate.existingDay(year: year, month: month, day: day) == number)
                    number += 1
                }
                #expect(CivilDate.existingDay(year: year, month: month, day: days + 1) == nil)
                #expect(CivilDate.existingDay(year: year, month: month, day: 0) == nil)
                // The inverse, which is computed differently, has the same end of the month.
                #expect(CivilDate(day: number).day == 1 && CivilDate(day: number).month == month % 12 + 1)
            }
        }
        #expect(CivilDate.existingDay(year: 2026, month: 0, day: 1) == nil)
        #expect(CivilDate.existingDay(year: 2026, month: 13, day: 1) == nil)
    }

    @Test(
        arguments: [
            (7200, 3600), (-14_400, -18_000), (39_600, 37_800), (20_700, 20_700), (7200, 0), (-39_600, 50_400),
            (50_400, -36_000), (0, 3600), (-18_000, -14_400), (37_800, 39_600),
        ] as [(Int64, Int64)])
    func `a time that is shown twice has two instants, one that is skipped has none`(before: Int64, after: Int64) {
        // The change is at 2025-10-26T01:00:00Z. The loop checks local times before and after it.
        let change: Int64 = 1_761_440_400
        for local in stride(from: change - 100_000, through: change + 100_000, by: 100) {
            var expected: [Int64] = []
            if local - before < change { expected.append(local - before) }
            if local - after >= change { expected.append(local - after) }
            let found = instants(local, before: before, after: after, change: change)
            #expect(found == expected.sorted(), "\(local - change)")
        }
        for second in change - 2...change + 2 {
            let offset = second < change ? before : after
            #expect(instants(second + offset, before: before, after: after, change: change).contains(second))
        }
    }
}
