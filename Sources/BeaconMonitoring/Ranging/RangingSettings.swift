/// The settings for estimated distances.
public struct RangingSettings: Sendable, Hashable {
    /// The model that converts signal strengths to distances.
    public var model: DistanceModel
    /// The number of seconds over which RSSI values are averaged: 1 … 10, 5 by default.
    ///
    /// In five seconds, a walking person moves some metres, and a beacon that advertises ten times per second has fifty
    /// readings. All readings of the window have the same weight, and earlier ones have none.
    public var window: Int
    /// The distance in metres below which a beacon is `immediate`; 0.5 by default. Apple documents no value; most
    /// libraries use this one.
    public var immediateBelow: Double
    /// The distance in metres below which a beacon is `near`; 4 by default, as in most libraries.
    public var nearBelow: Double

    /// The range of ``window``, in seconds.
    public static let windowRange = 1...SignalMeter.secondsMax

    /// Creates settings. A window outside ``windowRange`` is moved to the nearest bound.
    public init(
        model: DistanceModel = .standard, window: Int = 5, immediateBelow: Double = 0.5, nearBelow: Double = 4
    ) {
        self.model = model
        self.window = min(max(window, Self.windowRange.lowerBound), Self.windowRange.upperBound)
        self.immediateBelow = immediateBelow
        self.nearBelow = nearBelow
    }

    /// Returns the proximity for a distance in metres; `unknown` for `nil`.
    public func proximity(of distance: Double?) -> Proximity {
        guard let distance else { return .unknown }
        return distance < immediateBelow ? .immediate : distance < nearBelow ? .near : .far
    }
}
