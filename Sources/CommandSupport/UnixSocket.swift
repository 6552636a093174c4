import CLinux
import Glibc
package import SystemPackage

/// Creates, accepts and connects stream sockets in the file system (unix(7)).
package enum UnixSocket {
    /// The reason why a process cannot listen at a path.
    package enum Failure: Error, Hashable {
        /// Another process already listens there.
        case answered
        /// The file at the path is not a socket. It is not removed. The text is its type.
        case occupied(String)
        /// The error of bind(2), mkdir(2) or a similar call; ENAMETOOLONG if the path is too long for a socket address.
        case system(Errno)
    }

    /// A listening socket. Its file is removed together with this value, unless it is a different file by then.
    package final class Listener {
        package let descriptor: FileDescriptor
        private let path: String
        private let identity: Identity?

        /// Listens at `path`.
        ///
        /// An existing socket at which no process listens is removed before, and nothing else is ever removed. If only
        /// the folder of the socket is missing, it is created.
        package init(at path: String) throws(Failure) {
            self.path = path
            do throws(Errno) {
                descriptor = try UnixSocket.make()
            } catch {
                throw .system(error)
            }
            do throws(Failure) {
                try UnixSocket.bind(descriptor, at: path)
            } catch {
                _ = try? descriptor.close()
                throw error
            }
            identity = Identity(path)
        }

        deinit {
            try? descriptor.close()
            if let identity, Identity(path) == identity { unsafe unlink(path) }
        }

        /// Returns the next connection, non-blocking; `nil` if none waits.
        ///
        /// - Throws: `Errno` of accept(2): no descriptor or no memory is left.
        package func accept() throws(Errno) -> FileDescriptor? {
            let made = Glibc.accept(descriptor.rawValue, nil, nil)
            guard made >= 0 else {
                let error = Errno(rawValue: errno)
                // A client that closed its connection before it was accepted is not an error.
                if error == .wouldBlock || error == .interrupted || error == .connectionAbort { return nil }
                throw error
            }
            _ = fcntl(made, F_SETFD, FD_CLOEXEC)
            _ = fcntl(made, F_SETFL, O_NONBLOCK)
            return FileDescriptor(rawValue: made)
        }
    }

    /// The identity and the type of the file at a path.
    struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t
        let mode: mode_t

        /// Reads the identity of a file; `nil` if it does not exist, or if this process may not examine it.
        init?(_ path: String) {
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else { return nil }
            (device, inode, mode) = (status.st_dev, status.st_ino, status.st_mode & S_IFMT)
        }

        var isSocket: Bool { mode == S_IFSOCK }

        /// The type of the file, for people.
        var words: String {
            switch mode {
            case S_IFREG: "a file"
            case S_IFDIR: "a folder"
            case S_IFLNK: "a symbolic link"
            case S_IFSOCK: "a socket"
            case S_IFIFO: "a FIFO"
            default: "a device"
            }
        }
    }

    // The maximum number of connections that wait to be accepted.
    private static let backlog: Int32 = 128

    private static func bind(_ descriptor: FileDescriptor, at path: String) throws(Failure) {
        try makeFolder(of: path)
        if try !attempt({ () throws(Errno) in try bind(descriptor, path) }) {
            // A killed process can have left the file.
            try removeAbandoned(path)
            guard try attempt({ () throws(Errno) in try bind(descriptor, path) }) else { throw .answered }
        }
        // The group may connect, because it may also read the event files.
        guard unsafe chmod(path, 0o660) == 0, Glibc.listen(descriptor.rawValue, backlog) == 0 else {
            throw .system(Errno(rawValue: errno))
        }
    }

    private static func makeFolder(of path: String) throws(Failure) {
        let folder = FilePath(path).removingLastComponent()
        guard !folder.isEmpty, unsafe folder.withPlatformString({ unsafe mkdir($0, 0o750) }) != 0 else { return }
        // If something else is missing, bind(2) reports it.
        guard [EEXIST, ENOENT, EROFS].contains(errno) else { throw .system(Errno(rawValue: errno)) }
    }

    /// Removes a socket at which no process listens, and nothing else.
    private static func removeAbandoned(_ path: String) throws(Failure) {
        guard let there = Identity(path) else { return }
        guard there.isSocket else { throw .occupied(there.words) }
        guard try !attempt({ () throws(Errno) in try isAnswered(path) }) else { throw .answered }
        guard Identity(path) == there else { throw .answered }
        guard unsafe unlink(path) == 0 else { throw .system(Errno(rawValue: errno)) }
    }

    private static func attempt<Result>(_ body: () throws(Errno) -> Result) throws(Failure) -> Result {
        do throws(Errno) {
            return try body()
        } catch {
            throw .system(error)
        }
    }

    /// Returns the type of the file at `path` if it is not a socket, so that no socket can be created there; `nil` if
    /// nothing prevents that.
    package static func occupant(of path: String) -> String? {
        guard let there = Identity(path), !there.isSocket else { return nil }
        return there.words
    }

    /// Returns whether a process listens, even if it is too busy to answer.
    private static func isAnswered(_ path: String) throws(Errno) -> Bool {
        let probe = try make()
        defer { _ = try? probe.close() }
        do throws(Errno) {
            return try connect(probe, path)
        } catch .wouldBlock {
            return true
        }
    }

    /// The answer of the process at a socket.
    package enum Answer: Equatable {
        /// No process listens there.
        case noListener
        /// A process listens, but did not answer: it has too many clients, or it hangs.
        case busy
        /// All bytes up to the end of the answer.
        case bytes([UInt8])
        /// The answer was longer than the limit.
        case tooLong
    }

    /// The number of seconds without data after which a daemon counts as busy or hanging.
    package static let patience = 10

    /// Connects to the process that listens at `path`, and reads its answer until the end.
    ///
    /// - Parameters:
    ///   - path: the path of the socket.
    ///   - limit: the maximum number of bytes of the answer.
    ///   - patience: the maximum number of seconds without data. The whole answer must arrive within three times as
    ///     many.
    /// - Returns: the whole answer, or the reason why there is none.
    /// - Throws: `Errno` of socket(2), connect(2) and read(2).
    package static func ask(_ path: String, atMost limit: Int, patience: Int = patience) throws(Errno) -> Answer {
        let descriptor = try make(isBlocking: true)
        defer { _ = try? descriptor.close() }
        let clock = ContinuousClock()
        let end = clock.now + .seconds(3 * patience)
        // A daemon that hangs, or is stopped, must not block its clients.
        var patience = timeval(tv_sec: patience, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            // This cannot fail for a socket of this process (socket(7)).
            _ = unsafe setsockopt(
                descriptor.rawValue, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
        do throws(Errno) {
            guard try connect(descriptor, path) else { return .noListener }
        } catch .wouldBlock {
            // The queue of connections was full all the time (connect(2), unix(7)).
            return .busy
        }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe part.withUnsafeMutableBytes {
                unsafe Glibc.read(descriptor.rawValue, $0.baseAddress, $0.count)
            }
            if count == 0 { break }
            guard count > 0 else {
                switch Errno(rawValue: errno) {
                case .interrupted: continue
                case .wouldBlock, .connectionReset: return .busy
                case let error: throw error
                }
            }
            if bytes.count + count > limit { return .tooLong }
            bytes += part[..<count]
            // A daemon that sends a byte from time to time would otherwise never end.
            if clock.now >= end { return .busy }
        }
        return bytes.isEmpty ? .busy : .bytes(bytes)
    }

    /// Connects to the process that listens at `path`. The socket is non-blocking.
    ///
    /// - Returns: the socket, which the caller must close; `nil` if no process listens.
    /// - Throws: `Errno` of socket(2) and connect(2); EAGAIN if too many connections wait already (unix(7)).
    package static func connected(to path: String) throws(Errno) -> FileDescriptor? {
        let descriptor = try make()
        do throws(Errno) {
            if try connect(descriptor, path) { return descriptor }
        } catch {
            _ = try? descriptor.close()
            throw error
        }
        _ = try? descriptor.close()
        return nil
    }

    private static func make(isBlocking: Bool = false) throws(Errno) -> FileDescriptor {
        let type =
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            | (isBlocking ? 0 : Int32(SOCK_NONBLOCK.rawValue))
        let made = socket(AF_UNIX, type, 0)
        guard made >= 0 else { throw Errno(rawValue: errno) }
        return FileDescriptor(rawValue: made)
    }

    /// Returns `false` if the address is in use.
    private static func bind(_ descriptor: FileDescriptor, _ path: String) throws(Errno) -> Bool {
        try unsafe withAddress(path) { address, length in
            unsafe Glibc.bind(descriptor.rawValue, address, length)
        } butFor: {
            $0 == .addressInUse
        }
    }

    /// Returns `false` if no process listens.
    private static func connect(_ descriptor: FileDescriptor, _ path: String) throws(Errno) -> Bool {
        try unsafe withAddress(path) { address, length in
            unsafe Glibc.connect(descriptor.rawValue, address, length)
        } butFor: {
            $0 == .connectionRefused || $0 == .noSuchFileOrDirectory
        }
    }

    private static func withAddress(
        _ path: String, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32, butFor isExpected: (Errno) -> Bool
    ) throws(Errno) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard bytes.count < capacity else { throw .fileNameTooLong }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe call($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if result == 0 { return true }
        let error = Errno(rawValue: errno)
        guard isExpected(error) else { throw error }
        return false
    }
}
