public import BaseTypes
public import BeaconMonitoring

/// That a gateway was started, or stopped: what a `gateway` line says.
public struct GatewayChange: Sendable, Hashable {
    /// What became of it.
    public enum Kind: Sendable, Hashable {
        /// It was started: by which version of the program, with which configuration (the file's SHA-256 in hexadecimal;
        /// absent where it was no file), and until when the run before is known to have been alive (absent where nothing
        /// says so).
        case started(program: String, configuration: String?, until: Instant?)
        /// It was stopped, for a reason in words.
        case stopped(reason: String)
    }

    /// What became of it.
    public var kind: Kind
    /// When, on the timeline.
    public var time: Instant
    /// How far the wall clock was ahead.
    public var clockOffset: ClockOffset

    /// That a gateway was started or stopped at `time`.
    public init(_ kind: Kind, at time: Instant, clockOffset: ClockOffset) {
        self.kind = kind
        self.time = time
        self.clockOffset = clockOffset
    }
}
