import Polling
import SystemPackage

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Answers whoever connects to the status socket: with one JSON object, and the end.
///
/// Nothing is read: what is asked is always the same. Whoever does not take the answer within its socket's buffer is let
/// go, so that nobody can hold the daemon up.
final class StatusServer {
    private let loop: EventLoop
    private let path: String
    private let answer: () -> String
    private let listener: FileDescriptor
    private var watch: EventLoop.Watch?
    private var clients: [Client] = []
    /// Who could not be answered whole.
    private(set) var unanswered = 0

    private struct Client {
        let descriptor: FileDescriptor
        let watch: EventLoop.Watch
        var rest: [UInt8]
    }

    // More than these at a time are let go unanswered.
    private static let clientsMax = 16

    /// Listens at `path`, in place of a socket that nobody listens at any more; its folder is made where it is missing, as
    /// it is without a service manager that has made it.
    ///
    /// - Throws: ``ExitFailure`` where that can't be, with what to do.
    init(at path: String, on loop: EventLoop, answer: @escaping () -> String) throws(ExitFailure) {
        self.loop = loop
        self.path = path
        self.answer = answer
        do throws(Errno) {
            listener = try UnixSocket.listen(at: path)
        } catch {
            let code: ExitFailure.Code = error == .permissionDenied ? .noPermission : .cannotCreate
            throw ExitFailure(
                code,
                error == .addressInUse
                    ? "\(path) is answered by another gateway; output.status_socket tells them apart"
                    : "the status socket \(path) can't be made: \(error); see output.status_socket")
        }
        do throws(Errno) {
            watch = try loop.watch(listener, for: .read) { [unowned self] _ in accept() }
        } catch {
            try? listener.close()
            throw ExitFailure(.failed, "the status socket can't be waited for: \(error)")
        }
    }

    deinit {
        if let watch { loop.end(watch) }
        for client in clients { end(client) }
        try? listener.close()
        unsafe unlink(path)
    }

    private func accept() {
        while true {
            let made = Glibc.accept(listener.rawValue, nil, nil)
            guard made >= 0 else { return }
            _ = fcntl(made, F_SETFD, FD_CLOEXEC)
            _ = fcntl(made, F_SETFL, O_NONBLOCK)
            let descriptor = FileDescriptor(rawValue: made)
            guard clients.count < Self.clientsMax else {
                unanswered += 1
                try? descriptor.close()
                continue
            }
            begin(descriptor)
        }
    }

    private func begin(_ descriptor: FileDescriptor) {
        var rest = Array(answer().utf8)
        guard send(&rest, to: descriptor), !rest.isEmpty else {
            if !rest.isEmpty { unanswered += 1 }
            try? descriptor.close()
            return
        }
        do throws(Errno) {
            let raw = descriptor.rawValue
            let watch = try loop.watch(descriptor, for: .write) { [unowned self] _ in goOn(raw) }
            clients.append(Client(descriptor: descriptor, watch: watch, rest: rest))
        } catch {
            unanswered += 1
            try? descriptor.close()
        }
    }

    private func goOn(_ raw: Int32) {
        guard let place = clients.firstIndex(where: { $0.descriptor.rawValue == raw }) else { return }
        let isSent = send(&clients[place].rest, to: clients[place].descriptor)
        guard !isSent || clients[place].rest.isEmpty else { return }
        if !clients[place].rest.isEmpty { unanswered += 1 }
        end(clients.remove(at: place))
    }

    private func end(_ client: Client) {
        loop.end(client.watch)
        try? client.descriptor.close()
    }

    /// Sends as much as goes; `false` where the other end is gone.
    private func send(_ bytes: inout [UInt8], to descriptor: FileDescriptor) -> Bool {
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(descriptor.rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return errno == EAGAIN || errno == EINTR }
            bytes.removeFirst(count)
        }
        return true
    }
}

/// Stream sockets in the file system (unix(7)).
enum UnixSocket {
    /// Listens at `path`. A socket that is there and that nobody listens at is removed before; its folder is made where it
    /// alone is missing.
    ///
    /// - Throws: `Errno`: EADDRINUSE where somebody does listen, ENAMETOOLONG, and what bind(2) and mkdir(2) have.
    static func listen(at path: String) throws(Errno) -> FileDescriptor {
        let descriptor = try make()
        do throws(Errno) {
            let folder = FilePath(path).removingLastComponent()
            if !folder.isEmpty {
                let isMade = unsafe folder.withPlatformString { unsafe mkdir($0, 0o755) == 0 }
                guard isMade || errno == EEXIST || errno == ENOENT else { throw Errno(rawValue: errno) }
            }
            if try !bind(descriptor, path) {
                // It may be what a killed one left.
                let probe = try make()
                defer { _ = try? probe.close() }
                let isAnswered = try connect(probe, path)
                guard !isAnswered, unsafe unlink(path) == 0, try bind(descriptor, path) else {
                    throw Errno.addressInUse
                }
            }
            // Everybody on the machine may ask.
            guard unsafe chmod(path, 0o666) == 0, Glibc.listen(descriptor.rawValue, 16) == 0 else {
                throw Errno(rawValue: errno)
            }
            return descriptor
        } catch {
            _ = try? descriptor.close()
            throw error
        }
    }

    /// How many seconds a daemon may be silent before it is taken for one that hangs.
    private static let patience = 10

    /// All that the socket at `path` says until it ends; `nil` where nobody listens.
    ///
    /// - Throws: `Errno` of socket(2), connect(2) and read(2); ETIMEDOUT where nothing comes for ``patience``.
    static func read(from path: String, atMost limit: Int) throws(Errno) -> [UInt8]? {
        let descriptor = try make(isBlocking: true)
        defer { _ = try? descriptor.close() }
        // A daemon that hangs, or is stopped, must not take whoever asks with it.
        var patience = timeval(tv_sec: patience, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            // It can't fail for a socket of ours (socket(7)).
            _ = unsafe setsockopt(
                descriptor.rawValue, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
        guard try connect(descriptor, path) else { return nil }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < limit {
            let count = unsafe part.withUnsafeMutableBytes {
                unsafe Glibc.read(descriptor.rawValue, $0.baseAddress, $0.count)
            }
            if count == 0 { break }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw errno == EAGAIN ? .timedOut : Errno(rawValue: errno)
            }
            bytes += part[..<count]
        }
        return bytes
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
