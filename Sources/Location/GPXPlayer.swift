public import BaseTypes
public import BeaconMonitoring

/// Plays a plan: a fix at each point, and one per second between two points, on the shortest line between them, as in
/// Xcode's simulator.
///
/// A value without a clock: it returns the next item. The times of fixes are on the timeline of the plan.
public struct GPXPlayer: Sendable {
    /// The next element of a plan.
    public enum Item: Sendable, Hashable {
        /// The source is at this position.
        case fix(LocationFix)
        /// A part ended at that time. There is no fix until the next one.
        case pause(at: Instant)

        /// The time of the item.
        public var time: Instant {
            switch self {
            case .fix(let fix): fix.time
            case .pause(let time): time
            }
        }
    }

    /// The interval of fixes between two points.
    public static let step: Duration = .seconds(1)

    /// The plan that is played.
    public let plan: GPXPlan
    /// Whether the plan starts again one second after its end.
    public let loops: Bool

    private var stretch = 0
    /// The index of the last reached point, −1 before the first; and the number of steps since then.
    private var place = -1
    private var steps: Int64 = 0
    private var leg: (length: Double, azimuth: Double) = (0, 0)
    private var pauses = false
    /// The duration of all earlier rounds.
    private var shift: Duration = .zero

    /// Creates a player at the start of a plan.
    public init(_ plan: GPXPlan, loops: Bool = false) {
        self.plan = plan
        self.loops = loops
    }

    /// Returns the next item; `nil` at the end, which a plan that loops does not reach.
    public mutating func next() -> Item? {
        guard stretch < plan.stretches.count else {
            guard loops, plan.end + shift + .seconds(1) < .latest else { return nil }
            shift += (plan.end - plan.start) + .seconds(1)
            (stretch, place, steps) = (0, -1, 0)
            return next()
        }
        let stops = plan.stretches[stretch]
        if pauses {
            pauses = false
            let end = stops[stops.count - 1].time + shift
            (stretch, place, steps) = (stretch + 1, -1, 0)
            let isLast = stretch == plan.stretches.count && !loops
            return isLast ? next() : .pause(at: end)
        }
        if place < 0 {
            arrive(at: 0, stops)
            return fix(stops[0].coordinate, at: stops[0].time, of: stops)
        }
        let (from, to) = (stops[place], stops[place + 1])
        steps += 1
        let time = from.time + Self.step * steps
        guard time < to.time else {
            arrive(at: place + 1, stops)
            return fix(to.coordinate, at: to.time, of: stops)
        }
        let part = seconds(time - from.time) / seconds(to.time - from.time)
        let coordinate = from.coordinate.destination(azimuth: leg.azimuth, distance: leg.length * part)
        return fix(coordinate, at: time, of: stops)
    }

    private mutating func arrive(at index: Int, _ stops: [GPXPlan.Stop]) {
        place = index
        steps = 0
        guard index + 1 < stops.count else {
            pauses = true
            return
        }
        leg = (
            stops[index].coordinate.distance(to: stops[index + 1].coordinate),
            stops[index].coordinate.azimuth(to: stops[index + 1].coordinate)
        )
    }

    private func fix(_ coordinate: Coordinate, at time: Instant, of stops: [GPXPlan.Stop]) -> Item? {
        let (from, to) = (stops[place], stops[min(place + 1, stops.count - 1)])
        // Between two points, the accuracy is the worse one of both.
        let accuracy = time == from.time ? from.horizontalAccuracy : max(from.horizontalAccuracy, to.horizontalAccuracy)
        guard var fix = try? LocationFix(time: time + shift, coordinate: coordinate, horizontalAccuracy: accuracy)
        else {
            return nil
        }
        fix.altitude = from.altitude
        if place + 1 < stops.count {
            fix.speed = leg.length / seconds(to.time - from.time)
            fix.course = leg.azimuth < 360 ? leg.azimuth : 0
        }
        return .fix(fix)
    }

    private func seconds(_ duration: Duration) -> Double { Double(duration.nanoseconds) / 1e9 }
}
