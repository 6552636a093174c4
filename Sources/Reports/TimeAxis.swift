import BeaconMonitoring
import CommandSupport

/// The ticks of a time axis: at local midnights and, if there is room, at hours between them, also across clock
/// changes.
struct TimeAxis {
    /// A tick with its label.
    struct Tick: Hashable {
        /// Seconds since 1970.
        var second: Int64
        /// `11-23` or `2026-11` for a day; `06:00` for an hour, or `06:00 +0100` after a change of the offset from UTC.
        var label: String
        /// Whether a day, or a longer unit, starts there.
        var isDay: Bool
    }

    // The maximum number of ticks whose labels can be read on the narrowest page.
    static let ticksMax = 10
    private static let day: Int64 = 86_400

    private let time: ZonedTime

    init(_ time: ZonedTime) { self.time = time }

    /// Returns the ticks between two times in seconds since 1970, in order. The times themselves are excluded.
    func ticks(from: Int64, to: Int64) -> [Tick] {
        let length = to - from
        let steps: [Int64] = [60, 300, 900, 3600, 10_800, 21_600, 43_200]
        if let step = steps.first(where: { length / $0 < Int64(Self.ticksMax) }), length / Self.day < 5 {
            return hours(every: step, from, to)
        }
        return days(from, to)
    }

    /// Returns ticks at whole multiples of a step after each local midnight, on the clocks of the zone. There is none
    /// in an hour that clocks skip, and there are two for a time that they show twice.
    private func hours(every step: Int64, _ from: Int64, _ to: Int64) -> [Tick] {
        var ticks: [Tick] = []
        for day in localDays(from, to) {
            for offset in stride(from: 0, to: Int(Self.day), by: Int(step)) {
                let label = String(day.dropFirst(5))
                for (place, second) in seconds(of: day, clock(offset)).enumerated()
                where second > from && second < to && !ticks.contains(where: { $0.second == second }) {
                    // If clocks show midnight twice, the second one is within the day.
                    let isDay = offset == 0 && place == 0
                    ticks.append(Tick(second: second, label: isDay ? label : clock(offset), isDay: isDay))
                }
            }
        }
        ticks.sort { $0.second < $1.second }
        if time.offset(atSecond: from) != time.offset(atSecond: to) { addOffsets(to: &ticks) }
        return ticks
    }

    /// Adds the offset from UTC to the first label of an hour, and to each one after a change.
    private func addOffsets(to ticks: inout [Tick]) {
        var last: Int64?
        for index in ticks.indices where !ticks[index].isDay {
            let offset = time.offset(atSecond: ticks[index].second)
            guard offset != last else { continue }
            ticks[index].label += " " + time.zone(at: WallDate(microseconds: ticks[index].second * 1_000_000))
            last = offset
        }
    }

    /// Returns ticks at local midnights: of each day, of every few days, or of the first days of months or years.
    private func days(_ from: Int64, _ to: Int64) -> [Tick] {
        let days = localDays(from, to)
        if days.count <= Self.ticksMax * 31 {
            let step = (days.count + Self.ticksMax - 1) / Self.ticksMax
            return days.enumerated().filter { $0.offset % step == 0 }
                .compactMap { tick($0.element, from, to, label: $0.element.dropFirst(5)) }
        }
        let months = days.filter { $0.hasSuffix("-01") }
        let step = [1, 3, 6, 12, 24, 60, 120].first { months.count / $0 <= Self.ticksMax } ?? 1200
        return months.filter { day in
            let parts = day.split(separator: "-").compactMap { Int($0) }
            return parts.count == 3 && (parts[0] * 12 + parts[1] - 1) % step == 0
        }.compactMap { tick($0, from, to, label: $0.prefix(7)) }
    }

    private func tick(_ day: String, _ from: Int64, _ to: Int64, label: Substring) -> Tick? {
        guard let second = seconds(of: day, "00:00").first, second > from, second < to else { return nil }
        return Tick(second: second, label: String(label), isDay: true)
    }

    /// Returns the days of the local calendar between two times, such as `2026-11-23`.
    private func localDays(_ from: Int64, _ to: Int64) -> [String] {
        var days: [String] = []
        // Three times a day is enough to find each day, also a short one.
        var second = from
        while second < to + Self.day, days.count < 40_000 {
            let day = String(text(min(second, to)).prefix(10))
            if day != days.last { days.append(day) }
            second += Self.day / 3
        }
        return days
    }

    /// Returns the instants at which clocks show a time. For midnight, it has at least the start of the day, because
    /// some days have no midnight.
    private func seconds(of day: String, _ clock: String) -> [Int64] {
        let date = try? GivenDate("\(day)T\(clock)", in: time)
        let start = clock == "00:00" ? try? GivenDate(day, in: time) : nil
        return [start?.first ?? date?.first, date?.second].compactMap { $0.map { $0.microseconds / 1_000_000 } }
    }

    private func text(_ second: Int64) -> String { time.plainText(WallDate(microseconds: second * 1_000_000)) }

    private func clock(_ offset: Int) -> String {
        "\(ZonedTime.two(offset / 3600)):\(ZonedTime.two(offset / 60 % 60))"
    }
}
