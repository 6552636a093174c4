import BaseTypes
package import BeaconMonitoring
import Glibc
import SystemPackage

/// Formats dates for people, in the machine's zone (localtime(3), `TZ`) or in UTC. Dates that people write are in the
/// same zone.
package struct ZonedTime: Sendable {
    /// The dates that are written with their offset from UTC.
    private enum Offsets {
        case none
        case all
        /// All dates except those with this offset in seconds.
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

    /// Returns a value for a report of a range of time, which shows offsets from UTC if they are needed.
    ///
    /// If the zone's offset from UTC changes within the range, every text has the offset. Otherwise a visit can seem to
    /// end before its arrival. If it does not change, only texts of dates with another offset than the range's have it.
    package func showing(from: WallDate, to: WallDate) -> ZonedTime {
        guard !isUTC else { return self }
        var time = self
        time.offsets = changes(from: from, to: to, most: 1).isEmpty ? .other(than: offset(at: from)) : .all
        return time
    }

    /// Whether every text has its offset.
    package var showsAllOffsets: Bool { if case .all = offsets { true } else { false } }

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

    /// Returns a date for a separate field, without its offset.
    package func plainText(_ date: WallDate) -> String { Self.text(parts(date)) }

    /// Returns the offset from UTC for a separate field: `+01:00`.
    package func offsetText(_ date: WallDate) -> String { isUTC ? "+00:00" : Self.zone(parts(date), colon: ":") }

    /// Returns the name of the zone at a date: `UTC`, or `+0100`.
    package func zone(at date: WallDate) -> String { isUTC ? "UTC" : Self.zone(parts(date), colon: "") }

    /// Returns how many seconds the zone is ahead of UTC at a date.
    package func offset(at date: WallDate) -> Int64 { isUTC ? 0 : parts(date).offset }

    /// Returns how many seconds the zone is ahead of UTC at an instant in seconds since 1970.
    package func offset(atSecond second: Int64) -> Int64 { offset(at: WallDate(microseconds: second * 1_000_000)) }

    private static func zone(_ parts: Parts, colon: String) -> String {
        let minutes = Int(parts.offset) / 60
        return (minutes < 0 ? "-" : "+") + two(abs(minutes) / 60) + colon + two(abs(minutes) % 60)
    }

    private static func text(_ parts: Parts) -> String {
        "\(parts.year)-\(two(parts.month))-\(two(parts.day)) \(two(parts.hour)):\(two(parts.minute)):\(two(parts.second))"
    }

    package static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

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

    /// Returns the number of the local day at an instant: days since 1970-01-01 on the zone's calendar. The instant is
    /// in seconds since 1970.
    package func day(atSecond second: Int64) -> Int64 {
        let local = second + offset(atSecond: second)
        return local / 86_400 - (local % 86_400 < 0 ? 1 : 0)
    }

    /// Returns the first instant of a local day, or of the next day that the zone has, in seconds since 1970.
    ///
    /// Some zones have days without a midnight, and some have skipped a day.
    package func start(ofDay day: Int64) -> Int64 {
        if let midnight = instants(local: day * 86_400).first { return midnight }
        var (low, high) = ((day - 2) * 86_400, (day + 2) * 86_400)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if self.day(atSecond: middle) >= day { high = middle } else { low = middle }
        }
        return high
    }

    /// Returns the instants at which clocks show a local time: none, one or two. All are in seconds since 1970; `local`
    /// is in seconds on the zone's clock.
    package func instants(local: Int64) -> [Int64] {
        isUTC ? [local] : CivilDate.instants(local: local) { offset(atSecond: $0) }
    }

    /// Returns the first instant of the local day in which a date lies.
    package func startOfDay(_ date: WallDate) -> WallDate {
        let seconds = date.microseconds / 1_000_000
        return WallDate(microseconds: start(ofDay: day(atSecond: seconds)) * 1_000_000)
    }

    // MARK: Zones

    /// The value of `TZ` if this machine does not know the zone; `nil` if it does, or if `TZ` is empty (UTC) or not
    /// set.
    ///
    /// localtime(3) uses UTC for an unknown zone and reports no error (tzset(3)), so every date would be wrong.
    package static var unknownZone: String? {
        guard let value = unsafe getenv("TZ") else { return nil }
        let folder = unsafe getenv("TZDIR").map { unsafe String(cString: $0) }
        let zone = unsafe String(cString: value)
        return isKnown(zone: zone, in: folder ?? "/usr/share/zoneinfo") ? nil : zone
    }

    /// Uses the zone with this name for all dates of the process, as `TZ` does (tzset(3)). It must be called before
    /// anything else runs.
    ///
    /// - Returns: whether the zone is used. If this machine does not know it, or if the name has a reversed sign
    ///   (`UTC+2`), nothing changes.
    package static func use(zone: String) -> Bool {
        let folder = unsafe getenv("TZDIR").map { unsafe String(cString: $0) }
        guard !zone.isEmpty, !isReversed(zone), isKnown(zone: zone, in: folder ?? "/usr/share/zoneinfo") else {
            return false
        }
        unsafe setenv("TZ", zone, 1)
        tzset()
        return true
    }

    /// Returns the last sentence of a report: `Times are UTC.`, or `Times are local, +0100.` with the changes of the
    /// zone's offset between the two dates.
    package func zoneSentence(from: WallDate, to: WallDate) -> String {
        "Times are \(isUTC ? "UTC" : "local, \(zones(from: from, to: to))")."
    }

    /// Returns the name of the zone between two dates, with its changes: `+0200, from 2026-10-25 02:00:00 on +0100`.
    package func zones(from: WallDate, to: WallDate) -> String {
        var text = zone(at: from)
        for change in changes(from: from, to: to, most: 8) {
            text += ", from \(plainText(change)) on \(zone(at: change))"
        }
        return text
    }

    /// Returns the instants at which the zone's offset from UTC changes between two dates, to the second; the first
    /// `most`.
    ///
    /// Changes less than a day apart are not found, but no zone has them. Only the first 50 years of a range are
    /// searched.
    package func changes(from: WallDate, to: WallDate, most: Int = .max) -> [WallDate] {
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

    /// Returns whether a name such as `UTC+2` would be read as two hours behind UTC, the opposite of its common
    /// meaning. In a POSIX rule, the offset is the time that must be added to local time to get UTC. `GMT0`, `GMT+0`
    /// and `UTC0` have one meaning.
    private static func isReversed(_ zone: String) -> Bool {
        ["UTC", "GMT"].contains { zone.hasPrefix($0) && zone.dropFirst(3).contains { ("1"..."9").contains($0) } }
    }

    /// Returns whether a value of `TZ` means a zone: a file of tzfile(5) below `folder` or by its path, or a rule such
    /// as `CET-1CEST,M3.5.0,M10.5.0/3` (POSIX, Base Definitions §8.3).
    package static func isKnown(zone: String, in folder: String) -> Bool {
        let name = zone.hasPrefix(":") ? String(zone.dropFirst()) : zone
        // A machine without zone files knows these zones too.
        if ["", "UTC", "GMT", "Etc/UTC", "Etc/GMT"].contains(name) { return true }
        let path = name.hasPrefix("/") ? FilePath(name) : FilePath("\(folder)/\(name)")
        return isZoneFile(path) || isRule(name)
    }

    private static func isZoneFile(_ path: FilePath) -> Bool {
        // Without `nonBlocking`, opening a FIFO would wait for a writer.
        guard let file = try? FileDescriptor.open(path, .readOnly, options: [.nonBlocking, .closeOnExec]) else {
            return false
        }
        var magic: [UInt8] = [0, 0, 0, 0]
        // If the file cannot be read here, localtime(3) cannot read it either.
        let count = try? file.closeAfter { unsafe try magic.withUnsafeMutableBytes { unsafe try file.read(into: $0) } }
        return count == 4 && magic == Array("TZif".utf8)
    }

    /// Returns whether text starts with a name and an offset from UTC of 0 to 24 hours. The name has three or more
    /// letters, or three or more of any characters between < and >.
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
        // Hours from 0 to 24. Minutes, or the name of summer time, can follow.
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self)).map { $0 <= 24 } ?? false
    }
}
