import Foundation
import Glibc

/// What the tests need beside the toolchain.
package enum BrokerTools {
    package static let broker = "/usr/sbin/mosquitto"
    package static let subscribe = "/usr/bin/mosquitto_sub"
    package static let publish = "/usr/bin/mosquitto_pub"
    package static let openssl = "/usr/bin/openssl"
    package static let reason = "mosquitto, mosquitto-clients or openssl is missing"
    package static let areThere = [broker, subscribe, publish, openssl].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }
}

/// A TCP port of the loopback that nobody listens at.
package func freePort() -> UInt16 {
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

/// A real broker with a configuration of its own.
package final class Broker {
    package let folder: TestFolder
    package let port: UInt16
    private var child: Child?

    /// Starts one; with `listener` in place of a plain one at the loopback.
    package init(
        _ folder: TestFolder, listener: String? = nil, more: String = "allow_anonymous true", isStarted: Bool = true
    )
        throws
    {
        self.folder = folder
        port = freePort()
        try FileManager.default.createDirectory(
            atPath: folder.file("broker-\(port)"), withIntermediateDirectories: true)
        try folder.write(
            "broker-\(port).conf",
            """
            user root
            listener \(port) 127.0.0.1
            \(listener ?? "")
            persistence true
            persistence_location \(folder.file("broker-\(port)"))/
            autosave_interval 1800
            max_queued_messages 10000000
            log_dest stderr
            log_type error
            log_type warning
            log_type notice
            log_type information
            \(more)

            """)
        if isStarted { try start() }
    }

    deinit { child?.end(SIGKILL) }

    package func start() throws {
        let child = try Child(BrokerTools.broker, ["-c", folder.file("broker-\(port).conf")])
        self.child = child
        try child.line(with: "running")
    }

    package func stop(_ signal: Int32 = SIGTERM) {
        child?.end(signal)
        child = nil
    }

    package func signal(_ number: Int32) { child?.signal(number) }

    /// Waits until it logs a line.
    @discardableResult package func line(with text: String) throws -> String { try child?.line(with: text) ?? "" }

    package var log: [String] { child?.said ?? [] }
}
