import Glibc
package import SystemPackage

/// Wakes a loop when a file of a folder is written to or made (inotify(7)).
package final class DirectoryWatch {
    private let loop: EventLoop
    private let descriptor: FileDescriptor
    private let body: (Bool) -> Void
    private var watch: EventLoop.Watch?
    // An event of a file has at least 16 + 16 bytes: at most 64 events in each turn.
    private static let readMax = 32 * EventLoop.recordsPerTurn

    /// Watches a folder, which must be there.
    ///
    /// - Parameters:
    ///   - directory: the folder.
    ///   - loop: what is woken.
    ///   - body: called for each such wake, with whether a file whose name begins with `events-` was put in the place of
    ///     another, as an erasure does.
    /// - Throws: `Errno` of inotify_init1(2), inotify_add_watch(2) and epoll_ctl(2).
    package init(
        _ directory: FilePath, on loop: EventLoop, _ body: @escaping (Bool) -> Void = { _ in }
    ) throws(Errno) {
        (self.loop, self.body) = (loop, body)
        let made = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        guard made >= 0 else { throw Errno(rawValue: errno) }
        descriptor = FileDescriptor(rawValue: made)
        let mask = UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO)
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

    // What was written is not looked at: the turn reads on. An overflow says as much as any event, and may have hidden one.
    private func drain() {
        var isReplaced = false
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
                    isReplaced = true
                }
                place += 16 + length
            }
        }
        body(isReplaced)
    }
}
