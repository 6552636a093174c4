public import BaseTypes
public import BeaconMonitoring

/// A start or stop of a gateway: the content of a `gateway` line.
public struct GatewayChange: Sendable, Hashable {
    /// The kind of change.
    public enum Kind: Sendable, Hashable {
        /// The gateway was started.
        ///
        /// - `program`: the version of the program.
        /// - `configuration`: the SHA-256 of the configuration file in hexadecimal; `nil` if the configuration was read
        ///   from standard input, or if the file could not be read again.
        /// - `until`: the latest time at which the earlier run is known to have been alive; `nil` if it is not known.
        case started(program: String, configuration: String?, until: Instant?)
        /// The gateway was stopped. The reason is a text for people.
        case stopped(reason: String)
    }

    /// The kind of change.
    public var kind: Kind
    /// The time, on the timeline.
    public var time: Instant
    /// How far the wall clock is ahead of the timeline.
    public var clockOffset: ClockOffset

    /// Creates a change at `time`.
    public init(_ kind: Kind, at time: Instant, clockOffset: ClockOffset) {
        self.kind = kind
        self.time = time
        self.clockOffset = clockOffset
    }
}
