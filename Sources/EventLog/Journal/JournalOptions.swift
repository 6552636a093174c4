public import BeaconMonitoring
public import SystemPackage

/// The options of a journal: its folders, its limits and its durability.
public struct JournalOptions: Sendable {
    /// The time at which a line is on the disk.
    public enum Durability: Sendable, Hashable {
        /// Before it counts: one fdatasync(2) for all lines of a turn of the loop.
        case event
        /// At most this long after it was written. State that is lost in a power failure is determined again.
        case every(Duration)
    }

    /// The folder of the event files.
    public var directory: FilePath
    /// The folder of `state.json`.
    public var stateDirectory: FilePath
    /// The name of the gateway, the second level of every topic.
    public var gateway: Identifier
    /// The first level of every topic.
    public var prefix = "beacons"
    /// Whether lines are envelopes with topic and qos; otherwise only payloads.
    public var envelope = true
    /// The maximum size of a segment in bytes. Lines that would exceed it start a new one.
    public var rotateSize = 64 << 20
    /// The maximum age of a segment. It is closed then, and the next line starts a new one.
    public var rotateInterval: Duration = .seconds(86_400)
    /// The time for which closed segments are kept, measured by the dates of their last lines.
    public var retain: Duration = .seconds(30 * 86_400)
    /// The maximum size of all segments in bytes.
    public var retainSize = 2 << 30
    /// The time at which a line is on the disk.
    public var durability: Durability = .event
    /// The maximum number of bytes of lines that wait in memory while they cannot be written. If there are more, the
    /// oldest are dropped.
    public var queueSize = 8 << 20
    /// The longest time for which state without lines (refreshes, holders) is only in memory.
    public var snapshotInterval: Duration = .seconds(900)
    /// Whether a publisher reports its progress with ``Journal/publishedSequence``; otherwise every closed segment
    /// counts as published.
    public var waitsForPublishing = false

    /// Creates the default options for two folders, which are created when needed.
    public init(directory: FilePath, stateDirectory: FilePath, gateway: Identifier) {
        self.directory = directory
        self.stateDirectory = stateDirectory
        self.gateway = gateway
    }
}

/// The ID of a start: of the machine, and of the process.
///
/// Lines have it as `boot`: `9f3c2a11-04d1b7e2`. Lines with the same digits before the hyphen have the same timeline.
public struct BootID: Sendable, Hashable {
    /// The start of the machine: eight hexadecimal digits.
    public let machine: String
    /// The start of the process: eight hexadecimal digits.
    public let process: String

    /// Creates an ID. `machine` is the text of `/proc/sys/kernel/random/boot_id` (random(4)), of which eight digits are
    /// used.
    public init(machine: String, process: UInt32) {
        let digits = machine.utf8.filter {
            (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
        }
        self.machine = String(decoding: (digits + [UInt8](repeating: 0x30, count: 8)).prefix(8), as: UTF8.self)
        let text = String(process, radix: 16)
        self.process = String(repeating: "0", count: 8 - text.utf8.count) + text
    }

    /// Returns an ID with the current start of the machine and a random number for the process.
    ///
    /// - Throws: `Errno` if `/proc` cannot be read.
    public static func current() throws(Errno) -> BootID {
        let files = SystemFiles()
        let file = try files.openForReading("/proc/sys/kernel/random/boot_id")
        defer { files.close(file) }
        var text: [UInt8] = []
        _ = try files.read(file, at: 0, count: 64, appendingTo: &text)
        return BootID(machine: String(decoding: text, as: UTF8.self), process: .random(in: 0 ... .max))
    }

    /// Both parts, as in lines: `9f3c2a11-04d1b7e2`.
    public var text: String { "\(machine)-\(process)" }

    /// Returns the part of a line's `boot` for the start of the machine.
    package static func machine(of boot: String) -> Substring { boot.prefix { $0 != "-" } }
}
