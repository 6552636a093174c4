import Foundation
import Testing

/// A capture of Tests/Tools/make_capture.py with its expected results.
package struct MadeCapture {
    package static let formats = [
        "btsnoop-h4", "btsnoop-monitor", "pcap-201", "pcap-187", "pcapng-201", "pcap-251", "pcap-256", "hcidump",
        "jsonl", "log",
    ]
    package static let exitTimeouts = [1, 10, 30]

    package let path: String
    package let sightings: [ExpectedSighting]
    package let conditions: [ExpectedCondition]
    /// The entries and exits, by exit timeout in seconds.
    package let changes: [Int: [Change]]
    private let scratch: Scratch

    /// Creates a capture, by default of 1,500 reports over 150 s. On average, a beacon is present for 15 s and then
    /// absent for 30 s.
    package init(
        _ format: String, seed: Int, perEvent: Int = 1, reports: Int = 1500, exitTimeouts: [Int] = [],
        _ more: [String] = []
    ) throws {
        scratch = try Scratch()
        path = scratch.path("capture")
        let (truth, conditions, events) = (
            scratch.path("sightings"), scratch.path("conditions"), scratch.path("events")
        )
        var changes: [Int: [Change]] = [:]
        for timeout in exitTimeouts.isEmpty ? [10] : exitTimeouts {
            // The capture is the same for each timeout, but the events differ.
            let ending = try run(
                Tool.python,
                [
                    Fixtures.tests.appendingPathComponent("Tools/make_capture.py").path, "-o", path, "--format", format,
                    "-n", "\(reports)", "--seed", "\(seed)", "--per-event", "\(perEvent)", "--rate", "10", "--beacons",
                    "30", "--present", "15", "--away", "30", "--sightings", truth, "--write-conditions", conditions,
                    "--events", events, "--exit-timeout", "\(timeout)",
                ] + (format.hasPrefix("pcap-25") ? ["--bad-crc", "0.1"] : []) + more)
            try #require(ending.status == 0, "\(ending.errors)")
            changes[timeout] = try Self.lines(events).map { object in
                Change(
                    time: Int64((try #require(object["t"] as? Double) * 1_000_000).rounded()),
                    isEnter: object["event"] as? String == "enter", identifier: try #require(object["id"] as? String))
            }
        }
        self.changes = changes
        sightings = try String(decoding: contents(of: truth), as: UTF8.self).split(separator: "\n")
            .map { try ExpectedSighting(expected: String($0)) }
        self.conditions = try Self.lines(conditions).map(ExpectedCondition.init)
    }

    /// Writes the configuration of the conditions and returns its path.
    package func configuration(exitTimeout seconds: Int) throws -> String {
        try scratch.write(
            "\(seconds).yaml", ExpectedCondition.configuration(conditions, exitTimeout: "\(seconds)s"))
    }

    private static func lines(_ path: String) throws -> [[String: Any]] {
        try String(decoding: contents(of: path), as: UTF8.self).split(separator: "\n").map(object)
    }
}
