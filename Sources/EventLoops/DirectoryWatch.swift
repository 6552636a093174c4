import Glibc
package import SystemPackage

/// Wakes a loop when a file of a folder is written, made or removed (inotify(7)).
package final class DirectoryWatch {
    /// Changes after which it is not enough to read on.
    package struct Changes: OptionSet, Sendable {
        /// The set's bits.
        package let rawValue: UInt8
        /// Makes a set of bits.
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// A file whose name begins with `events-` was put in the place of another, as an erasure does.
        package static let replaced = Changes(rawValue: 1)
        /// A file whose name begins with `events-` was deleted or moved away.
        package static let removed = Changes(rawValue: 2)
        /// The folder itself was deleted, moved or unmounted: make another watch.
        package static let gone = Changes(rawValue: 4)
    }

    private let loop: EventLoop
    private let descriptor: FileDescriptor
    private let body: (Changes) -> Void
    // Which folder the path led to.
    private let (device, inode): (dev_t, ino_t)
    private var watch: EventLoop.Watch?
    // An event of a file has at least 16 + 16 bytes: at most 64 events in each turn.
    private static let readMax = 32 * EventLoop.recordsPerTurn

    /// Watches a folder, which must be there.
    ///
    /// - Parameters:
    ///   - directory: the folder.
    ///   - loop: what is woken.
    ///   - body: called for each such wake, with the changes after which it is not enough to read on.
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
            // An object that is whole has its deinit called.
            throw Errno(rawValue: failure)
        }
        watch = try loop.watch(descriptor, for: .read) { [unowned self] _ in drain() }
    }

    deinit {
        if let watch { loop.end(watch) }
        _ = try? descriptor.close()
    }

    /// Whether a path leads to the folder that is watched (stat(2)).
    ///
    /// It does not after a folder above it was renamed, or another file system was mounted over it: the kernel reports
    /// neither.
    package func isStill(_ directory: FilePath) -> Bool {
        Self.place(of: directory).map { $0 == (device, inode) } ?? false
    }

    private static func place(of directory: FilePath) -> (dev_t, ino_t)? {
        var status = stat()
        guard unsafe directory.withPlatformString({ unsafe stat($0, &status) }) == 0 else { return nil }
        return (status.st_dev, status.st_ino)
    }

    // What was written is not looked at: the turn reads on. An overflow says as much as any event, and may have hidden one.
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
