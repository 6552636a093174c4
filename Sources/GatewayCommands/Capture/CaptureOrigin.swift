import AdapterScanning
package import Captures
package import CommandSupport
import EventLoops
import Glibc
import OperatorLogging
import Replaying
import SystemPackage

/// The input of `run --from`: a capture in a file, or a program that writes one to a pipe or a socket.
package struct CaptureOrigin: Sendable {
    /// The kinds of inputs.
    enum Kind: Sendable, Hashable {
        /// A file, whose times decide when its records are handled.
        case file
        /// A FIFO: after its end, another program can write to it.
        case pipe
        /// A Unix socket, at which a program listens.
        case socket
        /// A device.
        case other
        /// Standard input, or another pipe without a name: no program can write to it after its end.
        case passed
    }

    /// The path; `-` is standard input.
    let path: String
    /// The kind of the input when the gateway started.
    let kind: Kind
    /// The type of its file (inode(7)).
    private let type: mode_t
    /// How the capture is read.
    let options: CaptureOptions
    /// Whether a file starts again after its end.
    let repeats: Bool

    /// Examines a path.
    ///
    /// - Parameters:
    ///   - path: the path; `-` is standard input.
    ///   - options: how the capture is read.
    ///   - repeats: whether a file starts again after its end.
    /// - Throws: ``ExitFailure`` if nothing is at the path, it is a folder, or this user may not read it.
    package init(_ path: String, options: CaptureOptions, repeats: Bool = false) throws(ExitFailure) {
        (self.options, self.repeats) = (options, repeats)
        var status = stat()
        let result = unsafe path == "-" ? fstat(STDIN_FILENO, &status) : stat(path, &status)
        guard result == 0 else { throw Self.failure(path, Errno(rawValue: errno)) }
        type = status.st_mode & S_IFMT
        switch type {
        case S_IFREG: kind = .file
        case S_IFIFO where path != "-" && !Self.isAnonymous(path): kind = .pipe
        case S_IFSOCK where path != "-": kind = .socket
        case S_IFDIR: throw Self.failure(path, .isDirectory)
        default: kind = path == "-" || Self.isAnonymous(path) ? .passed : .other
        }
        // A file in place of standard input is opened by its own descriptor, which starts at the first byte.
        self.path = path == "-" && kind == .file ? "/dev/stdin" : path
        // connect(2) needs the permission to write.
        guard unsafe (path == "-" || access(path, kind == .socket ? W_OK : R_OK) == 0) else {
            throw Self.failure(path, Errno(rawValue: errno))
        }
        if kind == .file { try check() }
    }

    /// Reads the first record of a file, so that the gateway does not start with a file that it cannot use.
    private func check() throws(ExitFailure) {
        var reason = "\(name) has no records"
        do throws(CaptureError) {
            var feed = try CaptureFeed(self)
            if try feed.next() != nil, feed.hasTimes { return }
            let damages = feed.damages.lines(of: name)
            if !damages.isEmpty {
                reason = damages.joined(separator: "\n")
            } else if !feed.hasTimes {
                reason =
                    "\(name) has no times, which a file must have; write its records to a FIFO as they are received"
            }
        } catch {
            throw ExitFailure(error)
        }
        throw ExitFailure(.dataInvalid, reason)
    }

    /// Creates the scanner of the capture without starting it.
    ///
    /// - Throws: ``ScannerError`` if a file cannot be read.
    func makeScanner(
        on loop: EventLoop, log: @escaping (MessageKind, String) -> Void
    ) throws(ScannerError) -> any AdvertisingScanner {
        guard kind == .file else { return CaptureStreamScanner(self, on: loop, log: log) }
        do throws(CaptureError) {
            return try CaptureFileScanner(self, on: loop, log: log)
        } catch {
            throw ScannerError(.unavailable, "\(error)")
        }
    }

    /// Returns whether the file at a path is a pipe without a name, such as /dev/stdin can be (proc(5)).
    private static func isAnonymous(_ path: String) -> Bool {
        // O_PATH does not open the pipe, which would let another program write to it.
        let opened = unsafe Glibc.open(path, 0o10000000 | O_CLOEXEC)
        guard opened >= 0 else { return false }
        defer { close(opened) }
        var target = [CChar](repeating: 0, count: 6)
        let count = unsafe readlink("/proc/self/fd/\(opened)", &target, target.count)
        return count == target.count && target == "pipe:[".utf8.map { CChar(bitPattern: $0) }
    }

    private static func failure(_ path: String, _ error: Errno) -> ExitFailure {
        ExitFailure(CaptureError.openFailed(path: CaptureInput.path(path).name, error))
    }

    /// Whether a file is at the path now.
    var isFile: Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// The name in messages.
    var name: String { CaptureInput.path(path).name }

    /// Opens a pipe, a socket or a device, which the caller must close. This does not wait for another program.
    ///
    /// - Returns: the descriptor; `nil` if no program listens at the socket.
    /// - Throws: `Errno` of open(2), connect(2) or fcntl(2); EINVAL if the path has a file of another type now.
    func open() throws(Errno) -> FileDescriptor? {
        if path == "-" { return try takeStandardInput() }
        if kind == .socket { return try UnixSocket.connected(to: path) }
        let opened = try Self.open(path, .readOnly)
        var status = stat()
        guard unsafe fstat(opened.rawValue, &status) == 0, status.st_mode & S_IFMT == type else {
            _ = try? opened.close()
            throw .invalidArgument
        }
        guard kind == .pipe, Self.unreadBytes(opened) > 0 else { return opened }
        // A program has written to the FIFO and can have closed it before it was opened here. In that case the kernel
        // reports the end only after another program has opened it (fifo(7)).
        if let writer = try? Self.open(path, .writeOnly) { _ = try? writer.close() }
        return opened
    }

    private static func open(_ path: String, _ mode: FileDescriptor.AccessMode) throws(Errno) -> FileDescriptor {
        do {
            return try FileDescriptor.open(FilePath(path), mode, options: [.nonBlocking, .closeOnExec])
        } catch {
            throw error as? Errno ?? .ioError
        }
    }

    /// Returns a descriptor of standard input, whose place /dev/null takes: the other program must notice when it is
    /// closed.
    private func takeStandardInput() throws(Errno) -> FileDescriptor? {
        // A descriptor of its own can be read without waiting, and other programs are not affected by that.
        var taken = try? Self.open("/proc/self/fd/0", .readOnly)
        if taken == nil { taken = try Self.duplicate(.standardInput) }
        if let null = try? Self.open("/dev/null", .readOnly) {
            _ = dup2(null.rawValue, STDIN_FILENO)
            _ = try? null.close()
        }
        return taken
    }

    /// Returns the number of bytes that wait to be read (FIONREAD, pipe(7), unix(7)); 0 if the kernel does not know it.
    static func unreadBytes(_ descriptor: FileDescriptor) -> Int {
        var count: Int32 = 0
        return unsafe ioctl(descriptor.rawValue, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }

    /// Returns whether the file at the path is no longer the one that a descriptor refers to.
    func isReplaced(_ descriptor: FileDescriptor) -> Bool {
        var (there, here) = (stat(), stat())
        guard kind == .pipe, unsafe fstat(descriptor.rawValue, &here) == 0 else { return false }
        return unsafe stat(path, &there) != 0 || (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino)
    }

    /// Returns another descriptor of the same open file.
    ///
    /// - Throws: `Errno` of fcntl(2).
    static func duplicate(_ descriptor: FileDescriptor) throws(Errno) -> FileDescriptor {
        let made = fcntl(descriptor.rawValue, F_DUPFD_CLOEXEC, 3)
        guard made >= 0 else { throw Errno(rawValue: errno) }
        return FileDescriptor(rawValue: made)
    }
}
