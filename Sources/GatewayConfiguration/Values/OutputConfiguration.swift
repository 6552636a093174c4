/// Where the event files go, and for how long.
public struct OutputConfiguration: Sendable, Hashable {
    /// When a line is on the disk.
    public enum Durability: Sendable, Hashable {
        /// Before it counts: fsync for each event.
        case event
        /// At most so long after it was written: 10 ms … 1 h.
        case every(Duration)
    }

    /// The folder of the event files, an absolute path.
    public var directory = "/var/lib/beacon-gateway/events"
    /// The folder of the records and locks, an absolute path.
    public var stateDirectory = "/var/lib/beacon-gateway/state"
    /// The socket that `status` asks, an absolute path of at most 107 octets.
    public var statusSocket = "/run/beacon-gateway/status.sock"
    /// Whether lines are envelopes with topic and qos; else payloads alone.
    public var envelope = true
    /// How large a file may grow, in octets: 4 KiB … 1 TiB.
    public var rotateSize: Int64 = 64 << 20
    /// How old a file may grow: 1 min … 366 d.
    public var rotateInterval: Duration = .seconds(86_400)
    /// How long closed files are kept: 1 h … 3,660 d.
    public var retain: Duration = .seconds(30 * 86_400)
    /// How many octets all files may have: 4 KiB … 1 PiB, and at least ``rotateSize``.
    public var retainSize: Int64 = 2 << 30
    /// When a line is on the disk.
    public var durability: Durability = .event

    /// The defaults.
    public init() {}
}
