public import BaseTypes

/// An adapter starts or stops scanning, or is removed.
public struct ListeningChange: Sendable, Hashable {
    /// The kinds of changes.
    public enum Kind: Sendable, Hashable {
        /// The adapter scans from now on.
        case started
        /// The adapter does not scan from now on. `since` is the time at which it stopped for rules L2 and L3; `nil`
        /// means now.
        case stopped(since: Instant?)
        /// The adapter was removed from the configuration. It does not hold any subject from now on (rule L3).
        case removed
    }

    /// The adapter that changed.
    public var adapter: AdapterID
    /// The kind of change.
    public var kind: Kind
    /// The reason as a text for the `adapter` line.
    public var reason: String?

    /// Creates a change.
    public init(_ kind: Kind, adapter: AdapterID, reason: String? = nil) {
        self.kind = kind
        self.adapter = adapter
        self.reason = reason
    }
}
