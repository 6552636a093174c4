import BaseTypes
public import BeaconMonitoring

/// Selects fixes that are far from the last selected one, and limits their rate: a value.
///
///     var filter = SignificantChangeFilter()
///     if let change = filter.located(fix) { print(change.coordinate) }
///
/// Source: Apple, “Getting the user's location”: 500 metres or more, and no more than once every five minutes.
public struct SignificantChangeFilter: Sendable {
    /// The minimum distance in metres.
    public static let distance = 500.0
    /// The minimum time between two selected fixes.
    public static let interval: Duration = .seconds(300)

    private var last: LocationFix?

    /// Creates a filter that selects its first fix.
    public init() {}

    /// Returns the fix if it is selected, otherwise `nil`.
    public mutating func located(_ fix: LocationFix) -> LocationFix? {
        if let last {
            guard fix.time - last.time >= Self.interval else { return nil }
            let distance = last.coordinate.distance(to: fix.coordinate)
            // A fix whose error can be larger than the distance does not prove a change.
            guard distance >= Self.distance, distance > fix.horizontalAccuracy else { return nil }
        }
        last = fix
        return fix
    }
}
