import Foundation
import Glibc
import TestSupport

/// The programs that the tests need in addition to the toolchain.
package enum BrokerTools {
    package static let broker = "/usr/sbin/mosquitto"
    package static let subscribe = "/usr/bin/mosquitto_sub"
    package static let publish = "/usr/bin/mosquitto_pub"
    package static let openssl = "/usr/bin/openssl"
}

/// A real broker with its own configuration.
package final class Broker {
    package let folder: TestFolder
    package var port: UInt16 { held.number }
    private let held: HeldPort
    private var child: Child?

    /// Creates a broker at a free port of the loopback, and starts it if `isStarted` is true. The settings in
    /// `listener` are added to this listener, and those in `more` to the configuration.
    package init(
        _ folder: TestFolder, listener: String? = nil, more: String = "allow_anonymous true", isStarted: Bool = true
    )
        throws
    {
        self.folder = folder
        held = try HeldPort()
        let port = held.number
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

    /// Ends the broker.
    ///
    /// mosquitto 2.0 logs "running" shortly before it starts its main loop, and ignores a SIGTERM that arrives between
    /// the two. The signal is therefore sent again each second, for at most a minute.
    package func stop(_ signal: Int32 = SIGTERM) {
        guard let child else { return }
        self.child = nil
        for _ in 0..<60 where child.process.isRunning {
            child.signal(signal)
            child.signal(SIGCONT)
            for _ in 0..<1000 where child.process.isRunning { poll(nil, 0, 1) }
        }
        child.end(signal)
    }

    package func signal(_ number: Int32) { child?.signal(number) }

    /// Waits until the broker logs a line that contains `text`, and returns it.
    @discardableResult package func line(with text: String) throws -> String { try child?.line(with: text) ?? "" }

    package var log: [String] { child?.said ?? [] }
}
