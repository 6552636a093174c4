import Captures
package import CommandSupport
import EventLog
import Glibc
import JSON
import OperatorLogging
import SystemPackage

/// The demo of `run --demo`: a folder with a configuration, names and a capture with simulated badges.
package struct Demo {
    /// The name of its folder, in the current folder.
    package static let folder = "beacon-gateway-demo"
    // A socket's path has at most 107 bytes (unix(7)).
    private static let socketBytesMax = 107

    /// The path of the configuration.
    package let configuration: String
    /// The path of the capture.
    package let capture: String

    /// Creates the folder and its files, unless they exist.
    ///
    /// - Throws: ``ExitFailure`` if one cannot be created, or if other users can use the folder.
    package init() throws(ExitFailure) {
        configuration = "\(Self.folder)/gateway.yaml"
        capture = "\(Self.folder)/day.jsonl"
        let absolute = try Self.currentFolder().appending(Self.folder)
        let socket = absolute.appending("status.sock")
        let isValid = socket.length <= Self.socketBytesMax
        guard isValid, let text = String(validating: absolute), PlainText.safe(text) == text else {
            throw ExitFailure(
                .cannotCreate,
                """
                the demo can't be created in \(absolute.removingLastComponent()): the path of its status socket has \
                \(socket.length) bytes; it must have at most \(Self.socketBytesMax), in UTF-8 without control characters; \
                change to another folder
                """)
        }
        try Self.createFolder()
        try Self.create(configuration) { Array(Self.settings(in: text).utf8) }
        try Self.create("\(Self.folder)/names.csv") { Array(DemoDay.names.utf8) }
        try Self.create(capture) { () throws(CaptureError) in try DemoDay.capture() }
    }

    private static func currentFolder() throws(ExitFailure) -> FilePath {
        let path = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            unsafe getcwd(buffer.baseAddress, buffer.count).map { unsafe FilePath(platformString: $0) }
        }
        guard let path else {
            throw ExitFailure(
                .cannotCreate, "the current folder is unknown: \(Errno(rawValue: errno)); change to another")
        }
        return path
    }

    private static func createFolder() throws(ExitFailure) {
        // Events say who was present and when.
        guard unsafe mkdir(folder, 0o700) != 0 else { return }
        guard errno == EEXIST else {
            throw ExitFailure(
                .cannotCreate, "\(folder) can't be created: \(Errno(rawValue: errno)); change to another folder")
        }
        var status = stat()
        let isUsable =
            unsafe lstat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
            && status.st_mode & 0o077 == 0
        guard isUsable else {
            throw ExitFailure(
                .cannotCreate,
                "\(folder) exists, and is not a folder that only this user can use; delete it, or change to another folder"
            )
        }
    }

    private static func create<Failure: Error>(
        _ path: String, _ content: () throws(Failure) -> [UInt8]
    ) throws(ExitFailure) {
        guard !ConfigurationFile.isThere(path) else { return }
        do {
            try WholeFile.replace(FilePath(path), with: content())
        } catch {
            throw ExitFailure(.cannotCreate, "\(path) can't be created: \(error)")
        }
    }

    private static func settings(in folder: String) -> String {
        // A text of JSON is one of YAML too.
        func path(_ name: String) -> String {
            var buffer = LineBuffer(capacity: 256)
            buffer.string("\(folder)/\(name)")
            return buffer.text
        }
        return """
            # The configuration of the demo. A gateway with a radio needs only `conditions`; `beacons` has the names.

            gateway: {name: demo}
            conditions:
              - {identifier: staff, uuid: \(DemoDay.uuid), major: 1}
              - {identifier: visitors, uuid: \(DemoDay.uuid), major: 2}
            beacons: {file: names.csv}
            monitor:
              per_beacon: true
              # Short, so that you see exits soon. The default is 30s.
              exit_timeout: 20s
            output:
              directory: \(path("events"))
              state_directory: \(path("state"))
              status_socket: \(path("status.sock"))
            serve:
              cache_directory: \(path("cache"))

            """
    }
}
