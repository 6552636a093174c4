/// Up to when those gateways are complete that are waited for, each at its place (rule M1). Nanoseconds.
///
/// All of them are gone over with each batch, so they stand side by side.
struct LiveTimes: Sendable, Hashable {
    private static let absent = Int64.max
    private var times: [Int64] = []

    /// Adds a place, of one that is not waited for.
    mutating func append() { times.append(Self.absent) }

    /// Takes a place away; those behind it move up.
    mutating func remove(at place: Int) { times.remove(at: place) }

    /// Up to when it is complete; absent where it is not waited for.
    subscript(place: Int) -> Int64? {
        get { times[place] == Self.absent ? nil : times[place] }
        set { times[place] = newValue ?? Self.absent }
    }

    /// The least; absent where nobody is waited for.
    var least: Int64? {
        let least = times.min() ?? Self.absent
        return least == Self.absent ? nil : least
    }

    /// The greatest; absent where nobody is waited for.
    var greatest: Int64? {
        var greatest: Int64?
        for time in times where time != Self.absent { greatest = max(greatest ?? time, time) }
        return greatest
    }

    /// The place of the least.
    var leastPlace: Int? {
        guard let least else { return nil }
        return times.firstIndex(of: least)
    }
}
