/// What `/proc/self/mountinfo` says (proc_pid_mountinfo(5)).
enum MountTable {
    /// Whether a device's file system is f2fs that keeps small files in their inodes: mounted without `noinline_data`.
    ///
    /// - Parameters:
    ///   - text: the table.
    ///   - device: `st_dev` of stat(2), as makedev(3) has it.
    /// - Returns: `false` too where the device is not in the table.
    static func hasInlineF2FS(_ text: String, device: UInt64) -> Bool {
        let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
        let minor = device & 0xFF | (device >> 12) & 0xFFFF_FF00
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ")
            // Optional fields end with a hyphen; then come the type, the source, and the file system's own options.
            guard fields.count > 6, fields[2] == "\(major):\(minor)", let hyphen = fields[6...].firstIndex(of: "-"),
                hyphen + 3 < fields.endIndex, fields[hyphen + 1] == "f2fs"
            else { continue }
            return !fields[hyphen + 3].split(separator: ",").contains("noinline_data")
        }
        return false
    }
}
