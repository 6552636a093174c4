import Foundation
import TestSupport
import Testing

@testable import MQTTPublisher

/// Runs Tests/Tools/HomeAssistant/simulate.py, a simulator of Home Assistant.
enum HomeAssistantSimulator {
    static let python = "/usr/bin/python3"
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Tools/HomeAssistant/simulate.py").path

    /// An entity as Home Assistant shows it.
    struct Shown {
        var state: String
        var attributes: [String: Any]
    }

    /// Returns the entities at each `show` of the steps, by the end of their unique ID, after the part of the gateway.
    /// With `zones`, the simulated Home Assistant reads zones.
    static func run(_ steps: [[String: String]], zones: Bool = false, location: SourceLocation = #_sourceLocation)
        throws
        -> [[String: Shown]]
    {
        let answer = try ask([script] + (zones ? ["--zones"] : []), input: try text(of: steps))
        try #require(answer.status == 0, "\(answer.errors)", sourceLocation: location)
        return try answer.output.split(separator: "\n").map { line in
            var shown: [String: Shown] = [:]
            for (id, value) in try presentObject(line) {
                let entity = try #require(value as? [String: Any])
                let short = id.split(separator: "_-", maxSplits: 2).last.map(String.init) ?? id
                shown[short] = Shown(
                    state: try #require(entity["state"] as? String),
                    attributes: try #require(entity["attributes"] as? [String: Any]))
            }
            return shown
        }
    }

    /// Returns the reason why the simulator refuses the steps; `nil` if it accepts them.
    static func refusal(of steps: [[String: String]]) throws -> String? {
        let answer = try ask([script], input: try text(of: steps))
        return answer.status == 0 ? nil : answer.errors
    }

    private static func text(of steps: [[String: String]]) throws -> String {
        try steps.map {
            String(decoding: try JSONSerialization.data(withJSONObject: $0, options: .sortedKeys), as: UTF8.self)
        }.joined(separator: "\n")
    }

    private static func ask(_ arguments: [String], input: String) throws -> (
        output: String, errors: String, status: Int32
    ) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ha-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Files instead of pipes, because pipes would have to be read meanwhile.
        let files = ["in", "out", "err"].map { folder.appendingPathComponent($0) }
        for file in files { try Data(input.utf8).write(to: file) }
        for file in files.dropFirst() { try Data().write(to: file) }
        let status = try SpawnedProcess(
            python, ["-B"] + arguments, input: .file(files[0].path), output: .file(files[1].path),
            errors: .file(files[2].path)
        ).wait()
        return (
            String(decoding: try Data(contentsOf: files[1]), as: UTF8.self),
            String(decoding: try Data(contentsOf: files[2]), as: UTF8.self), status
        )
    }
}

extension RetainingBroker {
    /// Returns the messages after the first `count` ones, in the format of the simulator.
    func steps(since count: Int) -> [[String: String]] {
        messages[count...].map {
            ["do": "publish", "topic": $0.topic, "payload": String(decoding: $0.payload, as: UTF8.self)]
        }
    }
}

/// A gateway, a broker and Home Assistant.
struct HomeAssistantFixture {
    var fixture: PresentFixture
    var state: PresentState
    var broker = RetainingBroker()
    private(set) var steps: [[String: String]] = []
    private var reported = 0

    init(homeAssistant: Bool = true, trackers: HomeAssistantOptions.Trackers = .state, names: Bool = false)
        throws
    {
        fixture = try PresentFixture()
        state = PresentState(try PresentOptions.make(homeAssistant: homeAssistant, trackers: trackers, names: names))
        availability("online")
    }

    /// Publishes the new lines to the broker, and adds its messages to the steps for Home Assistant.
    mutating func deliver() {
        state.follow(fixture)
        state.deliver(to: &broker)
        steps += broker.steps(since: reported)
        reported = broker.messages.count
    }

    mutating func publish(_ topic: String, _ payload: String, below base: String = "beacons/lobby/") {
        steps.append(["do": "publish", "topic": base + topic, "payload": payload])
    }

    mutating func availability(_ text: String) { publish("availability", text) }

    mutating func show() { steps.append(["do": "show"]) }

    mutating func restartHomeAssistant() { steps.append(["do": "restart"]) }
}
