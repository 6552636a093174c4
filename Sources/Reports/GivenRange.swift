package import BeaconMonitoring
package import CommandSupport

/// The range of a report, from the dates that a person gave as `from`, `to` and `on`.
///
/// The end is not part of the range. `from` and `to` with the same day or week mean this day or week, and so does `on`.
package struct GivenRange: Sendable {
    /// An error in the dates.
    package enum Invalid: Error {
        /// A date has an error. The names of options have no hyphens.
        case date(option: String, text: String, GivenDate.Invalid)
        /// `on` names an instant.
        case onNotPeriod(String)
        /// `on` is given together with `from` or `to`.
        case onWithOthers
        /// The start is not before the end.
        case reversed(from: String, to: String)
    }

    /// The start; `nil` if there is none.
    package private(set) var from: WallDate?
    /// The end; `nil` if there is none.
    package private(set) var to: WallDate?
    /// The given dates that clocks show twice. The instants that leave nothing out are taken.
    package private(set) var ambiguousDates: [AmbiguousDate] = []
    /// The texts of `from` and `to` that mean this range on each day; `nil` if there is no start or end.
    package private(set) var fixed: (from: String?, to: String?)

    /// Creates a range from the texts of the options; `nil` means that an option is not given.
    ///
    /// - Throws: ``Invalid`` with the first error.
    package init(
        from: String?, to: String?, on: String?, in time: ZonedTime, now: WallDate
    ) throws(Invalid) {
        func date(_ text: String?, _ option: String) throws(Invalid) -> GivenDate? {
            guard let text else { return nil }
            do throws(GivenDate.Invalid) {
                return try GivenDate(text, in: time, now: now)
            } catch {
                throw .date(option: option, text: text, error)
            }
        }
        let (begin, end) = (try date(from, "from"), try date(to, "to"))
        if let on, let period = try date(on, "on") {
            guard from == nil, to == nil else { throw .onWithOthers }
            guard period.end != nil else { throw .onNotPeriod(on) }
            (self.from, self.to) = (period.first, period.end)
            fixed = period.isRelative ? texts(in: time) : (on, on)
            return
        }
        fixed = (from, to)
        if let begin, let end, let last = begin.end, (begin.first, last) == (end.first, end.end) {
            (self.from, self.to) = (begin.first, last)
            if begin.isRelative || end.isRelative { fixed = texts(in: time) }
            return
        }
        (self.from, self.to) = (begin?.date(.first), end?.date(.second))
        if let start = self.from, let stop = self.to, start >= stop {
            throw .reversed(from: from ?? "", to: to ?? "")
        }
        let texts = texts(in: time)
        if begin?.isRelative ?? false { fixed.from = texts.from }
        if end?.isRelative ?? false { fixed.to = texts.to }
        ambiguousDates = [
            begin?.ambiguity(of: "from", taken: .first, in: time), end?.ambiguity(of: "to", taken: .second, in: time),
        ].compactMap(\.self)
    }

    private func texts(in time: ZonedTime) -> (from: String?, to: String?) {
        (from.map { Self.text($0, in: time) }, to.map { Self.text($0, in: time) })
    }

    /// Returns the text of a date to the second: `2026-11-21`, or `2026-11-21T09:00:00+01:00`.
    private static func text(_ date: WallDate, in time: ZonedTime) -> String {
        let text = time.plainText(date)
        guard time.startOfDay(date) != date else { return String(text.prefix(10)) }
        return text.replacing(" ", with: "T") + time.offsetText(date)
    }
}
