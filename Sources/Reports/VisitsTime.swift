package import BeaconMonitoring
import Glibc
import SystemPackage

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

    // MARK: Zones

    /// What `TZ` names, where that is no zone that this machine knows; `nil` where it is one, is empty (UTC), or is not set.
    ///
    /// localtime(3) takes an unknown zone for UTC without a word (tzset(3)): every date would be told wrong.
    package static var unknownZone: String? {
        guard let value = unsafe getenv("TZ") else { return nil }
        let folder = unsafe getenv("TZDIR").map { unsafe String(cString: $0) }
        let zone = unsafe String(cString: value)
        return isKnown(zone: zone, in: folder ?? "/usr/share/zoneinfo") ? nil : zone
    }

    /// Has dates told in the zone of that name from now on, in the whole process, as `TZ` would (tzset(3)). To be called
    /// before anything else is running.
    ///
    /// - Returns: whether this machine knows such a zone; nothing has changed where it does not.
    package static func use(zone: String) -> Bool {
        let folder = unsafe getenv("TZDIR").map { unsafe String(cString: $0) }
        guard !zone.isEmpty, !isReversed(zone), isKnown(zone: zone, in: folder ?? "/usr/share/zoneinfo") else {
            return false
        }
        unsafe setenv("TZ", zone, 1)
        tzset()
        return true
    }

    /// Returns the last sentence of a report: `Times are UTC.`, or `Times are local, +0100.` with the changes of the zone's
    /// offset between the two dates.
    func zoneSentence(from: WallDate, to: WallDate) -> String {
        "Times are \(isUTC ? "UTC" : "local, \(zones(from: from, to: to))")."
    }

    /// What the zone is called between two dates, with when that changes: `+0200, from 2026-10-25 02:00:00 on +0100`.
    func zones(from: WallDate, to: WallDate) -> String {
        var text = zone(at: from)
        for change in changes(from: from, to: to, most: 8) {
            text += ", from \(plainText(change)) on \(zone(at: change))"
        }
        return text
    }

    /// Returns the instants at which the zone's distance from UTC changes between two dates, to the second; the first `most`.
    ///
    /// Changes less than a day apart are not found; no zone has them. Of a longer range, the first 50 years are searched.
    func changes(from: WallDate, to: WallDate, most: Int = .max) -> [WallDate] {
        guard !isUTC else { return [] }
        var changes: [WallDate] = []
        let day: Int64 = 86_400
        var (second, last) = (from.microseconds / 1_000_000, to.microseconds / 1_000_000)
        last = min(last, second + 50 * 366 * day)
        var offset = offset(atSecond: second)
        while second < last, changes.count < most {
            let next = min(second + day, last)
            let offsetThen = self.offset(atSecond: next)
            if offset != offsetThen {
                var (low, high) = (second, next)
                while high - low > 1 {
                    let middle = (low + high) / 2
                    if self.offset(atSecond: middle) == offset { low = middle } else { high = middle }
                }
                changes.append(WallDate(microseconds: high * 1_000_000))
            }
            (second, offset) = (next, offsetThen)
        }
        return changes
    }

    /// Whether a name such as `UTC+2` would be read as two hours behind UTC, the opposite of its common meaning: in a rule of
    /// POSIX the sign is that of the way to UTC. `GMT0`, `GMT+0` and `UTC0` have one meaning.
    private static func isReversed(_ zone: String) -> Bool {
        ["UTC", "GMT"].contains { zone.hasPrefix($0) && zone.dropFirst(3).contains { ("1"..."9").contains($0) } }
    }

    /// Whether a value of `TZ` means a zone: a file of tzfile(5) below `folder` or by its path, or a rule such as
    /// `CET-1CEST,M3.5.0,M10.5.0/3` (POSIX, Base Definitions §8.3).
    static func isKnown(zone: String, in folder: String) -> Bool {
        let name = zone.hasPrefix(":") ? String(zone.dropFirst()) : zone
        // A machine without zone files knows these all the same.
        if ["", "UTC", "GMT", "Etc/UTC", "Etc/GMT"].contains(name) { return true }
        let path = name.hasPrefix("/") ? FilePath(name) : FilePath("\(folder)/\(name)")
        return isZoneFile(path) || isRule(name)
    }

    private static func isZoneFile(_ path: FilePath) -> Bool {
        // Not to wait for whoever writes to a FIFO.
        guard let file = try? FileDescriptor.open(path, .readOnly, options: [.nonBlocking, .closeOnExec]) else {
            return false
        }
        var magic: [UInt8] = [0, 0, 0, 0]
        // Whatever stands in the way of reading it stands in localtime's way too.
        let count = try? file.closeAfter { unsafe try magic.withUnsafeMutableBytes { unsafe try file.read(into: $0) } }
        return count == 4 && magic == Array("TZif".utf8)
    }

    /// A name of three letters or more, or of anything between < and >, and how far it is from UTC.
    private static func isRule(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        if rest.first == UInt8(ascii: "<") {
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")), end > rest.startIndex + 3 else { return false }
            rest = rest[(end + 1)...]
        } else {
            let letters = rest.prefix { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0 & ~0x20) }
            guard letters.count >= 3 else { return false }
            rest = rest[letters.endIndex...]
        }
        if let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { rest = rest.dropFirst() }
        // Hours, 0 to 24, then minutes or the name in summer.
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self)).map { $0 <= 24 } ?? false
    }
}
