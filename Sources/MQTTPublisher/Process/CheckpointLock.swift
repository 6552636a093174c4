import EventLog
import Glibc
import SystemPackage

/// The right to be the one that ships by a checkpoint: a gateway that was killed may leave a publisher for a minute, and
/// `publish` may be told of the same file.
///
/// An open file description's lock (flock(2)) on a file beside the checkpoint, which ends with the process however that
/// ends. The file stays, and says who had it last.
struct CheckpointLock: ~Copyable {
    /// Why there is none.
    enum Problem: Error {
        /// Who has it.
        case held(String)
        /// Nothing can be written beside the checkpoint, and no lock is there: nobody else can ship by it either.
        case unavailable(Errno)
        /// What is there is no lock.
        case other(Errno)
    }

    private let descriptor: Int32

    init(of checkpoint: FilePath) throws(Problem) {
        let path = Self.path(of: checkpoint)
        var opened = Self.open(path, O_RDWR | O_CREAT)
        // A file that only may be read can be locked too.
        if opened < 0, errno == EROFS || errno == EACCES || errno == EPERM { opened = Self.open(path, O_RDONLY) }
        guard opened >= 0 else {
            let failure = Errno(rawValue: errno)
            // ENOENT: it could not be made, and is not there.
            if failure == .noSuchFileOrDirectory || failure == .readOnlyFileSystem || failure == .noSpace {
                throw .unavailable(failure)
            }
            throw .other(failure)
        }
        var status = stat()
        guard unsafe fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            _ = Glibc.close(opened)
            throw .other(.invalidArgument)
        }
        guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
            let failure = Errno(rawValue: errno)
            let holder = Self.holder(opened)
            _ = Glibc.close(opened)
            guard failure == .wouldBlock else { throw .other(failure) }
            throw .held(holder)
        }
        // Where the disk is full nobody learns who has it, but it is had.
        let text = Array("beacon-gateway-publisher, process \(getpid())\n".utf8)
        _ = ftruncate(opened, 0)
        _ = unsafe text.withUnsafeBytes { unsafe pwrite(opened, $0.baseAddress, $0.count, 0) }
        descriptor = opened
    }

    deinit { _ = Glibc.close(descriptor) }

    static func path(of checkpoint: FilePath) -> FilePath { FilePath(checkpoint.string + ".lock") }

    private static func open(_ path: FilePath, _ flags: Int32) -> Int32 {
        unsafe path.withPlatformString {
            unsafe Glibc.open($0, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode_t(0o640))
        }
    }

    private static func holder(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
        let text = bytes[..<max(count, 0)].prefix { $0 >= 0x20 && $0 < 0x7F }
        return text.isEmpty ? "another process" : String(decoding: text, as: UTF8.self)
    }
}
