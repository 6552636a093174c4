public import BaseTypes

/// That an adapter began or ceased to listen.
public struct ListeningChange: Sendable, Hashable {
    /// What changed.
    public enum Kind: Sendable, Hashable {
        /// It listens from now on.
        case started
        /// It does not listen from now on; `since` is the moment it stopped for rules L2 and L3, now where absent.
        case stopped(since: Instant?)
        /// It was taken out of the configuration and holds nothing any more (rule L3).
        case removed
    }

    /// The adapter that began or ceased to listen.
    public var adapter: AdapterID
    /// Whether it began, ceased, or was taken out.
    public var kind: Kind
    /// Why, in words for the `adapter` line.
    public var reason: String?

    /// A change as a source of sightings tells it.
    public init(_ kind: Kind, adapter: AdapterID, reason: String? = nil) {
        self.kind = kind
        self.adapter = adapter
        self.reason = reason
    }
}
