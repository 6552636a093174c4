import BaseTypes

/// A time in GPX (xsd:dateTime, ISO 8601): `2026-11-21T07:46:27.5Z`. Without a zone, it is UTC.
enum GPXTime {
    /// Returns the instant of a text; `nil` if it is not a time within 1970…2100.
    static func parse(_ text: [UInt8]) -> Instant? {
        var text = text[...]
        while let first = text.first, first <= 0x20 { text.removeFirst() }
        while let last = text.last, last <= 0x20 { text.removeLast() }
        guard let year = number(&text, 4), take(&text, "-"), let month = number(&text, 2), take(&text, "-"),
            let day = number(&text, 2), take(&text, "T") || take(&text, " "), let hour = number(&text, 2),
            take(&text, ":"), let minute = number(&text, 2)
        else { return nil }
        var second: Int64 = 0
        if take(&text, ":") {
            guard let seconds = number(&text, 2) else { return nil }
            second = seconds
        }
        var nanoseconds: Int64 = 0
        if take(&text, ".") || take(&text, ",") {
            var scale: Int64 = 100_000_000
            var digits = 0
            while let digit = text.first, (0x30...0x39).contains(digit) {
                nanoseconds += Int64(digit - 0x30) * scale
                scale /= 10
                digits += 1
                text.removeFirst()
            }
            guard digits > 0 else { return nil }
        }
        guard let zone = zone(&text), text.isEmpty, minute < 60, second <= 60,
            // 24:00:00 is the end of the day (XML Schema 1.1 Part 2, §3.3.7.2).
            hour < 24 || hour == 24 && minute == 0 && second == 0 && nanoseconds == 0,
            let days = CivilDate.existingDay(year: Int(year), month: Int(month), day: Int(day))
        else { return nil }
        let whole = Int64(days) * 86_400 + hour * 3600 + minute * 60 + second - zone
        // Up to 2101-01-01, as for records of captures.
        guard (0..<4_133_980_800).contains(whole), second < 60 || CivilDate.canFollowLeapSecond(Int(whole)) else {
            return nil
        }
        return Instant(nanoseconds: whole * 1_000_000_000 + nanoseconds)
    }

    private static func take(_ text: inout ArraySlice<UInt8>, _ character: Unicode.Scalar) -> Bool {
        guard let first = text.first, UInt32(first) == character.value else { return false }
        text.removeFirst()
        return true
    }

    private static func number(_ text: inout ArraySlice<UInt8>, _ digits: Int) -> Int64? {
        guard text.count >= digits else { return nil }
        var number: Int64 = 0
        for byte in text.prefix(digits) {
            guard (0x30...0x39).contains(byte) else { return nil }
            number = number * 10 + Int64(byte - 0x30)
        }
        text.removeFirst(digits)
        return number
    }

    /// Returns the offset of the zone in seconds east of Greenwich.
    private static func zone(_ text: inout ArraySlice<UInt8>) -> Int64? {
        if text.isEmpty || take(&text, "Z") || take(&text, "z") { return 0 }
        let isWest = take(&text, "-")
        guard isWest || take(&text, "+"), let hours = number(&text, 2), hours <= 23 else { return nil }
        _ = take(&text, ":")
        let minutes = text.isEmpty ? 0 : number(&text, 2)
        guard let minutes, minutes < 60 else { return nil }
        return (hours * 3600 + minutes * 60) * (isWest ? -1 : 1)
    }
}
