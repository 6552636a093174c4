public import BaseTypes

/// The position of this gateway at one moment (rule G1).
public struct LocationFix: Sendable, Hashable {
    /// The time of the fix, on the timeline.
    public var time: Instant
    /// The position, on WGS 84.
    public let coordinate: Coordinate
    /// The accuracy in metres, 0 or more: the position is within this radius with a probability of 68 %.
    public let horizontalAccuracy: Double
    /// The altitude in metres above the zero of the source; `nil` if the source does not report it.
    public var altitude: Double?
    /// The speed over ground in metres per second; `nil` if the source does not report it.
    public var speed: Double?
    /// The course in degrees clockwise from true north, 0 ..< 360; `nil` if the source does not report it.
    public var course: Double?
    /// How far the wall clock is ahead of the timeline when the fix was received; `nil` if that is unknown, as for a
    /// fix that a program creates and passes on itself. The providers of the `Location` library set it.
    ///
    ///     fix.clockOffset = clock.offset
    public var clockOffset: ClockOffset?

    /// ``time``, on the wall clock (`CLLocation.timestamp`); `nil` without ``clockOffset``.
    ///
    ///     if let date = fix.date { print(date, fix.coordinate) }
    public var date: WallDate? { clockOffset.map { WallDate(time, offset: $0) } }

    /// Creates a fix without altitude, speed, course and date. They can be set afterwards.
    ///
    /// - Throws: ``MonitorError/accuracyInvalid(_:)`` if the accuracy is `nil`, negative or not finite. Such a fix is
    ///   not usable.
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

    /// Returns the distance in metres to another fix, without altitudes: that of ``Coordinate/distance(to:)``
    /// (`CLLocation.distance(from:)`).
    ///
    ///     let metres = fix.distance(from: earlier)
    public func distance(from other: LocationFix) -> Double { coordinate.distance(to: other.coordinate) }
}
