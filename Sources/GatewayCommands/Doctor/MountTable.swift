/// Interprets the content of `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
enum MountTable {
    /// Returns whether the file system of a device is f2fs that stores small files in their inodes: one that is mounted
    /// without `noinline_data`.
    ///
    /// - Parameters:
    ///   - text: the content of the file.
    ///   - device: `st_dev` of stat(2), in the form of makedev(3).
    /// - Returns: `false` also if the device is not in the table.
    static func hasInlineF2FS(_ text: String, device: UInt64) -> Bool {
        let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
        let minor = device & 0xFF | (device >> 12) & 0xFFFF_FF00
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ")
            // A hyphen ends the optional fields. The type, the source, and the options of the file system follow.
            guard fields.count > 6, fields[2] == "\(major):\(minor)", let hyphen = fields[6...].firstIndex(of: "-"),
                hyphen + 3 < fields.endIndex, fields[hyphen + 1] == "f2fs"
            else { continue }
            return !fields[hyphen + 3].split(separator: ",").contains("noinline_data")
        }
        return false
    }
}
