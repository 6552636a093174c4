import AdapterScanning
import BeaconMonitoring
import BluetoothLE
import Captures
import CommandSupport
import Foundation
import GatewayConfiguration
import ProgramSupport
import Testing

@testable import GatewayCommands

/// Rule L7 from the scanner to the lines: controllers that change their names, live, recorded, converted and replayed.
@Suite(.serialized) struct AdapterSwapTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private static let first = DeviceAddress(0x00AA_0100_0001, kind: .public)
    private static let second = DeviceAddress(0x00AA_0100_0002, kind: .public)
    private static let settings = """
        monitor: {exit_timeout: 4s, outage_timeout: 30s, deaf_after: off, per_beacon: true}
        conditions:
          - {identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, assuming: unsatisfied}
        """

    /// Runs a swap: only hci0 receives the badge, both adapters are unplugged, and the second one returns before the
    /// first. Then the first one returns as hci1.
    private func swap(_ fixture: RecordedFixture) throws {
        fixture.both {
            $0.say(.appeared(adapter: 0, controller: "the first", address: Self.first))
            $0.say(.appeared(adapter: 1, controller: "the second", address: Self.second))
            $0.say(.listening(adapter: 1, reason: "scripted"))
            $0.receive(badge(1), on: 0)
            $0.receive(nil, on: 1)
        }
        try fixture.go(to: 1)
        fixture.both { scanner in
            for adapter in 0...1 {
                scanner.say(.stopped(adapter: adapter, since: fixture.clock.now, reason: "unplugged"))
                scanner.say(.disappeared(adapter: adapter))
            }
        }
        try fixture.go(to: 2)
        fixture.both {
            $0.say(.appeared(adapter: 0, controller: "the second", address: Self.second))
            $0.say(.listening(adapter: 0, reason: "scripted"))
        }
        for second in 3...12 {
            try fixture.go(to: Double(second))
            fixture.both { $0.receive(nil, on: 0) }
        }
        fixture.both {
            $0.say(.appeared(adapter: 1, controller: "the first", address: Self.first))
            $0.say(.listening(adapter: 1, reason: "scripted"))
            $0.receive(badge(1), on: 1)
        }
        try fixture.go(to: 20)
    }

    @Test(arguments: RecordingTests.formats.indices)
    func `L7: two adapters that return in the other order cause no exit, live and in a replay`(
        index: Int
    ) throws {
        let (name, format) = RecordingTests.formats[index]
        let config = try scratch.write("c.yaml", Self.settings)
        let configuration = try ConfigurationFile.load(config, isReplay: false)
        let fixture = try RecordedFixture(scratch.path(name), format, configuration: configuration)
        try swap(fixture)
        let said = try fixture.end()
        // The badge enters once, and exits 4 s after its last sighting.
        #expect(said.count { $0.contains(#""type":"event""#) && $0.contains(#""scope":"condition""#) } == 2)
        let out = try #require(said.first { $0.contains(#""state":"unsatisfied""#) })
        #expect(out.contains(#""date":"2026-11-18T11:23:36.123456Z""#), "\(out)")
        #expect(try comparable(try Gateway.replay(["--config", config, fixture.path]).lines) == said)
        // Each other format must keep the identities of the adapters too.
        for (other, _) in RecordingTests.formats {
            let path = scratch.path("converted-\(other)")
            #expect(try Gateway.run("convert", fixture.path, path).status == 0)
            #expect(try comparable(try Gateway.replay(["--config", config, path]).lines) == said, "\(other)")
        }
    }

    // MARK: Captures of btmon

    private func replay(_ capture: MonitorCapture, _ arguments: String...) throws -> [String] {
        let config = try scratch.write("c.yaml", Log.configuration)
        return try Gateway.replay(["--config", config] + arguments + ["-"], input: capture.bytes).lines
    }

    @Test func `L7: in btmon's captures a new index waits for the address in Index Info`() throws {
        var capture = MonitorCapture()
        capture.record(0, at: 0, MonitorCapture.newIndex())
        capture.record(8, at: 0)
        capture.record(10, at: 0.1, MonitorCapture.info(1))
        capture.record(3, at: 1, MonitorCapture.event(minor: 1))
        capture.record(1, at: 2)
        // Another controller is hci0 now. A badge must not exit because this controller does not receive it.
        capture.record(0, at: 3, MonitorCapture.newIndex())
        capture.record(8, at: 3)
        capture.record(10, at: 3.5, MonitorCapture.info(2))
        capture.record(3, at: 50, MonitorCapture.event(minor: nil))
        // The first controller is hci1 now.
        capture.record(0, at: 51, index: 1, MonitorCapture.newIndex(0, "hci1"))
        capture.record(8, at: 51, index: 1)
        capture.record(10, at: 51.5, index: 1, MonitorCapture.info(1))
        capture.record(3, at: 100, index: 1, MonitorCapture.event(minor: nil))
        let lines = try replay(capture)
        #expect(
            try ShortLines(lines, "adapter").lines == [
                "0.0 hci0 listening", "2.0 hci0 off", "3.5 hci0-00AA01000002 listening", "51.5 hci0 listening",
            ])
        #expect(try ShortLines(lines, "event").lines == ["1.0 staff satisfied", "80.5 staff unsatisfied"])
        let reported = try payloads(lines).filter { $0["type"] as? String == "adapter" }
        #expect(reported.last?["address"] as? String == "00:AA:01:00:00:01")
        // A conversion waits for the address as a replay does.
        let path = scratch.path("btmon.btsnoop")
        try Data(capture.bytes).write(to: URL(fileURLWithPath: path))
        #expect(try Gateway.run("convert", path, scratch.path("btmon.jsonl")).status == 0)
        let config = try scratch.write("c.yaml", Log.configuration)
        let converted = try Gateway.replay(["--config", config, scratch.path("btmon.jsonl")]).lines
        #expect(try ShortLines(converted, "event").lines == ShortLines(lines, "event").lines)
        // `--adapter` with an address must find the controller, whatever its name.
        #expect(try ShortLines(replay(capture, "--adapter", "00:aa:01:00:00:02"), "adapter").lines.count == 1)
    }

    @Test func `L4: an adapter starts to scan with Index Info as its first record, as with New Index`() throws {
        for (opcode, payload) in [
            (0, MonitorCapture.newIndex(1)), (0, MonitorCapture.newIndex()), (10, MonitorCapture.info(1)),
        ]
            as [(UInt16, [UInt8])]
        {
            var capture = MonitorCapture()
            capture.record(opcode, at: 0, payload)
            capture.record(12, at: 5, [0x61, 0])
            #expect(try ShortLines(replay(capture), "adapter").lines == ["0.0 hci0 listening"])
        }
    }

    @Test func `L7: if New Index has no address and none follows, the name identifies the adapter`() throws {
        var capture = MonitorCapture()
        capture.record(0, at: 0, MonitorCapture.newIndex())
        capture.record(3, at: 0, MonitorCapture.event(minor: 1))
        capture.record(1, at: 10)
        capture.record(0, at: 30, MonitorCapture.newIndex())
        capture.record(8, at: 40)
        capture.record(3, at: 60, MonitorCapture.event(minor: nil))
        let lines = try replay(capture)
        #expect(try ShortLines(lines, "event").lines == ["0.0 staff satisfied", "60.0 staff unsatisfied"])
        #expect(
            try ShortLines(lines, "adapter").lines == ["0.0 hci0 listening", "10.0 hci0 off", "40.0 hci0 listening"])
    }

    // MARK: The advertisement log

    private func line(_ time: Int, _ name: String, _ number: Int?, _ rest: String) -> String {
        let address = number.map { #""adapterAddress":"00:AA:01:00:00:0\#($0)","# } ?? ""
        return #"{"time":\#(time),"adapter":"\#(name)",\#(address)\#(rest)}"#
    }
    private let sighting =
        #""rssi":-60,"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":1,"measuredPower":-59"#

    private func replayed(_ lines: [String], _ arguments: String...) throws -> [String] {
        let config = try scratch.write("c.yaml", Log.configuration)
        return try Gateway.replay(
            ["--config", config] + arguments + ["-"], input: Array(lines.joined(separator: "\n").utf8)
        ).lines
    }

    @Test func `L4: an adapter whose first record has listening false does not start to scan`() throws {
        let lines = try replayed([
            line(0, "hci0", nil, sighting), line(1, "hci1", nil, #""listening":false"#),
            line(2, "hci2", 2, #""listening":false,"since":"1970-01-01T00:00:01Z""#),
            line(5, "hci0", nil, #""data":"""#),
        ])
        #expect(try ShortLines(lines, "adapter").lines == ["0.0 hci0 listening"])
    }

    @Test func `L7: an adapter whose name another adapter gets stops scanning, even without a mark`() throws {
        let lines = try replayed(
            [
                line(0, "hci0", 1, sighting), line(1, "hci0", 2, #""data":"""#), line(50, "hci0", 2, #""data":"""#),
            ])
        #expect(try ShortLines(lines, "event").lines == ["0.0 staff satisfied"])
        #expect(
            try ShortLines(lines, "adapter").lines == [
                "0.0 hci0 listening", "1.0 hci0 off", "1.0 hci0-00AA01000002 listening",
            ])
    }

    @Test func `L7: an address identifies an adapter only within one NAME=`() throws {
        let config = try scratch.write("c.yaml", Log.configuration)
        let here = try scratch.log("here", [line(0, "hci0", 1, sighting), line(100, "hci0", 1, #""data":"""#)])
        let there = try scratch.log("there", [line(0, "hci0", 1, #""data":"""#), line(50, "hci0", 1, sighting)])
        let lines = try Gateway.replay(["--config", config, "here=\(here)", "there=\(there)"]).lines
        #expect(
            try ShortLines(lines, "adapter").lines.prefix(2) == ["0.0 here/hci0 listening", "0.0 there/hci0 listening"])
    }
}
