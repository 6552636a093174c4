import Glibc
package import SystemPackage

/// Identifies an event file in its present state, by its name, inode, size and times. A file that was rewritten,
/// replaced or truncated, or a copy of it, has another mark.
package struct SegmentMark: Sendable, Hashable, ByteCoded {
    private var name = ""
    private var inode: UInt64 = 0
    private var size: Int64 = 0
    // Digests of the times of the last change of the content and of the inode (`st_mtim`, `st_ctim` of stat(2)).
    private var modified: UInt64 = 0
    private var changed: UInt64 = 0

    package static var blank: SegmentMark { SegmentMark() }

    package mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        try coder.code(&name)
        try coder.code(&inode)
        try coder.code(&size)
        try coder.code(&modified)
        try coder.code(&changed)
    }

    /// Returns the marks of the event files that come before the file `name`, in the order of their lines.
    ///
    /// - Returns: `nil` if there is no file of that name.
    /// - Throws: `Errno` of opendir(3) and stat(2).
    package static func marks(before name: String, in directory: FilePath) throws(Errno) -> [SegmentMark]? {
        var list = SegmentList()
        let segments = try list.read(directory, SystemFiles())
        guard let end = segments.firstIndex(where: { $0.name == name }) else { return nil }
        var marks: [SegmentMark] = []
        for segment in segments[..<end] { marks.append(try mark(segment.name, in: directory)) }
        return marks
    }

    private static func mark(_ name: String, in directory: FilePath) throws(Errno) -> SegmentMark {
        var status = stat()
        let result = unsafe directory.appending(name).withPlatformString { unsafe stat($0, &status) }
        guard result == 0 else { throw Errno(rawValue: errno) }
        func digest(_ time: timespec) -> UInt64 {
            unsafe withUnsafeBytes(of: time) { unsafe ByteCoder.digest(Array($0)[...]) }
        }
        return SegmentMark(
            name: name, inode: UInt64(status.st_ino), size: Int64(status.st_size),
            modified: digest(status.st_mtim), changed: digest(status.st_ctim))
    }
}
