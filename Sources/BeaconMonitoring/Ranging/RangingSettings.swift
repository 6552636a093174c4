/// How distances are guessed.
public struct RangingSettings: Sendable, Hashable {
    /// What makes a distance of signal strengths.
    public var model: DistanceModel
    /// The seconds whose RSSIs are averaged: whole ones, 1 … 10.
    ///
    /// Five: a person who walks has gone some metres in that time, and a beacon that is heard ten times a second has fifty
    /// readings. Every reading of the window weighs the same, and none from before it weighs anything.
    public var window: Int
    /// Metres below which a beacon is `immediate`. Apple gives no figures; these are what most libraries settled on.
    public var immediateBelow: Double
    /// Metres below which a beacon is `near`.
    public var nearBelow: Double

    /// What a window may be, in seconds.
    public static let windowRange = 1...SignalMeter.secondsMax

    /// The defaults: free space, five seconds, half a metre and four metres.
    public init(
        model: DistanceModel = .standard, window: Int = 5, immediateBelow: Double = 0.5, nearBelow: Double = 4
    ) {
        self.model = model
        self.window = min(max(window, Self.windowRange.lowerBound), Self.windowRange.upperBound)
        self.immediateBelow = immediateBelow
        self.nearBelow = nearBelow
    }

    /// What a distance in metres comes to.
    public func proximity(of distance: Double?) -> Proximity {
        guard let distance else { return .unknown }
        return distance < immediateBelow ? .immediate : distance < nearBelow ? .near : .far
    }
}
