import Glibc
import SystemPackage

/// Starts TCP connections without waiting for them.
enum TCPSocket {
    struct Problem: Error {
        let text: String
        /// The error of the kernel, if there was one.
        var error: Errno?
    }

    /// Starts to connect. The result is known when the descriptor can be written to.
    ///
    /// The lookup of a name blocks; an address and `localhost` do not need one.
    static func connect(host: String, port: UInt16) -> Result<FileDescriptor, Problem> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        // gpsd listens on both protocols or on IPv4 only.
        let name = host == "localhost" ? "127.0.0.1" : host
        let code = unsafe getaddrinfo(name, String(port), &hints, &found)
        guard code == 0 else {
            let words = unsafe gai_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
            return .failure(Problem(text: "\(host) has no address: \(words)"))
        }
        defer { unsafe freeaddrinfo(found) }
        guard let address = unsafe found?.pointee else { return .failure(Problem(text: "\(host) has no address")) }
        let kind = unsafe address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = unsafe socket(address.ai_family, kind, address.ai_protocol)
        guard descriptor >= 0 else { return .failure(Problem(text: "\(Errno(rawValue: errno))")) }
        let result = unsafe beginConnecting(descriptor, address.ai_addr, address.ai_addrlen)
        if result != 0, errno != EINPROGRESS {
            let problem = Errno(rawValue: errno)
            _ = close(descriptor)
            return .failure(Problem(text: "\(host):\(port): \(problem)", error: problem))
        }
        return .success(FileDescriptor(rawValue: descriptor))
    }

    /// Returns the error of a connection that was started; `nil` if it was made.
    static func problem(of descriptor: FileDescriptor) -> Errno? {
        var problem: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(descriptor.rawValue, SOL_SOCKET, SO_ERROR, &problem, &length) == 0 else {
            return Errno(rawValue: errno)
        }
        return problem == 0 ? nil : Errno(rawValue: problem)
    }
}

/// connect(2), because the type above has a function with the same name.
@unsafe private func beginConnecting(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t)
    -> Int32
{
    unsafe connect(descriptor, address, length)
}
