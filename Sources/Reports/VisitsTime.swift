package import BeaconMonitoring
import Glibc

/// Dates as people read and write them: in the machine's zone (localtime(3), `TZ`) or in UTC.
package struct VisitsTime: Sendable {
    /// Which dates are written with their distance from UTC.
    private enum Offsets {
        case none
        case all
        /// All but those with this distance, in seconds.
        case other(than: Int64)
    }

    /// Whether dates are in UTC.
    package let isUTC: Bool
    private var offsets = Offsets.none

    /// Creates dates in UTC, or in the machine's zone. Texts have no offsets.
    package init(isUTC: Bool) {
        self.isUTC = isUTC
        if !isUTC { tzset() }
    }

    /// Returns the same dates for a report of a range of time.
    ///
    /// If the zone changes its distance from UTC within the range, every text has the offset: otherwise a visit can seem to
    /// end before its arrival. If not, only texts of dates with another offset than the range's have it.
    package func showing(from: WallDate, to: WallDate) -> VisitsTime {
        guard !isUTC else { return self }
        var time = self
        time.offsets = changes(from: from, to: to, most: 1).isEmpty ? .other(than: offset(at: from)) : .all
        return time
    }

    /// Whether every text has its offset.
    var showsAllOffsets: Bool { if case .all = offsets { true } else { false } }

    // MARK: Writing

    /// Returns a date: `2026-11-21 08:46:27`, with ` +0100` as ``showing(from:to:)`` decides.
    package func text(_ date: WallDate) -> String { text(date, fraction: "") }

    /// Returns a date with milliseconds: `2026-11-21 08:46:27.123`, with ` +0100` as ``showing(from:to:)`` decides.
    package func preciseText(_ date: WallDate) -> String {
        let rest = ((date.microseconds % 1_000_000 + 1_000_000) % 1_000_000) / 1000
        return text(date, fraction: "." + String(repeating: "0", count: 3 - "\(rest)".utf8.count) + "\(rest)")
    }

    private func text(_ date: WallDate, fraction: String) -> String {
        let parts = parts(date)
        let text = Self.text(parts) + fraction
        switch offsets {
        case .none: return text
        case .other(let offset) where offset == parts.offset: return text
        case .all, .other: return "\(text) \(Self.zone(parts, colon: ""))"
        }
    }

    /// Returns a date for a field of its own, without its offset.
    package func plainText(_ date: WallDate) -> String { Self.text(parts(date)) }

    /// Returns the offset from UTC for a field of its own: `+01:00`.
    package func offsetText(_ date: WallDate) -> String { isUTC ? "+00:00" : Self.zone(parts(date), colon: ":") }

    /// Returns the name of the zone at a date: `UTC`, or `+0100`.
    package func zone(at date: WallDate) -> String { isUTC ? "UTC" : Self.zone(parts(date), colon: "") }

    /// Returns how many seconds the zone is ahead of UTC at a date.
    func offset(at date: WallDate) -> Int64 { isUTC ? 0 : parts(date).offset }

    /// Returns how many seconds the zone is ahead of UTC at an instant in seconds since 1970.
    package func offset(atSecond second: Int64) -> Int64 { offset(at: WallDate(microseconds: second * 1_000_000)) }

    private static func zone(_ parts: Parts, colon: String) -> String {
        let minutes = Int(parts.offset) / 60
        return (minutes < 0 ? "-" : "+") + two(abs(minutes) / 60) + colon + two(abs(minutes) % 60)
    }

    private static func text(_ parts: Parts) -> String {
        "\(parts.year)-\(two(parts.month))-\(two(parts.day)) \(two(parts.hour)):\(two(parts.minute)):\(two(parts.second))"
    }

    static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private struct Parts {
        var (year, month, day, hour, minute, second) = (0, 0, 0, 0, 0, 0)
        /// Seconds ahead of UTC.
        var offset: Int64 = 0
    }

    private func parts(_ date: WallDate) -> Parts {
        var seconds = time_t(date.microseconds / 1_000_000 - (date.microseconds % 1_000_000 < 0 ? 1 : 0))
        var parts = unsafe tm()
        if isUTC { unsafe _ = gmtime_r(&seconds, &parts) } else { unsafe _ = localtime_r(&seconds, &parts) }
        return unsafe Parts(
            year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday),
            hour: Int(parts.tm_hour), minute: Int(parts.tm_min), second: Int(parts.tm_sec),
            offset: Int64(parts.tm_gmtoff))
    }

    // MARK: Days

    /// Returns the number of the local day at an instant: days since 1970-01-01 on the zone's calendar. The instant is in
    /// seconds since 1970.
    func day(atSecond second: Int64) -> Int64 {
        let local = second + offset(atSecond: second)
        return local / 86_400 - (local % 86_400 < 0 ? 1 : 0)
    }

    /// Returns the first instant of a local day, or of the next day that the zone has, in seconds since 1970.
    ///
    /// Some zones have days without a midnight, and some have left out a day.
    func start(ofDay day: Int64) -> Int64 {
        if let midnight = instants(local: day * 86_400).first { return midnight }
        var (low, high) = ((day - 2) * 86_400, (day + 2) * 86_400)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if self.day(atSecond: middle) >= day { high = middle } else { low = middle }
        }
        return high
    }

    /// Returns the first instant of the local day in which a date lies.
    package func startOfDay(_ date: WallDate) -> WallDate {
        let seconds = date.microseconds / 1_000_000
        return WallDate(microseconds: start(ofDay: day(atSecond: seconds)) * 1_000_000)
    }
}
