import EventLoops
import Glibc
import SystemPackage

/// Identifies a process, also after its number was used again.
struct ProcessIdentity: Sendable, Hashable, Comparable {
    var number: Int
    /// The start time in clock ticks since boot (proc(5), field 22 of stat).
    var start: UInt64

    /// Orders processes by start time, then by number.
    static func < (left: ProcessIdentity, right: ProcessIdentity) -> Bool {
        (left.start, left.number) < (right.start, right.number)
    }
}

/// Evidence, after a crash, whether the changes that a process left on adapters (advertisement monitors and settings)
/// are certainly still in effect.
///
/// Advertisement monitors are removed by an explicit request, by a bluetoothd that starts (it removes all), and
/// together with the adapter. So a written record is still valid if the machine has not been restarted, the entry of
/// the adapter in /sys is the same, and the same bluetoothd runs (or none, as before).
struct MachineEvidence: Sendable, Hashable {
    /// The content of /proc/sys/kernel/random/boot_id.
    var boot: String
    /// This process if the value was collected here; in a record, the process that wrote it.
    var owner: ProcessIdentity
    /// All running bluetoothd processes, in order.
    var daemons: [ProcessIdentity]
    /// The inodes of /sys/class/bluetooth/hciN, by N. An inode number is not used twice until the machine restarts.
    var inodes: [UInt16: UInt64] = [:]

    /// Collects the present state of the machine. Returns `nil` if it is not visible (`hidepid` hides the processes of
    /// other users).
    static func collect(adapters: [UInt16]) -> MachineEvidence? {
        guard let boot = SmallFile.text(of: "/proc/sys/kernel/random/boot_id"), identity(of: 1) != nil,
            let owner = identity(of: Int(getpid())), let names = SmallFile.names(in: "/proc")
        else { return nil }
        var evidence = MachineEvidence(
            boot: String(boot.prefix { $0.isHexDigit || $0 == "-" }), owner: owner, daemons: [])
        for process in names.lazy.compactMap({ Int($0) }) {
            let name = SmallFile.value(of: FilePath("/proc/\(process)/comm"))
            if name == "bluetoothd", let identity = identity(of: process) { evidence.daemons.append(identity) }
        }
        evidence.daemons.sort()
        for adapter in adapters {
            evidence.inodes[adapter] = SmallFile.inode(of: FilePath("/sys/class/bluetooth/hci\(adapter)"))
        }
        return evidence
    }

    /// Returns the identity of the process with this number, if it exists.
    static func identity(of process: Int) -> ProcessIdentity? {
        guard let stat = SmallFile.text(of: FilePath("/proc/\(process)/stat"), maximum: 4096) else { return nil }
        return start(in: stat).map { ProcessIdentity(number: process, start: $0) }
    }

    /// Parses the start time in the text of /proc/N/stat. The process name in it can contain spaces and parentheses.
    static func start(in stat: String) -> UInt64? {
        guard let end = stat.lastIndex(of: ")") else { return nil }
        // After the name comes field 3, so field 22 is the twentieth.
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        return fields.count > 19 ? UInt64(fields[19]) : nil
    }
}
