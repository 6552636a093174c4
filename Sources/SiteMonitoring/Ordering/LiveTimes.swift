/// The time to which each stream that is waited for is complete, by the index of the stream (rule M1). Times are
/// nanoseconds.
///
/// All times are scanned for each batch, so they are stored in one array.
struct LiveTimes: Sendable, Hashable {
    private static let absent = Int64.max
    private var times: [Int64] = []

    /// Adds a stream that is not waited for.
    mutating func append() { times.append(Self.absent) }

    /// Removes a stream. The indexes of later ones decrease.
    mutating func remove(at place: Int) { times.remove(at: place) }

    /// The time to which a stream is complete; `nil` if it is not waited for.
    subscript(place: Int) -> Int64? {
        get { times[place] == Self.absent ? nil : times[place] }
        set { times[place] = newValue ?? Self.absent }
    }

    /// The earliest time; `nil` if no stream is waited for.
    var least: Int64? {
        let least = times.min() ?? Self.absent
        return least == Self.absent ? nil : least
    }

    /// The latest time; `nil` if no stream is waited for.
    var greatest: Int64? {
        var greatest: Int64?
        for time in times where time != Self.absent { greatest = max(greatest ?? time, time) }
        return greatest
    }

    /// The index of the stream with the earliest time; `nil` if no stream is waited for.
    var leastPlace: Int? {
        guard let least else { return nil }
        return times.firstIndex(of: least)
    }
}
