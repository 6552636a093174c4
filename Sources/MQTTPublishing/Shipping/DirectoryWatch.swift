import Glibc
import Polling
import SystemPackage

/// Wakes a loop when a file of a folder is written to or made (inotify(7)).
final class DirectoryWatch {
    private let loop: EventLoop
    private let descriptor: FileDescriptor
    private var watch: EventLoop.Watch?

    /// Watches a folder, which must be there.
    ///
    /// - Throws: `Errno` of inotify_init1(2), inotify_add_watch(2) and epoll_ctl(2).
    init(_ directory: FilePath, on loop: EventLoop) throws(Errno) {
        self.loop = loop
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

    // What happened is not looked at: the turn reads on. An overflow says as much.
    private func drain() {
        unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while unsafe read(descriptor.rawValue, buffer.baseAddress, buffer.count) > 0 {}
        }
    }
}
