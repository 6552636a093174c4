import Foundation
import Testing

/// A D-Bus of one test, without other clients. It ends when this value is released, and also if the tests are killed.
package final class PrivateBus {
    /// An error: the bus could not be started.
    package struct Problem: Error, CustomStringConvertible {
        package var description: String
    }

    /// The Python interpreter of Debian, which must be used because it has the modules of Debian's packages.
    package static let python = "/usr/bin/python3"
    private static let daemon = "/usr/bin/dbus-daemon"

    /// Returns the path of the script of a simulated service.
    package static func script(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures/dbus/\(name)").path
    }

    /// A folder for the bus and other files of a test. Its path must be short, because a socket's path in sockaddr_un
    /// has at most 107 bytes.
    package let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("bgw-\(UUID().uuidString.prefix(8))")
    /// The address of the bus.
    package var address: String { "unix:path=\(folder.path)/bus" }
    /// The environment of a process that must use the bus as its system bus.
    package var environment: [String: String] {
        ProcessInfo.processInfo.environment.merging(["DBUS_SYSTEM_BUS_ADDRESS": address]) { $1 }
    }

    private let policy: String
    private var process: SpawnedProcess?

    /// Creates the folder, and starts the bus if required.
    ///
    /// - Parameters:
    ///   - policy: additional rules, in the format of dbus-daemon(1).
    ///   - isStarted: whether the bus is started immediately.
    /// - Throws: ``Problem``, and errors of starting a process and of creating files.
    package init(policy: String = "", isStarted: Bool = true) throws {
        self.policy = policy
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        if isStarted { try start() }
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts the bus, unless it is running.
    package func start() throws {
        guard process == nil else { return }
        let configuration = folder.appendingPathComponent("bus.conf")
        try """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig><type>custom</type><listen>\(address)</listen><auth>EXTERNAL</auth>
        <policy context="default"><allow user="*"/><allow own="*"/><allow send_type="method_call"/>
        <allow send_type="signal"/><allow send_type="method_return"/><allow send_type="error"/>
        <allow receive_type="method_call"/><allow receive_type="signal"/><allow receive_type="method_return"/>
        <allow receive_type="error"/>\(policy)</policy></busconfig>
        """.write(to: configuration, atomically: true, encoding: .utf8)
        // If the bus was killed, its socket still exists.
        try? FileManager.default.removeItem(atPath: folder.path + "/bus")
        // The bus is killed when its input ends: by ``kill()``, or because the tests were killed.
        let made = try SpawnedProcess(
            "/bin/sh",
            [
                "-c",
                #""$0" --config-file="$1" --nofork --nopidfile --print-address=1 & cat >/dev/null; kill -9 $!; wait 2>/dev/null"#,
                Self.daemon, configuration.path,
            ], input: .pipe, output: .pipe)
        process = made
        // The bus prints its address when it accepts connections.
        guard made.output?.availableData.isEmpty == false else {
            throw Problem(description: "dbus-daemon printed no address")
        }
    }

    /// Kills the bus.
    package func kill() {
        guard let process else { return }
        try? process.input?.close()
        process.wait()
        self.process = nil
    }
}
