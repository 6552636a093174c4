import Glibc
package import SystemPackage

/// Wakes a loop when a file of a directory is written, created or removed (inotify(7)).
package final class DirectoryWatch {
    /// Changes after which a reader of event files cannot simply continue with the bytes that were appended.
    package struct Changes: OptionSet, Sendable {
        /// The bits of the set.
        package let rawValue: UInt8
        /// Creates a set from bits.
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// A file whose name starts with `events-` replaced another one, as in an erasure.
        package static let replaced = Changes(rawValue: 1)
        /// A file whose name starts with `events-` was deleted or moved away.
        package static let removed = Changes(rawValue: 2)
        /// The directory itself was deleted, moved or unmounted. A new watch must be created.
        package static let gone = Changes(rawValue: 4)
    }

    private let loop: EventLoop
    private let descriptor: FileDescriptor
    private let body: (Changes) -> Void
    // Identifies the directory that the path led to.
    private let (device, inode): (dev_t, ino_t)
    private var watch: EventLoop.Watch?
    // In bytes. An event of a file has at least 16 + 16 bytes, so this is at most 64 events in each turn.
    private static let readMax = 32 * EventLoop.recordsPerTurn

    /// Watches a directory, which must exist.
    ///
    /// - Parameters:
    ///   - directory: the directory.
    ///   - loop: the loop to wake.
    ///   - body: called on each wake-up, with these changes; empty if it is sufficient to continue reading.
    /// - Throws: `Errno` of stat(2), inotify_init1(2), inotify_add_watch(2) and epoll_ctl(2).
    package init(
        _ directory: FilePath, on loop: EventLoop, _ body: @escaping (Changes) -> Void = { _ in }
    ) throws(Errno) {
        (self.loop, self.body) = (loop, body)
        // stat(2) comes first: if the folder is replaced before the watch is added, `isStill` notices it.
        guard let place = Self.place(of: directory) else { throw Errno(rawValue: errno) }
        (device, inode) = place
        let made = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        guard made >= 0 else { throw Errno(rawValue: errno) }
        descriptor = FileDescriptor(rawValue: made)
        let mask = UInt32(
            IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF)
        let added = unsafe directory.withPlatformString { unsafe inotify_add_watch(made, $0, mask) }
        let failure = errno
        guard added >= 0 else {
            // The object is fully initialized, so its deinit closes the descriptor.
            throw Errno(rawValue: failure)
        }
        watch = try loop.watch(descriptor, for: .read) { [unowned self] _ in drain() }
    }

    deinit {
        if let watch { loop.end(watch) }
        _ = try? descriptor.close()
    }

    /// Returns whether a path leads to the watched directory (stat(2)).
    ///
    /// It no longer does after a parent directory was renamed, or another file system was mounted over it. The kernel
    /// reports neither.
    package func isStill(_ directory: FilePath) -> Bool {
        Self.place(of: directory).map { $0 == (device, inode) } ?? false
    }

    private static func place(of directory: FilePath) -> (dev_t, ino_t)? {
        var status = stat()
        guard unsafe directory.withPlatformString({ unsafe stat($0, &status) }) == 0 else { return nil }
        return (status.st_dev, status.st_ino)
    }

    // Events of written files need no evaluation, because the reader continues to read after each wake-up. An overflow
    // counts as a replacement, because it may have hidden one.
    private func drain() {
        var changes: Changes = []
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.readMax, alignment: 8) { buffer in
            let count = unsafe read(descriptor.rawValue, buffer.baseAddress, buffer.count)
            // struct inotify_event: descriptor, mask, cookie, length of the name, and the name.
            var place = 0
            while place + 16 <= count {
                let mask = unsafe buffer.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
                let length = unsafe Int(buffer.loadUnaligned(fromByteOffset: place + 12, as: UInt32.self))
                let name = unsafe buffer[min(place + 16, count)..<min(place + 16 + length, count)]
                let isSegment = unsafe name.starts(with: "events-".utf8)
                if mask & UInt32(IN_Q_OVERFLOW) != 0 || mask & UInt32(IN_MOVED_TO) != 0 && isSegment {
                    changes.insert(.replaced)
                }
                if mask & UInt32(IN_DELETE | IN_MOVED_FROM) != 0, isSegment { changes.insert(.removed) }
                if mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED) != 0 { changes.insert(.gone) }
                place += 16 + length
            }
        }
        body(changes)
    }
}
