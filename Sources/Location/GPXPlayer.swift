public import BaseTypes
public import BeaconMonitoring

/// Plays a plan: fix after fix, at each point and once a second between two, along the shortest line between them as
/// Xcode's simulator does.
///
/// A value: it gives what comes next and knows no clock. Fixes are dated on the plan's timeline.
public struct GPXPlayer: Sendable {
    /// What comes next.
    public enum Item: Sendable, Hashable {
        /// The source is here.
        case fix(LocationFix)
        /// A stretch ended at that time: there is no fix until the next one.
        case pause(at: Instant)

        /// When it is.
        public var time: Instant {
            switch self {
            case .fix(let fix): fix.time
            case .pause(let time): time
            }
        }
    }

    /// Between two points there is a fix each second.
    public static let step: Duration = .seconds(1)

    /// What is played.
    public let plan: GPXPlan
    /// Whether it begins again a second after its end.
    public let loops: Bool

    private var stretch = 0
    /// The point that was reached, −1 before the first; and how many steps were taken since.
    private var place = -1
    private var steps: Int64 = 0
    private var leg: (length: Double, azimuth: Double) = (0, 0)
    private var pauses = false
    /// How long all rounds before this one took.
    private var shift: Duration = .zero

    /// A player at the beginning.
    public init(_ plan: GPXPlan, loops: Bool = false) {
        self.plan = plan
        self.loops = loops
    }

    /// The next thing; `nil` at the end, which one that loops never reaches.
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
        // Between two points no better than the worse of them.
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
