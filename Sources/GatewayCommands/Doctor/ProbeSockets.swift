import CLinux
import Glibc
import SystemPackage

/// Checks whether a process listens on a Unix domain socket of this machine.
enum LocalSocket {
    /// Returns the error of connect(2); `nil` if the connection is accepted. The argument is a path, or `@` and a name
    /// in the abstract namespace.
    static func connectFailure(_ path: String) -> Errno? {
        var name = sockaddr_un()
        let bytes = Array(path.utf8)
        // sun_path has 108 bytes, and the last byte of a path is zero (unix(7)).
        guard !bytes.isEmpty, bytes.count <= 107 else { return .fileNameTooLong }
        name.sun_family = sa_family_t(AF_UNIX)
        let isAbstract = bytes.first == UInt8(ascii: "@")
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { place in
            for index in bytes.indices { unsafe place[index] = bytes[index] }
            if isAbstract { unsafe place[0] = 0 }
        }
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        let length = socklen_t(start + bytes.count + (isAbstract ? 0 : 1))
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return Errno(rawValue: errno) }
        defer { _ = close(descriptor) }
        // A process that listens but does not accept connections must not block `doctor`.
        var patience = timeval(tv_sec: 5, tv_usec: 0)
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let result = unsafe withUnsafePointer(to: &name) { name in
            unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe connect(descriptor, $0, length) }
        }
        return result == 0 ? nil : Errno(rawValue: errno)
    }
}

/// Checks whether a host accepts connections at a TCP port.
enum RemoteSocket {
    /// Returns the error for operators; `nil` if a connection is accepted. The time limit applies to all addresses
    /// together.
    static func connectFailure(host: String, port: UInt16, milliseconds: Int32) -> String? {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host, String(port), &hints, &found)
        guard code == 0 else {
            let words = unsafe gai_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
            return "\(host) has no address: \(words)"
        }
        defer { unsafe freeaddrinfo(found) }
        var left = milliseconds
        var failure = "\(host) has no address"
        var next = unsafe found
        while let entry = unsafe next, left > 0 {
            guard let problem = unsafe connectFailure(entry.pointee, &left) else { return nil }
            failure = "\(host):\(port): \(problem)"
            unsafe next = entry.pointee.ai_next
        }
        return failure
    }

    @unsafe private static func connectFailure(_ address: addrinfo, _ left: inout Int32) -> String? {
        let kind = unsafe address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = unsafe socket(address.ai_family, kind, address.ai_protocol)
        guard descriptor >= 0 else { return "\(Errno(rawValue: errno))" }
        defer { _ = close(descriptor) }
        if unsafe connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 { return nil }
        guard errno == EINPROGRESS else { return "\(Errno(rawValue: errno))" }
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let clock = ContinuousClock()
        let start = clock.now
        var ready = unsafe poll(&entry, 1, left)
        // If a signal interrupts the wait, continue it.
        while ready < 0, errno == EINTR { ready = unsafe poll(&entry, 1, left) }
        left -= Int32(clamping: (clock.now - start).components.seconds * 1_000)
        guard ready > 0 else {
            left = 0
            return "no answer"
        }
        var problem: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &problem, &length)
        return problem == 0 ? nil : "\(Errno(rawValue: problem))"
    }
}
