public import BeaconMonitoring
public import SystemPackage

/// Where a journal keeps its files, how long, and what may be lost.
public struct JournalOptions: Sendable {
    /// When a line is on the disk.
    public enum Durability: Sendable, Hashable {
        /// Before it counts: one fdatasync for all lines of a turn of the loop.
        case event
        /// At most so long after it was written; what is lost with the power is determined again.
        case every(Duration)
    }

    /// The folder of the event files.
    public var directory: FilePath
    /// The folder of `state.json`.
    public var stateDirectory: FilePath
    /// The gateway's name: the second level of every topic.
    public var gateway: Identifier
    /// The first level of every topic.
    public var prefix = "beacons"
    /// Whether lines are envelopes with topic and qos; else payloads alone.
    public var envelope = true
    /// How large a segment may grow, in octets, before the next line opens another.
    public var rotateSize = 64 << 20
    /// How old a segment may grow before the next line opens another.
    public var rotateInterval: Duration = .seconds(86_400)
    /// How long closed segments are kept, by the dates of their last lines.
    public var retain: Duration = .seconds(30 * 86_400)
    /// How many octets all segments may have.
    public var retainSize = 2 << 30
    /// When a line is on the disk.
    public var durability: Durability = .event
    /// How many octets of lines wait in memory while they can't be kept; then the oldest are dropped.
    public var queueSize = 8 << 20
    /// How long what no line tells (refreshes, holders) may be known to memory alone.
    public var snapshotInterval: Duration = .seconds(900)
    /// Whether a publisher says with ``Journal/shipped`` what it is done with; else every closed segment counts as shipped.
    public var waitsForShipping = false

    /// A journal with the defaults, in two folders that are made where they are not there.
    public init(directory: FilePath, stateDirectory: FilePath, gateway: Identifier) {
        self.directory = directory
        self.stateDirectory = stateDirectory
        self.gateway = gateway
    }
}

/// What tells one start from another: the machine's, and within it the process's.
///
/// Lines have it as `boot`: `9f3c2a11-04d1b7e2`. Lines with the same digits before the hyphen share one timeline.
public struct BootID: Sendable, Hashable {
    /// The machine's start: eight hexadecimal digits.
    public let machine: String
    /// The process's start: eight hexadecimal digits.
    public let process: String

    /// Makes one; `machine` is the text of `/proc/sys/kernel/random/boot_id` (random(4)), of which eight digits are kept.
    public init(machine: String, process: UInt32) {
        let digits = machine.utf8.filter {
            (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
        }
        self.machine = String(decoding: (digits + [UInt8](repeating: 0x30, count: 8)).prefix(8), as: UTF8.self)
        let text = String(process, radix: 16)
        self.process = String(repeating: "0", count: 8 - text.utf8.count) + text
    }

    /// The machine's present start, and one of the process by chance.
    ///
    /// - Throws: `Errno` where `/proc` can't be read.
    public static func current() throws(Errno) -> BootID {
        let files = SystemFiles()
        let file = try files.openForReading("/proc/sys/kernel/random/boot_id")
        defer { files.close(file) }
        var text: [UInt8] = []
        _ = try files.read(file, at: 0, count: 64, appendingTo: &text)
        return BootID(machine: String(decoding: text, as: UTF8.self), process: .random(in: 0 ... .max))
    }

    /// Both, as lines have them: `9f3c2a11-04d1b7e2`.
    public var text: String { "\(machine)-\(process)" }

    /// The part of a line's `boot` that names the machine's start.
    package static func machine(of boot: String) -> Substring { boot.prefix { $0 != "-" } }
}
