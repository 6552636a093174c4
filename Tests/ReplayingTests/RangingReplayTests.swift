import Captures
import CommandSupport
import EventLog
import Foundation
import GatewayConfiguration
import ProgramSupport
import Replaying
import Testing

/// `ranging` lines of a replay.
@Suite struct RangingReplayTests {
    private let configuration = """
        monitor: {ranging: true}
        conditions:
          - {identifier: everyone, uuid: \(Log.uuid), assuming: unsatisfied, exit_timeout: 3s}
          - {identifier: one, uuid: \(Log.uuid), major: 1, minor: 1, ranging: false}
          - {identifier: two, uuid: \(Log.uuid), major: 1, minor: 2}

        """

    private func replay(_ log: [String], _ arguments: [String] = [], _ text: String? = nil) throws -> Ending {
        let scratch = try Scratch()
        let config = try scratch.write("c.yaml", text ?? configuration)
        return try Gateway.replay(
            ["--config", config] + arguments + ["-"], input: Array(log.map { $0 + "\n" }.joined().utf8))
    }

    /// Returns the second, the condition and the minors in view, nearest first, of each `ranging` line.
    private func brief(_ lines: [String]) throws -> [String] {
        try payloads(lines, type: "ranging").map { payload in
            let time = (payload["monotonic"] as? Int64 ?? -1) / 1_000_000
            let beacons = payload["beacons"] as? [[String: Any]] ?? []
            let minors = beacons.map { "\($0["minor"] ?? "?")" }.joined(separator: " ")
            return "\(time) \(payload["identifier"] ?? "?"): \(minors)"
        }
    }

    @Test func `conditions with ranging get a line with the beacons in view for each second of capture time`() throws {
        let log = [
            Log.sighting("10.2"), Log.sighting("11.5", minor: 2), Log.report("13.999999"), Log.report("14"),
        ]
        let ending = try replay(log)
        #expect(
            try brief(ending.lines) == [
                "11 everyone: 1", "12 everyone: 1 2", "12 two: 2", "13 everyone: 1 2", "13 two: 2",
                "14 everyone: 1 2", "14 two: 2",
            ])
        let first = try #require(try payloads(ending.lines, type: "ranging").first)
        let beacon = try #require((first["beacons"] as? [[String: Any]])?.first)
        #expect(beacon["rssi"] as? Double == -60)
        #expect(beacon["proximity"] as? String == "near")
        #expect(beacon["accuracy"] as? Double == 1.12)
        #expect(beacon["count"] as? Int == 1)
        #expect(first["monitor"] as? String == "site")
        #expect(first["sequence"] == nil)
    }

    @Test func `lines are in the order of their times: an exit is before the ranging of the same time`() throws {
        let ending = try replay([Log.sighting("10"), Log.report("13")])
        let lines = try payloads(ending.lines).compactMap { payload -> String? in
            guard let type = payload["type"] as? String, type == "event" || type == "ranging" else { return nil }
            return "\((payload["monotonic"] as? Int64 ?? -1) / 1_000_000) \(type) \(payload["identifier"] ?? "")"
        }
        #expect(
            lines == [
                "10 event everyone", "10 event one", "11 ranging everyone", "12 ranging everyone",
                "13 event everyone", "13 ranging everyone",
            ])
    }

    @Test func `with --settle, a beacon leaves the view with one empty line, and no line follows`() throws {
        let ending = try replay([Log.sighting("10.5", minor: 2)], ["--settle"])
        let reported = try brief(ending.lines).filter { $0.contains("two") }
        #expect(reported == ["11 two: 2", "12 two: 2", "13 two: 2", "14 two: 2", "15 two: 2", "16 two: "])
    }

    @Test func `the exponent and the window of the configuration apply`() throws {
        let text = "ranging: {exponent: 4, window: 1s}\n" + configuration
        let ending = try replay([Log.sighting("10.5", minor: 2), Log.report("13")], [], text)
        let ranging = try payloads(ending.lines, type: "ranging").filter { $0["identifier"] as? String == "two" }
        #expect(ranging.count == 2)
        #expect((ranging.first?["beacons"] as? [[String: Any]])?.first?["accuracy"] as? Double == 1.06)
        #expect((ranging.last?["beacons"] as? [[String: Any]])?.isEmpty == true)
    }

    @Test(arguments: ["android-gym-bike.btsnoop", "hcidump-gimbal.raw"])
    func `T4: the same capture gives the same bytes again, at any speed and in any window`(name: String) throws {
        let scratch = try Scratch()
        let times = Fixtures.arguments(for: name)
        let uuids = try Set(
            payloads(Gateway.replay(times + [Fixtures.path(name)]).lines, type: "event").compactMap {
                ($0["condition"] as? [String: Any])?["uuid"] as? String
            })
        let conditions = uuids.sorted().enumerated().map { "- {identifier: c\($0), uuid: \($1), ranging: true}\n" }
        let config = try scratch.write("c.yaml", "conditions:\n" + conditions.joined())
        let arguments = times + ["--config", config, "--settle", Fixtures.path(name)]
        let whole = try Gateway.replay(arguments)
        #expect(try !payloads(whole.lines, type: "ranging").isEmpty)
        #expect(try Gateway.replay(arguments).output == whole.output)
        #expect(try Gateway.replay(["--speed", "100000"] + arguments).output == whole.output)
        for size in [64, 4099] {
            var options = ReplayOptions(inputs: [ReplayOptions.Input(.path(Fixtures.path(name)))])
            options.configuration = try ConfigurationFile.load(config, isReplay: true)
            options.windowSize = size
            if !times.isEmpty { options.interval = .milliseconds(100) }
            options.settles = true
            options.outputDirectory = scratch.path("\(size)")
            _ = try Replay(options).run()
            #expect(try contents(of: scratch.path("\(size)/current")) == whole.output)
        }
        // Except for the ranging lines, the lines are those of a replay without ranging.
        let plain = try Gateway.replay(
            times + [
                "--config",
                try scratch.write("p.yaml", "conditions:\n" + conditions.joined().replacing("true", with: "false")),
                "--settle", Fixtures.path(name),
            ])
        #expect(whole.lines.filter { !$0.contains(#""type":"ranging""#) } == plain.lines)
        try Schema.expectValid(whole.output, "--first", "1")
    }

    @Test func `ranging lines are also written to a folder, and the visits command ignores them`() throws {
        let scratch = try Scratch()
        let config = try scratch.write("c.yaml", configuration)
        let log = try scratch.log("l.json", [Log.sighting("10.2"), Log.sighting("12.2"), Log.report("30")])
        _ = try Gateway.replay(["--config", config, "--output", scratch.path("out"), log])
        let lines = String(decoding: try contents(of: scratch.path("out/current")), as: UTF8.self)
        #expect(lines.contains(#""type":"ranging""#))
        let visits = try Gateway.run("visits", "--json", "--utc", scratch.path("out"))
        #expect(visits.status == 0, "\(visits.errors)")
        #expect(visits.text.contains("everyone"))
    }
}
