extension Duration {
    /// An approximate text in one unit: `3.2 s`, `12 min`, `5 h`, `3 d`.
    package var inWords: String {
        let seconds = nanoseconds / 1_000_000_000
        switch seconds {
        case ..<60: return "\(inTenths) s"
        case ..<7200: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3600) h"
        default: return "\(seconds / 86_400) d"
        }
    }

    /// A text to the millisecond below an hour, and to the minute from an hour on; the rest is cut off: `30 s`, `1.25 s`,
    /// `2 h 3 min`.
    package var inExactWords: String {
        let milliseconds = nanoseconds / 1_000_000
        if milliseconds >= 3_600_000 {
            let minutes = milliseconds / 60_000
            return "\(minutes / 60) h" + (minutes % 60 > 0 ? " \(minutes % 60) min" : "")
        }
        var fraction = String(1000 + milliseconds % 1000).dropFirst()
        while fraction.last == "0" { fraction.removeLast() }
        return "\(milliseconds / 1000)" + (fraction.isEmpty ? "" : ".\(fraction)") + " s"
    }

    /// ``inExactWords``, rounded up to a millisecond, or to a minute from an hour on.
    package var inExactWordsRoundedUp: String {
        let unit: Int64 = nanoseconds < 3_600_000_000_000 ? 1_000_000 : 60_000_000_000
        let (rounded, overflow) = nanoseconds.addingReportingOverflow(unit - 1)
        return Duration.nanoseconds(overflow ? nanoseconds : rounded / unit * unit).inExactWords
    }

    /// Hours, minutes and seconds, so that minutes are not mistaken for hours: `0:25:34`, `3:12:07`, `2d 04:10:00`.
    package var asClock: String {
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (days, rest) = components.seconds.quotientAndRemainder(dividingBy: 86_400)
        if days > 0 { return "\(days)d \(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60))" }
        return "\(rest / 3600):\(two(rest / 60 % 60)):\(two(rest % 60))"
    }

    /// Seconds with one decimal; the rest is cut off: `3.2`, `12.0`.
    package var inTenths: String {
        let tenths = nanoseconds / 100_000_000
        return "\(tenths / 10).\(abs(tenths % 10))"
    }

    /// Seconds with at most one decimal; the rest is cut off: `3.2`, `12`.
    package var inSeconds: String { inTenths.hasSuffix(".0") ? String(inTenths.dropLast(2)) : inTenths }

    /// The text of a setting, in the largest unit that gives a whole number: `30s`, `2m`, `500ms`.
    package var setting: String {
        let second: Int64 = 1_000_000_000
        func whole(_ unit: Int64, _ name: String) -> String? {
            nanoseconds >= unit && nanoseconds.isMultiple(of: unit) ? "\(nanoseconds / unit)\(name)" : nil
        }
        if let text = whole(86_400 * second, "d") ?? whole(3_600 * second, "h") ?? whole(60 * second, "m")
            ?? whole(second, "s")
        {
            return text
        }
        let (milliseconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return rest == 0 ? "\(milliseconds)ms" : "\(Double(nanoseconds) / 1e6)ms"
    }
}
