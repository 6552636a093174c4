import BeaconMonitoring

// What lies between the dates that were asked for.
extension VisitsBook.Stay {
    /// Whether the subject is known to be present when the report is made.
    var isPresent: Bool { end == .open && notKnownSince == nil }
    /// When it was last known to be going on, wherever that lies.
    var lastKnown: WallDate { end == .open ? until : departure ?? until }

    /// From arrival to departure, or as long as it is known to have gone on, in microseconds; of a clipped stay what lies
    /// inside. Absent where nobody knows when it began, or was last heard.
    var duration: Int64? {
        guard let arrival, let last = end == .open ? until : departure else { return nil }
        let from = max(arrival, clippedFrom ?? arrival)
        let to = min(last, clippedTo ?? last)
        return max(0, to.microseconds - from.microseconds)
    }

    /// Whether it began before what was asked for.
    var beganBefore: Bool { clippedFrom != nil }
    /// Whether it went on past the end of what was asked for.
    var goesOn: Bool { clippedTo != nil }

    /// The part of it that lies between two dates, of which either may be absent; `nil` where none does.
    func clipped(from: WallDate?, to: WallDate?) -> VisitsBook.Stay? {
        let last = lastKnown
        // What was over, or not known any more, before that has no part in it; a present subject is there until the report.
        if let from, !isPresent, last < from || end == .open && last == from { return nil }
        if let to, arrival ?? last >= to { return nil }
        var stay = self
        if let from, let arrival, arrival < from { stay.clippedFrom = from }
        if let to, last > to { stay.clippedTo = to }
        return stay
    }
}

extension HearingBook.Silence {
    /// The part of it that lies between two dates, of which either may be absent; `nil` where none does.
    func clipped(from: WallDate?, to: WallDate?) -> HearingBook.Silence? {
        if let from, let end = self.to, end <= from { return nil }
        if let to, self.from >= to { return nil }
        var silence = self
        if let from, self.from < from { silence.from = from }
        if let to, self.to.map({ $0 > to }) ?? true { silence.to = to }
        return silence
    }
}
