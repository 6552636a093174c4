import BeaconMonitoring

extension WallDate {
    /// How long after another date it is; `nil` where a duration can't be so long.
    func duration(since other: WallDate) -> Duration? {
        let (microseconds, overflow) = microseconds.subtractingReportingOverflow(other.microseconds)
        return overflow ? nil : .microseconds(microseconds)
    }
}
