import BaseTypes

// How durations are told to people: each way once.
extension Duration {
    /// Roughly: `3.2 s`, `12 min`, `5 h`, `3 d`.
    package var inWords: String {
        let seconds = nanoseconds / 1_000_000_000
        switch seconds {
        case ..<60: return "\(inTenths) s"
        case ..<7200: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3600) h"
        default: return "\(seconds / 86_400) d"
        }
    }

    /// As it is, to the millisecond below an hour and to the minute above: `30 s`, `1.25 s`, `2 h 3 min`.
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

    /// ``inExactWords``, rounded up to the unit that is written: a millisecond, or a minute from an hour on.
    package var inExactWordsRoundedUp: String {
        let unit: Int64 = nanoseconds < 3_600_000_000_000 ? 1_000_000 : 60_000_000_000
        let (rounded, overflow) = nanoseconds.addingReportingOverflow(unit - 1)
        return Duration.nanoseconds(overflow ? nanoseconds : rounded / unit * unit).inExactWords
    }

    /// As hours, minutes and seconds, always all three, so that minutes are not taken for hours: `0:25:34`, `3:12:07`,
    /// `2d 04:10:00`.
    package var asClock: String {
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (days, rest) = components.seconds.quotientAndRemainder(dividingBy: 86_400)
        if days > 0 { return "\(days)d \(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60))" }
        return "\(rest / 3600):\(two(rest / 60 % 60)):\(two(rest % 60))"
    }

    /// Seconds with one decimal, the rest cut off: `3.2`.
    package var inTenths: String {
        let tenths = nanoseconds / 100_000_000
        return "\(tenths / 10).\(abs(tenths % 10))"
    }
}
