import BeaconMonitoring

/// The intervals that occupancy is told of: aligned to the midnights of a zone, over changes of its clock too.
///
/// A day with a clock change has 23 or 25 hours. Intervals longer than the change begin at the same local times as on all
/// other days, and the one that it falls into is that much shorter or longer; shorter intervals keep their length, and
/// there are more or fewer of them.
struct OccupancyIntervals {
    /// How long one may be.
    static let lengths: ClosedRange<Duration> = .seconds(60)...(.seconds(86_400))

    /// How many there may be: a minute's of ten weeks, fifteen minutes' of almost three years.
    static let countMax = 100_000

    private static let second: Int64 = 1_000_000
    private static let day: Int64 = 86_400

    /// Where they begin and end, in order: one more than there are intervals.
    let bounds: [WallDate]

    /// The number of intervals.
    var count: Int { bounds.count - 1 }

    /// The intervals of a length that hold the time between two dates; `nil` where there would be more than ``countMax``.
    ///
    /// - Parameters:
    ///   - every: how long each is, within ``lengths``, in whole seconds.
    ///   - first: a date in the first one.
    ///   - last: a date in the last one, or its end; not before `first`.
    ///   - from: where the first one begins at the earliest.
    ///   - to: where the last one ends at the latest.
    ///   - time: the zone.
    init?(every: Duration, first: WallDate, last: WallDate, from: WallDate?, to: WallDate?, in time: VisitsTime) {
        let length = every.components.seconds
        let (begin, end) = (Self.seconds(first), max(Self.seconds(last), Self.seconds(first) + 1))
        // Days with a clock change have an hour more or less, and their last interval may be cut: twice as many are enough.
        guard (end - begin) / length <= 2 * Int64(Self.countMax) else { return nil }
        var bounds: [Int64] = []
        var midnight = time.start(ofDay: time.day(atSecond: begin))
        repeat {
            let next = time.start(ofDay: time.day(atSecond: midnight) + 1)
            for bound in Self.bounds(from: midnight, to: next, length, time) {
                // The last bound that is not behind the first date is where the first interval begins.
                if bound <= begin { bounds.removeAll(keepingCapacity: true) }
                bounds.append(bound)
                if bound >= end { break }
            }
            midnight = next
        } while (bounds.last ?? .min) < end
        guard bounds.count - 1 <= Self.countMax else { return nil }
        var dates = bounds.map { WallDate(microseconds: $0 * Self.second) }
        if let from, let first = dates.first, first < from { dates[0] = from }
        if let to, let last = dates.last, last > to { dates[dates.count - 1] = to }
        self.bounds = dates
    }

    /// The number of the interval that a date lies in; `nil` where it lies in none.
    func place(of date: WallDate) -> Int? {
        guard let first = bounds.first, let last = bounds.last, date >= first, date < last else { return nil }
        var (low, high) = (0, count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if bounds[middle] <= date { low = middle } else { high = middle }
        }
        return low
    }

    /// Where the intervals of one day begin.
    private static func bounds(from midnight: Int64, to next: Int64, _ length: Int64, _ time: VisitsTime) -> [Int64] {
        let change = next - midnight - day
        var bounds: [Int64] = []
        var number: Int64 = 0
        while true {
            var bound = midnight + number * length
            if change != 0, length > abs(change) {
                let usual = time.offset(atSecond: midnight)
                let moved = bound - (time.offset(atSecond: bound) - usual)
                // A local time that the change leaves out: the interval begins as much later.
                if moved + time.offset(atSecond: moved) == bound + usual { bound = moved }
            }
            guard bound < next else { return bounds }
            if bounds.last.map({ $0 < bound }) ?? true { bounds.append(bound) }
            number += 1
        }
    }

    private static func seconds(_ date: WallDate) -> Int64 { floor(date.microseconds, by: second) }

    private static func floor(_ number: Int64, by divisor: Int64) -> Int64 {
        number / divisor - (number % divisor < 0 ? 1 : 0)
    }
}
