package import BeaconMonitoring
import Glibc

/// How people write and read dates: in the machine's zone (localtime(3), `TZ`) or in UTC.
package struct VisitsTime: Sendable {
    /// Whether in UTC.
    package let isUTC: Bool

    /// Dates in UTC, or in the machine's zone.
    package init(isUTC: Bool) {
        self.isUTC = isUTC
        if !isUTC { tzset() }
    }

    /// `2026-11-21 08:46:27`.
    package func text(_ date: WallDate) -> String {
        let parts = parts(date)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.year)-\(two(parts.month))-\(two(parts.day)) "
            + "\(two(parts.hour)):\(two(parts.minute)):\(two(parts.second))"
    }

    /// `2026-11-21 08:46:27.123`.
    package func preciseText(_ date: WallDate) -> String {
        let rest = ((date.microseconds % 1_000_000 + 1_000_000) % 1_000_000) / 1000
        return text(date) + "." + String(repeating: "0", count: 3 - "\(rest)".utf8.count) + "\(rest)"
    }

    /// What the zone is called at a date: `UTC`, `+0100`.
    package func zone(at date: WallDate) -> String {
        if isUTC { return "UTC" }
        let minutes = parts(date).offset / 60
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return (minutes < 0 ? "-" : "+") + two(abs(minutes) / 60) + two(abs(minutes) % 60)
    }

    /// How many seconds the zone is ahead of UTC at a date.
    func offset(at date: WallDate) -> Int64 { isUTC ? 0 : Int64(parts(date).offset) }

    /// How many seconds the zone is ahead of UTC at an instant in seconds since 1970.
    package func offset(atSecond second: Int64) -> Int64 { offset(at: WallDate(microseconds: second * 1_000_000)) }

    private struct Parts {
        var (year, month, day, hour, minute, second) = (0, 0, 0, 0, 0, 0)
        /// Seconds ahead of UTC.
        var offset = 0
    }

    private func parts(_ date: WallDate) -> Parts {
        var seconds = time_t(date.microseconds / 1_000_000 - (date.microseconds % 1_000_000 < 0 ? 1 : 0))
        var parts = unsafe tm()
        if isUTC { unsafe _ = gmtime_r(&seconds, &parts) } else { unsafe _ = localtime_r(&seconds, &parts) }
        return unsafe Parts(
            year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday),
            hour: Int(parts.tm_hour), minute: Int(parts.tm_min), second: Int(parts.tm_sec), offset: parts.tm_gmtoff)
    }

    /// The date that `text` spells: `2026-11-21`, `2026-11-21T09:00`, `2026-11-21 09:00:30`, each in the zone; or with
    /// `Z` or `+01:00` behind it in that one. `nil` where it is anything else.
    package func date(_ text: String) -> WallDate? {
        var octets = Array(text.utf8)
        var shift: Int64?
        if octets.last == UInt8(ascii: "Z") || octets.last == UInt8(ascii: "z") {
            octets.removeLast()
            shift = 0
        } else if octets.count > 16,
            let sign = octets.dropFirst(16).firstIndex(where: {
                $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-")
            })
        {
            let digits = octets[(sign + 1)...].filter { $0 != UInt8(ascii: ":") }
            guard digits.count == 4, let number = Int64(String(decoding: digits, as: UTF8.self)) else { return nil }
            let seconds = (number / 100 * 60 + number % 100) * 60
            shift = octets[sign] == UInt8(ascii: "-") ? -seconds : seconds
            octets.removeLast(octets.count - sign)
        }
        var fraction: Int64 = 0
        if let point = octets.firstIndex(of: UInt8(ascii: ".")) {
            let digits = octets[(point + 1)...].prefix(6)
            guard !digits.isEmpty, let number = Int64(String(decoding: digits, as: UTF8.self)) else { return nil }
            fraction = number
            for _ in digits.count..<6 { fraction *= 10 }
            octets.removeLast(octets.count - point)
        }
        let fields = octets.split(whereSeparator: { !(0x30...0x39).contains($0) }).compactMap {
            Int32(String(decoding: $0, as: UTF8.self))
        }
        guard [10, 16, 19].contains(octets.count), [3, 5, 6].contains(fields.count), (1970...2200).contains(fields[0]),
            (1...12).contains(fields[1]), (1...31).contains(fields[2])
        else { return nil }
        var parts = unsafe tm()
        unsafe parts.tm_year = fields[0] - 1900
        unsafe parts.tm_mon = fields[1] - 1
        unsafe parts.tm_mday = fields[2]
        if fields.count > 3 {
            guard (0..<24).contains(fields[3]), (0..<60).contains(fields[4]) else { return nil }
            unsafe parts.tm_hour = fields[3]
            unsafe parts.tm_min = fields[4]
        }
        if fields.count > 5 { unsafe parts.tm_sec = min(fields[5], 59) }
        // The zone knows whether it is summer.
        unsafe parts.tm_isdst = -1
        let seconds = unsafe isUTC || shift != nil ? timegm(&parts) : mktime(&parts)
        return WallDate(microseconds: (Int64(seconds) - (shift ?? 0)) * 1_000_000 + fraction)
    }
}
