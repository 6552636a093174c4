import BeaconMonitoring
import CommandSupport

/// The intervals of an occupancy report. They are aligned to the midnights of a zone, also across changes of its clock.
///
/// A day with a clock change has 23 or 25 hours. Intervals longer than the change start at the same local times as on
/// all other days, and the one with the change is that much shorter or longer. Other intervals keep their length, and
/// there are more or fewer of them.
struct OccupancyIntervals {
    /// The valid lengths of an interval: a minute to a day.
    static let lengths: ClosedRange<Duration> = .seconds(60)...(.seconds(86_400))

    /// The maximum number of intervals: ten weeks with intervals of a minute, almost three years with 15 minutes.
    static let countMax = 100_000

    private static let second: Int64 = 1_000_000
    private static let day: Int64 = 86_400

    /// The starts of the intervals and the end of the last one, in order: one more than there are intervals.
    let bounds: [WallDate]

    /// The number of intervals.
    var count: Int { bounds.count - 1 }

    /// Creates intervals of one length that contain the time between two dates; `nil` if there would be more than
    /// ``countMax``.
    ///
    /// - Parameters:
    ///   - every: the length of each, within ``lengths``, in whole seconds.
    ///   - first: a date in the first interval.
    ///   - last: a date in the last interval, or its end. It must not be before `first`.
    ///   - from: the earliest start of the first interval.
    ///   - to: the latest end of the last interval.
    ///   - time: the zone.
    init?(every: Duration, first: WallDate, last: WallDate, from: WallDate?, to: WallDate?, in time: ZonedTime) {
        let length = every.components.seconds
        let (begin, end) = (Self.seconds(first), max(Self.seconds(last), Self.seconds(first) + 1))
        // Days with a clock change have an hour more or less, and their last interval can be cut. Twice the maximum is
        // enough for this rough check.
        guard (end - begin) / length <= 2 * Int64(Self.countMax) else { return nil }
        var bounds: [Int64] = []
        var midnight = time.start(ofDay: time.day(atSecond: begin))
        repeat {
            let next = time.start(ofDay: time.day(atSecond: midnight) + 1)
            for bound in Self.bounds(from: midnight, to: next, length, time) {
                // The first interval starts at the last bound that is not after the first date.
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

    /// Returns the number of the interval that contains a date, from 0; `nil` if none does.
    func place(of date: WallDate) -> Int? {
        guard let first = bounds.first, let last = bounds.last, date >= first, date < last else { return nil }
        var (low, high) = (0, count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if bounds[middle] <= date { low = middle } else { high = middle }
        }
        return low
    }

    /// Returns the starts of the intervals of one day, in seconds since 1970.
    private static func bounds(from midnight: Int64, to next: Int64, _ length: Int64, _ time: ZonedTime) -> [Int64] {
        let change = next - midnight - day
        var bounds: [Int64] = []
        var number: Int64 = 0
        while true {
            var bound = midnight + number * length
            if change != 0, length > abs(change) {
                let usual = time.offset(atSecond: midnight)
                let moved = bound - (time.offset(atSecond: bound) - usual)
                // If the change skips this local time, the interval starts later by the length of the change.
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
