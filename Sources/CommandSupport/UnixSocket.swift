import CLinux
import Glibc
package import SystemPackage

/// Stream sockets in the file system (unix(7)).
package enum UnixSocket {
    /// Why nobody can listen at a path.
    package enum Failure: Error, Hashable {
        /// Somebody listens at it already.
        case answered
        /// Something that is no socket stands there, which is named and not removed.
        case occupied(String)
        /// What bind(2), mkdir(2) and the like say; ENAMETOOLONG where the path does not fit into an address.
        case system(Errno)
    }

    /// A socket that is listened at; its name goes with this value, unless it is another's by then.
    package final class Listener {
        package let descriptor: FileDescriptor
        private let path: String
        private let identity: Identity?

        /// Listens at `path`. A socket that is there and that nobody listens at is removed before, and nothing else ever
        /// is; its folder is made where it alone is missing.
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

        /// The next that waits, non-blocking; `nil` where nobody does.
        ///
        /// - Throws: `Errno` of accept(2): no descriptor or no memory is left.
        package func accept() throws(Errno) -> FileDescriptor? {
            let made = Glibc.accept(descriptor.rawValue, nil, nil)
            guard made >= 0 else {
                let error = Errno(rawValue: errno)
                // Who went before his turn is nobody to wait for.
                if error == .wouldBlock || error == .interrupted || error == .connectionAbort { return nil }
                throw error
            }
            _ = fcntl(made, F_SETFD, FD_CLOEXEC)
            _ = fcntl(made, F_SETFL, O_NONBLOCK)
            return FileDescriptor(rawValue: made)
        }
    }

    /// Which file a path is, and of what kind.
    struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t
        let mode: mode_t

        /// `nil` where nothing is there, or nobody may look.
        init?(_ path: String) {
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else { return nil }
            (device, inode, mode) = (status.st_dev, status.st_ino, status.st_mode & S_IFMT)
        }

        var isSocket: Bool { mode == S_IFSOCK }

        /// What it is, for people.
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

    // Who waits to be taken on waits here.
    private static let backlog: Int32 = 128

    private static func bind(_ descriptor: FileDescriptor, at path: String) throws(Failure) {
        try makeFolder(of: path)
        if try !attempt({ () throws(Errno) in try bind(descriptor, path) }) {
            // It may be what a killed one left.
            try removeAbandoned(path)
            guard try attempt({ () throws(Errno) in try bind(descriptor, path) }) else { throw .answered }
        }
        // Who may read the events may ask too.
        guard unsafe chmod(path, 0o660) == 0, Glibc.listen(descriptor.rawValue, backlog) == 0 else {
            throw .system(Errno(rawValue: errno))
        }
    }

    private static func makeFolder(of path: String) throws(Failure) {
        let folder = FilePath(path).removingLastComponent()
        guard !folder.isEmpty, unsafe folder.withPlatformString({ unsafe mkdir($0, 0o750) }) != 0 else { return }
        // What else is missing bind(2) says.
        guard [EEXIST, ENOENT, EROFS].contains(errno) else { throw .system(Errno(rawValue: errno)) }
    }

    /// Takes away a socket that nobody listens at, and nothing else.
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

    /// What stands at `path` and is no socket, so that none can be made there; `nil` where nothing is in the way.
    package static func occupant(of path: String) -> String? {
        guard let there = Identity(path), !there.isSocket else { return nil }
        return there.words
    }

    /// Whether somebody listens, too busy to answer perhaps.
    private static func isAnswered(_ path: String) throws(Errno) -> Bool {
        let probe = try make()
        defer { _ = try? probe.close() }
        do throws(Errno) {
            return try connect(probe, path)
        } catch .wouldBlock {
            return true
        }
    }

    /// What who asked at a socket got.
    package enum Answer: Equatable {
        /// Nobody listens there.
        case nobody
        /// Somebody does, and did not answer: too many others ask him, or he hangs.
        case busy
        /// All that he said until the end.
        case octets([UInt8])
        /// The answer was longer than the limit.
        case tooLong
    }

    /// How many seconds a daemon may be silent before it is taken for one that is busy, or hangs.
    package static let patience = 10

    /// Asks who listens at `path`, and takes in all that he says until he ends.
    ///
    /// - Parameters:
    ///   - path: the socket's.
    ///   - limit: how many octets are taken in at most.
    ///   - patience: for how many seconds nothing may come; all has to come within three times as many.
    /// - Returns: the whole answer, or why there is none.
    /// - Throws: `Errno` of socket(2), connect(2) and read(2).
    package static func ask(_ path: String, atMost limit: Int, patience: Int = patience) throws(Errno) -> Answer {
        let descriptor = try make(isBlocking: true)
        defer { _ = try? descriptor.close() }
        let clock = ContinuousClock()
        let end = clock.now + .seconds(3 * patience)
        // A daemon that hangs, or is stopped, must not take whoever asks with it.
        var patience = timeval(tv_sec: patience, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            // It can't fail for a socket of ours (socket(7)).
            _ = unsafe setsockopt(
                descriptor.rawValue, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
        do throws(Errno) {
            guard try connect(descriptor, path) else { return .nobody }
        } catch .wouldBlock {
            // The queue of those who wait to be taken on was full all the time (connect(2), unix(7)).
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
            // One that sends a byte now and then would not end.
            if clock.now >= end { return .busy }
        }
        return bytes.isEmpty ? .busy : .octets(bytes)
    }

    /// A socket that is connected to who listens at `path`, and does not block; `nil` where nobody listens.
    ///
    /// - Returns: the socket, whose owner is who called.
    /// - Throws: `Errno` of socket(2) and connect(2); EAGAIN where too many wait already (unix(7)).
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

    /// `false` where the address is in use.
    private static func bind(_ descriptor: FileDescriptor, _ path: String) throws(Errno) -> Bool {
        try unsafe withAddress(path) { address, length in
            unsafe Glibc.bind(descriptor.rawValue, address, length)
        } butFor: {
            $0 == .addressInUse
        }
    }

    /// `false` where nobody listens.
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
        let octets = Array(path.utf8)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard octets.count < capacity else { throw .fileNameTooLong }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: octets) }
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
