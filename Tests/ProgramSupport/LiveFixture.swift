import Foundation
import Glibc
import TestSupport
import Testing

/// Reads the lines of a child process as they arrive. A child that writes nothing for five minutes has failed.
package final class LineReader {
    private let handle: FileHandle
    private var rest: [UInt8] = []
    package private(set) var lines: [String] = []

    package init(_ handle: FileHandle) { self.handle = handle }

    package struct TimeoutError: Error, CustomStringConvertible {
        package var description: String
    }

    /// Reads until a line contains `text`, and returns this line.
    @discardableResult package func line(
        with text: String, location: SourceLocation = #_sourceLocation
    ) throws -> String {
        while true {
            guard let line = try next() else {
                Issue.record(
                    "no line contains “\(text)”; the lines are:\n\(lines.joined(separator: "\n"))",
                    sourceLocation: location)
                throw TimeoutError(description: text)
            }
            if line.contains(text) { return line }
        }
    }

    /// Returns the next line; `nil` at the end, or after five minutes without data.
    package func next() throws -> String? {
        while true {
            if let end = rest.firstIndex(of: 0x0A) {
                let line = String(decoding: rest[..<end], as: UTF8.self)
                rest.removeSubrange(...end)
                lines.append(line)
                return line
            }
            guard waitUntilReadable(handle.fileDescriptor, milliseconds: 300_000) else { return nil }
            let data = handle.availableData
            if data.isEmpty { return nil }
            rest += data
        }
    }
}

/// Waits until a descriptor can be read or its other end is closed.
///
/// Signals do not end the wait: seteuid(2) of another test sends one to each thread of the process.
///
/// - Parameters:
///   - descriptor: the descriptor to read.
///   - milliseconds: the longest wait without a signal. After 1,000 signals the wait ends.
/// - Returns: whether the descriptor can be read.
package func waitUntilReadable(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    for _ in 0..<1000 {
        let count = poll(&entry, 1, milliseconds)
        if count >= 0 || errno != EINTR { return count > 0 }
    }
    return false
}

/// A private bus with a simulated bluetoothd.
package final class LiveFixture {
    private let bus: PrivateBus
    package var folder: URL { bus.folder }
    package var address: String { bus.address }
    private let standIn: SpawnedProcess
    private let said: LineReader

    package static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
    package static let beacon = "0215F7826DA64FA24E988024BC5B71E0893E00640007C5"

    package init() throws {
        bus = try PrivateBus()
        standIn = try SpawnedProcess(
            PrivateBus.python, [PrivateBus.script("bluez_mock.py"), #"[{"index":0}]"#], environment: bus.environment,
            input: .pipe, output: .pipe)
        said = LineReader(try #require(standIn.output))
        try said.line(with: "ready")
    }

    /// Sends one report of a beacon from the simulated bluetoothd. If `minor` is given, it is another beacon.
    package func advertise(_ address: String = "C0:00:00:00:00:01", minor: Int? = nil) {
        let beacon = minor.map { Self.beacon.dropLast(6) + String(format: "%04XC5", $0) } ?? Self.beacon
        let command = #"{"do":"receive","adapter":0,"address":"\#(address)","rssi":-60,"data":"\#(beacon)"}"#
        send(command)
    }

    /// Sends a command to the simulated bluetoothd.
    package func send(_ command: String) { standIn.input?.write(Data((command + "\n").utf8)) }

    package func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    /// Returns a configuration that scans through the private bus and writes below the folder.
    package func configuration(_ more: String = "", conditions: String? = nil, exitTimeout: String = "30s") -> String {
        """
        gateway: {name: lobby}
        scanner: {backend: dbus}
        monitor: {name: site, exit_timeout: \(exitTimeout), outage_timeout: 60s, deaf_after: off}
        output:
          directory: \(path("events"))
          state_directory: \(path("state"))
          status_socket: \(path("status.sock"))
        \(more)
        conditions:
        \(conditions ?? "- {identifier: staff, uuid: \(Self.uuid), per_beacon: true, assuming: unsatisfied}")

        """
    }

    package func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: folder.appendingPathComponent(name))
        return path(name)
    }

    /// Returns all lines of all event files, in order.
    package func lines() throws -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path("events"))) ?? []
        return try names.filter { $0.hasPrefix("events-") }.sorted().flatMap {
            String(decoding: try contents(of: path("events/\($0)")), as: UTF8.self).split(separator: "\n").map(
                String.init)
        }
    }
}

/// A `beacon-gateway run` in its own process.
package final class RunningGateway {
    package let log: LineReader
    fileprivate let process: SpawnedProcess
    private let fixture: LiveFixture
    /// The path of the status socket, from the configuration.
    private let socket: String

    // `umask` is the mask of the process, in octal. If it is `nil`, the process inherits that of this one.
    package init(
        _ fixture: LiveFixture, configuration: String, environment: [String: String] = [:], umask: String? = nil
    ) throws {
        self.fixture = fixture
        let text = try String(contentsOfFile: configuration, encoding: .utf8)
        let found = text.firstMatch(of: #/status_socket: *(?<path>[^\s,}]+)/#)
        socket = found.map { String($0.output.path) } ?? fixture.path("status.sock")
        let arguments = ["run", "--config", configuration]
        let (program, words) =
            umask.map { ("/bin/sh", ["-c", "umask \($0); exec \"$0\" \"$@\"", Gateway.path] + arguments) }
            ?? (Gateway.path, arguments)
        process = try SpawnedProcess(
            program, words,
            environment: ProcessInfo.processInfo.environment.merging(
                ["DBUS_SYSTEM_BUS_ADDRESS": fixture.address].merging(environment) { $1 }
            ) { $1 }, errors: .pipe)
        log = LineReader(try #require(process.errors))
    }

    package func signal(_ number: Int32) { process.signal(number) }

    /// Sends a signal, waits for the end and returns the exit status, or the negative signal number.
    package func end(by number: Int32 = SIGTERM, location: SourceLocation = #_sourceLocation) -> Int32 {
        process.end(number, location: location)
    }

    /// Waits for the end and returns the exit status, or the negative signal number.
    package func waitForEnd(location: SourceLocation = #_sourceLocation) -> Int32 { process.wait(location: location) }

    /// Returns the status of the gateway: the object that `status --json` prints.
    package func status() throws -> [String: Any] {
        try object(try StatusCall.answer(at: socket).prefix { $0 != "\n" })
    }

    /// Requests the status until a condition is true. The gateway answers once a second, so this fails after five
    /// minutes.
    package func until(
        _ what: String, location: SourceLocation = #_sourceLocation, _ isSo: ([String: Any]) throws -> Bool
    ) throws {
        var last: [String: Any] = [:]
        for _ in 0..<300 {
            last = try status()
            if try isSo(last) { return }
        }
        Issue.record(
            "this was never true: \(what)\nlast status: \(last)\n\(log.lines.joined(separator: "\n"))",
            sourceLocation: location)
        throw LineReader.TimeoutError(description: what)
    }
}

extension RunningGateway {
    /// The process ID.
    package var processID: Int32 { process.identifier }
    /// The process IDs of the gateway and its descendants.
    package var family: [Int32] { process.family }
}
