import EventLoops
import Glibc
import SystemPackage

/// A process that can't be mistaken for a later one with its number.
struct ProcessIdentity: Sendable, Hashable, Comparable {
    var number: Int
    /// When it started, in clock ticks since the machine did (proc(5), field 22 of stat).
    var start: UInt64

    /// Those started earlier are less.
    static func < (left: ProcessIdentity, right: ProcessIdentity) -> Bool {
        (left.start, left.number) < (right.start, right.number)
    }
}

/// What tells, after a crash, whether nobody can have touched what was left behind.
///
/// A monitor is removed by whoever asks for it; what does so unasked is a bluetoothd that starts, which removes all, and the
/// adapter's end. So what was written down still stands as long as the machine has not started anew, the adapter's entry in
/// /sys is the same one, and the same bluetoothd runs (or none, as before).
struct MachineEvidence: Sendable, Hashable {
    /// /proc/sys/kernel/random/boot_id.
    var boot: String
    /// This process, in its own collection; the one that wrote, in a record.
    var owner: ProcessIdentity
    /// The bluetoothds that run, in order.
    var daemons: [ProcessIdentity]
    /// The inode of /sys/class/bluetooth/hciN, by N: no two in one life of the machine are alike.
    var inodes: [UInt16: UInt64] = [:]

    /// The machine's present; `nil` where it does not show (`hidepid` hides others' processes).
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

    /// The process of that number, where it is there.
    static func identity(of process: Int) -> ProcessIdentity? {
        guard let stat = SmallFile.text(of: FilePath("/proc/\(process)/stat"), maximum: 4096) else { return nil }
        return start(in: stat).map { ProcessIdentity(number: process, start: $0) }
    }

    /// The start time in the text of /proc/N/stat. The name in it may hold blanks and parentheses.
    static func start(in stat: String) -> UInt64? {
        guard let end = stat.lastIndex(of: ")") else { return nil }
        // Behind the name: state is field 3, so field 22 is the twentieth.
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        return fields.count > 19 ? UInt64(fields[19]) : nil
    }
}
