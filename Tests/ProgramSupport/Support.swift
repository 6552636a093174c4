import Foundation
import TestSupport
import Testing

/// The paths of the fixtures and tools of the tests.
package enum Fixtures {
    package static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    package static let sources = tests.deletingLastPathComponent().appendingPathComponent("Sources")

    /// The captures of known radio traffic.
    package static let captures = [
        "hcidump-gimbal.raw", "android-gym-bike.btsnoop", "android-multi-report.btsnoop", "nrf52-screenroom-90.pcapng",
        "ubertooth-anechoic-0.pcapng", "whad-pairing.pcap",
    ]
    /// The logs of beacons that were carried through rooms.
    package static let rooms = [
        "rooms-2015-03-03.json.gz", "rooms-2015-03-07.json.gz", "rooms-2015-03-13-beacon5-run1.json.gz",
    ]
    /// The names of the fields in a log of rooms, for `--fields`.
    package static let roomFields = "adapter=scannerID,measuredPower=calibratedPower|power"

    /// A track to the north along a meridian at about 7.6 m/s. It passes the center of the circle at 07:48.
    package static let ride = """
        <?xml version="1.0"?>
        <gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>
        <trkpt lat="48.2000" lon="16.3738"><time>2026-11-21T07:46:00Z</time></trkpt>
        <trkpt lat="48.2082" lon="16.3738"><time>2026-11-21T07:48:00Z</time></trkpt>
        <trkpt lat="48.2200" lon="16.3738"><time>2026-11-21T07:51:00Z</time></trkpt>
        </trkseg></trk></gpx>
        """

    /// Returns the arguments with which a capture of the fixtures can be replayed.
    package static func arguments(for name: String) -> [String] {
        if name.hasPrefix("rooms") { return ["--fields", roomFields] }
        return name.hasPrefix("hcidump") ? ["--interval", "100ms"] : []
    }

    package static func path(_ name: String) -> String {
        tests.appendingPathComponent("Fixtures/captures/\(name)").path
    }
    package static func bytes(_ name: String) throws -> [UInt8] { try contents(of: path(name)) }
}

package func contents(of path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }

/// A folder for the files of one test. It is deleted with this value.
package final class Scratch {
    package let url: URL

    /// Creates a new folder in `parent`.
    package init(in parent: URL = FileManager.default.temporaryDirectory) throws {
        url = parent.appendingPathComponent("gateway-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    package func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// Writes a file and returns its path.
    package func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        try Data(bytes).write(to: url.appendingPathComponent(name))
        return path(name)
    }

    package func write(_ name: String, _ text: String) throws -> String { try write(name, text.utf8) }
}

/// The result of a program.
package struct Ending {
    package var output: [UInt8]
    package var errors: String
    package var status: Int32
    package var wasKilled: Bool

    package init(output: [UInt8], errors: String, status: Int32, wasKilled: Bool) {
        self.output = output
        self.errors = errors
        self.status = status
        self.wasKilled = wasKilled
    }

    package var text: String { String(decoding: output, as: UTF8.self) }
    package var lines: [String] { text.split(separator: "\n").map(String.init) }
}

/// Runs a program until it ends. `input` is its standard input.
package func run(_ program: String, _ arguments: [String], input: [UInt8] = []) throws -> Ending {
    let scratch = try Scratch()
    // Files instead of pipes, because no process has to read files while the program runs.
    let (output, errors) = (try scratch.write("out", []), try scratch.write("err", []))
    let status = try SpawnedProcess(
        program, arguments, input: .file(try scratch.write("in", input)), output: .file(output), errors: .file(errors)
    ).wait()
    return Ending(
        output: try contents(of: output), errors: String(decoding: try contents(of: errors), as: UTF8.self),
        status: abs(status), wasKilled: status < 0)
}

/// Runs a program until it ends, in its own namespace (unshare(1), for example `--net`).
package func run(unshared namespace: String, _ program: String, _ arguments: [String]) throws -> Ending {
    try run("/usr/bin/unshare", (geteuid() == 0 ? [] : ["--map-root-user"]) + [namespace, program] + arguments)
}

/// The built command.
package enum Gateway {
    /// The path of the command, which is next to the test bundle from which this process runs.
    package static let path: String = {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("beacon-gateway").path
    }()

    package static func run(_ arguments: String..., input: [UInt8] = []) throws -> Ending {
        try ProgramSupport.run(path, arguments, input: input)
    }

    package static func run(_ arguments: [String], input: [UInt8] = []) throws -> Ending {
        try ProgramSupport.run(path, arguments, input: input)
    }

    /// Runs the command as a user without root's rights to files (capabilities(7)).
    package static func runWithoutRights(_ arguments: [String]) throws -> Ending {
        guard geteuid() == 0 else { return try run(arguments) }
        return try ProgramSupport.run(
            "/usr/bin/setpriv", ["--inh-caps=-all", "--bounding-set=-all", path] + arguments)
    }

    /// Runs the command without Bluetooth. Only the machine's own network namespace has it (Linux: bt_sock_create() in
    /// net/bluetooth/af_bluetooth.c).
    package static func runWithoutBluetooth(_ arguments: [String]) throws -> Ending {
        let socket = socket(AF_BLUETOOTH, Int32(SOCK_RAW.rawValue), 1)
        guard socket >= 0 else { return try run(arguments) }
        close(socket)
        return try ProgramSupport.run(unshared: "--net", path, arguments)
    }

    /// Runs a replay that must succeed.
    package static func replay(
        _ arguments: [String], input: [UInt8] = [], location: SourceLocation = #_sourceLocation
    ) throws -> Ending {
        let ending = try run(["replay"] + arguments, input: input)
        #expect(ending.status == 0, "\(ending.errors)", sourceLocation: location)
        return ending
    }
}

/// A tool that tests need and the product does not.
package enum Tool {
    package static let python = "/usr/bin/python3"
    package static let zstd = "/usr/bin/zstd"
    package static let gzip = "/usr/bin/gzip"
    package static let xz = "/usr/bin/xz"
    package static let bzip2 = "/usr/bin/bzip2"

    /// Returns the output of the tool for `bytes`.
    package static func pass(_ bytes: [UInt8], through tool: String, _ arguments: String...) throws -> [UInt8] {
        let ending = try run(tool, arguments, input: bytes)
        try #require(ending.status == 0, "\(tool): \(ending.errors)")
        return ending.output
    }
}

/// The schemas in docs/, checked by Tests/Tools/Schema/validate.py.
package enum Schema {
    /// Validates lines; status 0 if all are valid.
    package static func validate(_ lines: [UInt8], _ arguments: [String] = []) throws -> Ending {
        let validator = Fixtures.tests.appendingPathComponent("Tools/Schema/validate.py").path
        return try run(Tool.python, [validator] + arguments, input: lines)
    }

    /// Records an issue if a line is not valid.
    package static func expectValid(
        _ lines: [UInt8], _ arguments: String..., location: SourceLocation = #_sourceLocation
    ) throws {
        let ending = try validate(lines, arguments)
        #expect(ending.status == 0, "\(ending.errors)", sourceLocation: location)
    }
}

/// Returns the JSON object of a line.
package func object(_ line: some StringProtocol) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
}
