public import BaseTypes
public import BeaconMonitoring

/// The times at which the points of a GPX file are played, in parts without a break.
///
///     let file = GPXReader.read(bytes)
///     let plan = try GPXPlan(file, pace: 1.5)
///     var player = GPXPlayer(plan)
///     while let item = player.next() {
///         if case .fix(let fix) = item { places.append(fix.coordinate) }
///     }
public struct GPXPlan: Sendable, Hashable {
    /// A point and the time at which it is reached.
    public struct Stop: Sendable, Hashable {
        /// The time on the timeline of the plan: since 1970 if the file has times, otherwise since its start.
        public var time: Instant
        /// The position.
        public var coordinate: Coordinate
        /// The accuracy in metres, 68 %.
        public var horizontalAccuracy: Double
        /// The altitude in metres; `nil` if the file has none.
        public var altitude: Double?
    }

    /// A longer time between two points is a break.
    public static let gapMax: Duration = .seconds(86_400)

    /// The parts in order of time. None is empty.
    public private(set) var stretches: [[Stop]] = []
    /// Whether the times are those of the file; false if they are computed from the pace.
    public let hasTimes: Bool
    /// Messages about what is skipped. A message about several points has the line of the first one, or 0.
    public private(set) var damages: [GPXFile.Damage] = []

    /// The reasons why a file cannot be played.
    public enum Problem: Error, Hashable, CustomStringConvertible {
        /// The file has no points.
        case empty
        /// The file has no times, and no pace was given.
        case paceMissing
        /// That many points have a time, none of the times is valid, and no pace was given.
        case timesInvalid(Int)
        /// The pace is not above 0 and finite.
        case paceInvalid(Double)

        /// A text for operators: what is wrong, and what to do.
        public var description: String {
            switch self {
            case .empty: "the file has no track, route or waypoint"
            case .paceMissing: "the file has no times; set the speed (pace, in metres per second)"
            case .timesInvalid(let count):
                "the file has \(count == 1 ? "1 time, which cannot" : "\(count) times, none of which can") be used"
            case .paceInvalid(let pace): "pace is \(pace) m/s; must be above 0"
            }
        }
    }

    /// Creates the plan of a file.
    ///
    /// If any point that is played (``GPXFile/lines``) has a valid time, points without one are skipped. So are points
    /// whose time is not after that of the point before, because time must not go back.
    /// - Parameters:
    ///   - file: the file.
    ///   - pace: the speed in metres per second, for a file without times.
    ///   - start: the start of a file without times.
    /// - Throws: ``Problem`` if there is nothing to play, a pace is missing, or none of the file's times is valid.
    public init(_ file: GPXFile, pace: Double? = nil, start: Instant = .earliest) throws(Problem) {
        let lines = file.lines
        guard !lines.isEmpty else { throw .empty }
        hasTimes = lines.contains { $0.contains { $0.time != nil } }
        if hasTimes {
            takeTimes(lines)
        } else {
            guard let pace else {
                let invalid = lines.reduce(0) { $0 + $1.count(where: \.isTimeInvalid) }
                throw invalid > 0 ? .timesInvalid(invalid) : .paceMissing
            }
            guard pace > 0, pace.isFinite else { throw .paceInvalid(pace) }
            takePace(lines, pace, start)
        }
        guard !stretches.isEmpty else { throw .empty }
    }

    /// The time of the first point.
    public var start: Instant { stretches.first?.first?.time ?? .earliest }
    /// The time of the last point.
    public var end: Instant { stretches.last?.last?.time ?? .earliest }

    private mutating func takeTimes(_ lines: [[GPXPoint]]) {
        var untimed = 0
        var late = 0
        var firstLine = 0
        var timed: [[Stop]] = []
        for line in lines {
            var stretch: [Stop] = []
            for point in line {
                guard let time = point.time else {
                    if untimed == 0 { firstLine = point.line }
                    untimed += 1
                    continue
                }
                if let last = stretch.last, time <= last.time {
                    late += 1
                    if late == 1 { note("a point is not later than the one before it, and is skipped", point.line) }
                    continue
                }
                if let last = stretch.last, time - last.time > Self.gapMax {
                    timed.append(stretch)
                    stretch = []
                }
                stretch.append(Self.stop(point, at: time))
            }
            if !stretch.isEmpty { timed.append(stretch) }
        }
        if untimed > 0 {
            let points = untimed == 1 ? "1 point without a time is" : "\(untimed) points without a time are"
            note("\(points) skipped, because others have one", firstLine)
        }
        if late > 1 {
            let points = late == 2 ? "1 more point that is" : "\(late - 1) more points that are"
            note("\(points) not later than the one before \(late == 2 ? "is" : "are") skipped", 0)
        }
        // Tracks can be in any order. If two overlap in time, only the first one is played there.
        var overlapping = 0
        for stretch in timed.enumerated().sorted(by: {
            ($0.element[0].time, $0.offset) < ($1.element[0].time, $1.offset)
        })
        .map(\.element) {
            if let last = stretches.last?.last?.time, stretch[0].time <= last {
                let rest = stretch.drop { $0.time <= last }
                overlapping += stretch.count - rest.count
                if !rest.isEmpty { stretches.append(Array(rest)) }
            } else {
                stretches.append(stretch)
            }
        }
        if overlapping > 0 {
            let points = overlapping == 1 ? "1 point lies" : "\(overlapping) points lie"
            note("\(points) in the time of another track, and \(overlapping == 1 ? "is" : "are") skipped", 0)
        }
    }

    private mutating func takePace(_ lines: [[GPXPoint]], _ pace: Double, _ start: Instant) {
        var time = start
        for line in lines {
            var stretch: [Stop] = []
            for point in line {
                if let last = stretch.last {
                    let seconds = last.coordinate.distance(to: point.coordinate) / pace
                    let took = Self.duration(seconds)
                    guard took > .zero else { continue }
                    if took > Self.gapMax {
                        stretches.append(stretch)
                        stretch = []
                        time = time + .seconds(1)
                    } else {
                        time = time + took
                    }
                }
                stretch.append(Self.stop(point, at: time))
            }
            if !stretch.isEmpty { stretches.append(stretch) }
            // A break of one second, in which the position changes.
            time = time + .seconds(1)
        }
    }

    private static func stop(_ point: GPXPoint, at time: Instant) -> Stop {
        Stop(
            time: time, coordinate: point.coordinate, horizontalAccuracy: point.horizontalAccuracy,
            altitude: point.altitude)
    }

    static func duration(_ seconds: Double) -> Duration {
        guard seconds.isFinite, seconds > 0 else { return .zero }
        return .nanoseconds(Int64(min(seconds * 1e9, 9e18)))
    }

    private mutating func note(_ message: String, _ line: Int) {
        damages.append(GPXFile.Damage(line: line, column: line > 0 ? 1 : 0, message: message))
    }
}
