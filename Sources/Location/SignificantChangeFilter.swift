import BaseTypes
public import BeaconMonitoring

/// Passes on what is far from the last that it passed on, and not too often: a value.
///
/// Source: Apple, “Getting the user's location”: 500 metres or more, and no more than once every five minutes.
public struct SignificantChangeFilter: Sendable {
    /// The metres that it must have gone.
    public static let distance = 500.0
    /// The least time between two.
    public static let interval: Duration = .seconds(300)

    private var last: LocationFix?

    /// A filter whose first fix passes.
    public init() {}

    /// The fix, where it is one to be told of.
    public mutating func located(_ fix: LocationFix) -> LocationFix? {
        if let last {
            guard fix.time - last.time >= Self.interval else { return nil }
            let distance = last.coordinate.distance(to: fix.coordinate)
            // A fix that may be wrong by more than that proves no change.
            guard distance >= Self.distance, distance > fix.horizontalAccuracy else { return nil }
        }
        last = fix
        return fix
    }
}
