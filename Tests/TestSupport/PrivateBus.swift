import Foundation
import Testing

/// A D-Bus of a test's own, with nobody on it; it ends with this value, and where the tests are killed.
package final class PrivateBus {
    /// What could not be had.
    package struct Problem: Error, CustomStringConvertible {
        package var description: String
    }

    /// Debian's own interpreter: the one that sees the modules of Debian's packages.
    package static let python = "/usr/bin/python3"
    private static let daemon = "/usr/bin/dbus-daemon"

    /// Where a stand-in's script is, by its name.
    package static func script(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures/dbus/\(name)").path
    }

    /// A folder for the bus and whatever else a test has; sockaddr_un holds 107 octets.
    package let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("bgw-\(UUID().uuidString.prefix(8))")
    /// The bus's address.
    package var address: String { "unix:path=\(folder.path)/bus" }
    /// The environment of a process that takes the bus for the system's.
    package var environment: [String: String] {
        ProcessInfo.processInfo.environment.merging(["DBUS_SYSTEM_BUS_ADDRESS": address]) { $1 }
    }

    private let policy: String
    private var process: SpawnedProcess?

    /// Starts one.
    ///
    /// - Parameters:
    ///   - policy: more rules, as dbus-daemon(1) writes them.
    ///   - isStarted: whether it runs from the beginning.
    /// - Throws: ``Problem``, and what starts processes and makes folders.
    package init(policy: String = "", isStarted: Bool = true) throws {
        self.policy = policy
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        if isStarted { try start() }
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts it, where it does not run.
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
        // A killed one leaves its socket behind.
        try? FileManager.default.removeItem(atPath: folder.path + "/bus")
        // It is killed when its input ends: by us, or because the tests were killed themselves.
        let made = try SpawnedProcess(
            "/bin/sh",
            [
                "-c",
                #""$0" --config-file="$1" --nofork --nopidfile --print-address=1 & cat >/dev/null; kill -9 $!; wait 2>/dev/null"#,
                Self.daemon, configuration.path,
            ], input: .pipe, output: .pipe)
        process = made
        // It prints its address once it listens.
        guard made.output?.availableData.isEmpty == false else {
            throw Problem(description: "dbus-daemon said no address")
        }
    }

    /// Kills it.
    package func kill() {
        guard let process else { return }
        try? process.input?.close()
        process.wait()
        self.process = nil
    }
}
