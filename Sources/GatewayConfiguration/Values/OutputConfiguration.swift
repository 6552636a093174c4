/// The settings for event files.
public struct OutputConfiguration: Sendable, Hashable {
    /// The time at which a line is on the disk.
    public enum Durability: Sendable, Hashable {
        /// Before it counts: fsync(2) for each event.
        case event
        /// At most this long after it was written: 10 ms … 1 h.
        case every(Duration)
    }

    /// The folder of the event files, an absolute path.
    public var directory = "/var/lib/beacon-gateway/events"
    /// The folder of records and locks, an absolute path.
    public var stateDirectory = "/var/lib/beacon-gateway/state"
    /// The socket for `status`, an absolute path of at most 107 bytes.
    public var statusSocket = "/run/beacon-gateway/status.sock"
    /// Whether lines are envelopes with topic and qos; otherwise only payloads.
    public var envelope = true
    /// The maximum size of a file in bytes: 4 KiB … 1 TiB.
    public var rotateSize: Int64 = 64 << 20
    /// The maximum age of a file: 1 min … 366 d.
    public var rotateInterval: Duration = .seconds(86_400)
    /// The time for which closed files are kept: 1 h … 3,660 d.
    public var retain: Duration = .seconds(30 * 86_400)
    /// The maximum size of all files in bytes: 4 KiB … 1 PiB, and at least ``rotateSize``.
    public var retainSize: Int64 = 2 << 30
    /// The time at which a line is on the disk.
    public var durability: Durability = .event

    /// Creates the default settings.
    public init() {}
}
