import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// A real broker at the loopback, beside a gateway.
final class LocalBroker {
    static let program = "/usr/sbin/mosquitto"
    static let subscriber = "/usr/bin/mosquitto_sub"
    static let publisher = "/usr/bin/mosquitto_pub"
    static let isThere = [program, subscriber, publisher].allSatisfy(Tool.isThere)
    static let reason: Comment = "mosquitto or mosquitto-clients is missing"

    let port: UInt16
    private let configuration: String
    private var process: Process?

    init(_ folder: URL) throws {
        port = Self.freePort()
        configuration = folder.appendingPathComponent("mosquitto.conf").path
        try "user root\nlistener \(port) 127.0.0.1\nallow_anonymous true\nlog_dest stderr\nlog_type information\n"
            .write(toFile: configuration, atomically: true, encoding: .utf8)
    }

    deinit { stop() }

    func start() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.program)
        process.arguments = ["-c", configuration]
        let pipe = Foundation.Pipe()
        process.standardError = pipe
        try process.run()
        self.process = process
        try LineReader(pipe.fileHandleForReading).line(with: "running")
    }

    func stop() {
        guard let process else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }

    /// The first `count` messages of a subscription, each as its topic, a space and its payload; within half a minute.
    func messages(_ count: Int, of topics: String..., location: SourceLocation = #_sourceLocation) throws -> [String] {
        let ending = try run(
            Self.subscriber,
            ["-h", "127.0.0.1", "-p", "\(port)", "-q", "1", "-v", "-C", "\(count)", "-W", "30"]
                + topics.flatMap { ["-t", $0] })
        #expect(ending.status == 0, "\(ending.errors) \(ending.lines)", sourceLocation: location)
        return ending.lines
    }

    private static func freePort() -> UInt16 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = Glibc.bind(socket, pointer, size)
                _ = getsockname(socket, pointer, &size)
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }
}
