import BeaconMonitoring
import Glibc
import SystemPackage

extension VisitsTime {
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
