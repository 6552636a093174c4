public import BaseTypes

/// Where this gateway was at one moment (rule G1).
public struct LocationFix: Sendable, Hashable {
    /// When the gateway was there, on the timeline.
    public var time: Instant
    /// Where it was, on WGS 84.
    public let coordinate: Coordinate
    /// The radius in metres within which it really was in 68 % of all cases, 0 or more.
    public let horizontalAccuracy: Double
    /// Metres above the source's zero; absent where it does not say.
    public var altitude: Double?
    /// Metres a second over ground; absent where the source does not say.
    public var speed: Double?
    /// Degrees clockwise from true north, 0 ..< 360; absent where the source does not say.
    public var course: Double?

    /// A fix without altitude, speed and course, which can be added.
    ///
    /// - Throws: ``MonitorError/accuracyInvalid(_:)`` where the accuracy is absent, negative or not finite: it is none then.
    public init(
        time: Instant, coordinate: Coordinate, horizontalAccuracy: Double?
    ) throws(MonitorError) {
        guard let horizontalAccuracy, horizontalAccuracy >= 0, horizontalAccuracy.isFinite else {
            throw .accuracyInvalid(horizontalAccuracy)
        }
        self.time = time
        self.coordinate = coordinate
        self.horizontalAccuracy = horizontalAccuracy
    }
}
