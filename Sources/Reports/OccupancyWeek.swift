import BeaconMonitoring
import CommandSupport

/// The average number of subjects that were present at each hour of each day of the week, over the known time.
struct OccupancyWeek {
    static let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

    /// The sums over all hours of one place in the week, in microseconds.
    private struct Cell {
        var present: Int64 = 0
        var known: Int64 = 0
    }

    private var cells = Array(repeating: Cell(), count: 7 * 24)

    /// Computes the week from intervals of one hour each.
    init(_ hours: [OccupancyReport.Interval], _ time: ZonedTime) {
        for hour in hours {
            let seconds = hour.from.microseconds / 1_000_000 + time.offset(at: hour.from)
            // 1970-01-01 was a Thursday.
            let day = ((seconds / 86_400) % 7 + 10) % 7
            let place = Int(day) * 24 + Int((seconds / 3600) % 24)
            guard cells.indices.contains(place) else { continue }
            cells[place].present += hour.present
            cells[place].known += hour.known
        }
    }

    /// Returns the mean in hundredths, rounded half up; `nil` if nothing is known about this hour.
    func meanHundredths(day: Int, hour: Int) -> Int64? {
        let cell = cells[day * 24 + hour]
        guard cell.known > 0 else { return nil }
        let (whole, rest) = cell.present.quotientAndRemainder(dividingBy: cell.known)
        return whole * 100 + (rest * 200 + cell.known) / (2 * cell.known)
    }

    /// The greatest of all means, in hundredths; 0 if there is none.
    var mostHundredths: Int64 {
        (0..<7).flatMap { day in (0..<24).compactMap { meanHundredths(day: day, hour: $0) } }.max() ?? 0
    }
}
