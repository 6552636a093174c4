import Foundation
import ProgramSupport
import TestSupport
import Testing

/// Rules L3 to L5 and L7: the marks and names of adapters in captures and their conversions. The examples are those of
/// `docs/monitor.md`.
@Suite(.serialized) struct AdapterMarkTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    static func settings(_ monitor: String = "", exit: String = "30s") -> String {
        """
        monitor: {\(monitor)}
        conditions:
          - {identifier: staff, uuid: \(Log.uuid), exit_timeout: \(exit), assuming: unsatisfied}

        """
    }

    // MARK: Captures of the Linux monitor

    /// Returns the adapter changes and events of a capture. Its conversions to the other formats must give the same
    /// ones.
    private func changes(_ capture: MonitorCapture, _ settings: String, _ arguments: String...) throws -> [String] {
        let config = try scratch.write("c.yaml", settings)
        let path = scratch.path("capture.btsnoop")
        try Data(capture.bytes).write(to: URL(fileURLWithPath: path))
        let lines = try ShortLines(Gateway.replay(["--config", config] + arguments + [path]).lines, "adapter", "event")
            .lines
        for (format, _) in RecordingTests.formats {
            let converted = scratch.path("converted-\(format)")
            #expect(try Gateway.run("convert", path, converted).status == 0)
            let others = try Gateway.replay(["--config", config] + arguments + [converted]).lines
            #expect(try ShortLines(others, "adapter", "event").lines == lines, "\(format)")
        }
        return lines
    }

    /// Returns a capture in which A is index 0 and receives a badge, then index 0 is deleted, and at the end another
    /// adapter reports.
    private func moved(_ body: (inout MonitorCapture) -> Void) -> MonitorCapture {
        var capture = MonitorCapture()
        capture.record(10, at: 0, MonitorCapture.info(1))
        capture.record(3, at: 0, MonitorCapture.event(minor: 1))
        capture.record(1, at: 1)
        body(&capture)
        capture.record(3, at: 200, index: 5, MonitorCapture.event(minor: nil))
        return capture
    }

    private static let away = [
        "0.0 hci0 listening", "0.0 staff satisfied", "1.0 hci0 off", "61.0 staff unknown", "200.0 hci5 listening",
    ]

    @Test func `L4: Index Info and New Index of a deleted adapter do not make it scan`() throws {
        for (opcode, payload) in [(10, MonitorCapture.info(1)), (0, MonitorCapture.newIndex(1, "hci1"))]
            as [(UInt16, [UInt8])]
        {
            let capture = moved { $0.record(opcode, at: 2, index: 1, payload) }
            #expect(try changes(capture, Self.settings(exit: "5s")) == Self.away)
        }
        let config = try scratch.write("c.yaml", Self.settings(exit: "5s"))
        let capture = moved { $0.record(10, at: 2, index: 1, MonitorCapture.info(1)) }
        #expect(
            try Gateway.replay(["--config", config, "-"], input: capture.bytes).lines.contains(
                #"{"topic":"beacons/replay/event/staff","qos":1,"retain":false,"payload":{"version":2,"type":"event","gateway":"replay","sequence":5,"monitor":"site","identifier":"staff","scope":"condition","state":"unknown","date":"1970-01-01T00:01:01.000000Z","time":61000,"monotonic":61000000,"condition":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E"},"previous":{"state":"satisfied","date":"1970-01-01T00:00:00.000000Z"},"sighting":{"rssi":-60,"measuredPower":-59,"address":"C0:98:E5:00:00:07","adapter":"hci0"},"lastSeen":"1970-01-01T00:00:00.000000Z","diagnostics":["scannerUnavailable"]}}"#
            ))
    }

    @Test func `L4: Index Info does not make a deleted adapter scan if another one had its index meanwhile`() throws {
        let capture = moved {
            $0.record(10, at: 2, MonitorCapture.info(2))
            $0.record(1, at: 3)
            $0.record(10, at: 4, MonitorCapture.info(1))
        }
        #expect(
            try changes(capture, Self.settings(exit: "5s")) == [
                "0.0 hci0 listening", "0.0 staff satisfied", "1.0 hci0 off", "2.0 hci0-00AA01000002 listening",
                "3.0 hci0-00AA01000002 off", "61.0 staff unknown", "200.0 hci5 listening",
            ])
    }

    @Test func `L4: the first address of an index that was closed does not make it scan`() throws {
        var capture = MonitorCapture()
        capture.record(3, at: 0, MonitorCapture.event(minor: 1))
        capture.record(9, at: 1)
        capture.record(10, at: 2, MonitorCapture.info(1))
        capture.record(2, at: 3, [0x03, 0x0C, 0x00])
        capture.record(3, at: 200, index: 5, MonitorCapture.event(minor: nil))
        #expect(try changes(capture, Self.settings(exit: "5s")) == Self.away)
    }

    @Test(arguments: [8, 3] as [UInt16])
    func `L4: Open Index and a report each end a stretch in which an adapter does not scan`(opcode: UInt16) throws {
        let capture = moved {
            $0.record(10, at: 2, index: 1, MonitorCapture.info(1))
            $0.record(opcode, at: 3, index: 1, opcode == 3 ? MonitorCapture.event(minor: nil) : [])
        }
        #expect(
            try changes(capture, Self.settings(exit: "5s")) == [
                "0.0 hci0 listening", "0.0 staff satisfied", "1.0 hci0 off", "3.0 hci0 listening",
                "7.0 staff unsatisfied", "200.0 hci5 listening",
            ])
        // This must also be so if it is the first record under the new name.
        let first = moved {
            $0.record(0, at: 3, index: 1, MonitorCapture.newIndex(1, "hci1"))
            $0.record(opcode, at: 3, index: 1, opcode == 3 ? MonitorCapture.event(minor: nil) : [])
        }
        #expect(try changes(first, Self.settings(exit: "5s")) == changes(capture, Self.settings(exit: "5s")))
    }

    @Test(arguments: ["", "00:AA:01:00:00:01"])
    func `L4, L7: the last mark of an index without an address takes effect with the address`(filter: String) throws {
        func changes(opened: Bool, index: UInt16) throws -> [String] {
            let capture = moved {
                $0.record(0, at: 2, index: index, MonitorCapture.newIndex(0, "hci\(index)"))
                $0.record(8, at: 2, index: index)
                if !opened { $0.record(9, at: 2.5, index: index) }
                $0.record(10, at: 3, index: index, MonitorCapture.info(1))
            }
            guard !filter.isEmpty else { return try self.changes(capture, Self.settings(exit: "5s")).dropLast() }
            return try self.changes(capture, Self.settings(exit: "5s"), "--adapter", filter, "--settle")
        }
        for index in [0, 1] as [UInt16] {
            #expect(
                try changes(opened: true, index: index) == [
                    "0.0 hci0 listening", "0.0 staff satisfied", "1.0 hci0 off", "3.0 hci0 listening",
                    "7.0 staff unsatisfied",
                ])
            #expect(try changes(opened: false, index: index) == Self.away.dropLast())
        }
    }

    @Test func `L4: New Index is a controller without a mark, and its marks belong to no other controller`() throws {
        // Index 1 was opened and closed for a controller that never got an address.
        func changes(_ first: Double, _ body: (inout MonitorCapture) -> Void) throws -> [String] {
            var capture = MonitorCapture()
            capture.record(10, at: 0, index: 5, MonitorCapture.info(9))
            capture.record(0, at: 1, index: 1, MonitorCapture.newIndex(0, "hci1"))
            capture.record(8, at: 1, index: 1)
            capture.record(9, at: 2, index: 1)
            capture.record(1, at: 2, index: 1)
            body(&capture)
            capture.record(12, at: first, index: 1, [0x61, 0])
            return try self.changes(capture, Self.settings())
        }
        let listening = ["0.0 hci5 listening", "11.0 hci1 listening"]
        let awaited = try changes(12) {
            $0.record(0, at: 10, index: 1, MonitorCapture.newIndex(0, "hci1"))
            $0.record(10, at: 11, index: 1, MonitorCapture.info(1))
        }
        #expect(awaited == listening)
        #expect(try changes(12) { $0.record(0, at: 11, index: 1, MonitorCapture.newIndex(1, "hci1")) } == listening)
        // If `--adapter` selects a controller, the marks of other controllers must not count for it either.
        let others = moved {
            $0.record(0, at: 2, MonitorCapture.newIndex())
            $0.record(8, at: 2.5)
            $0.record(10, at: 3, MonitorCapture.info(2))
            $0.record(10, at: 5, MonitorCapture.info(1))
        }
        #expect(
            try self.changes(others, Self.settings(exit: "5s"), "--adapter", "00:AA:01:00:00:01", "--settle")
                == Self.away.dropLast())
    }

    @Test func `L4: another file does not end a stretch without scanning`() throws {
        let config = try scratch.write("c.yaml", Self.settings(exit: "5s"))
        var first = MonitorCapture()
        first.record(10, at: 0, MonitorCapture.info(1))
        first.record(3, at: 0, MonitorCapture.event(minor: 1))
        first.record(9, at: 1)
        for end in [1, 15] as [Double] {
            var (one, two) = (first, MonitorCapture())
            one.record(2, at: end, [0x03, 0x0C, 0x00])
            two.record(10, at: 2, MonitorCapture.info(1))
            two.record(2, at: 20, [0x03, 0x0C, 0x00])
            two.record(3, at: 200, index: 5, MonitorCapture.event(minor: nil))
            let paths = [scratch.path("one.btsnoop"), scratch.path("two.btsnoop")]
            try Data(one.bytes).write(to: URL(fileURLWithPath: paths[0]))
            try Data(two.bytes).write(to: URL(fileURLWithPath: paths[1]))
            let lines = try Gateway.replay(["--config", config] + paths).lines
            #expect(try ShortLines(lines, "adapter", "event").lines == Self.away)
        }
    }

    @Test func `L5: a deaf adapter scans again from its next report, not from its address`() throws {
        var capture = MonitorCapture()
        capture.record(3, at: 0, MonitorCapture.event(minor: nil))
        capture.record(10, at: 2, MonitorCapture.info(1))
        capture.record(3, at: 4, MonitorCapture.event(minor: nil))
        #expect(
            try changes(capture, Self.settings("deaf_after: 1s")) == [
                "0.0 hci0 listening", "1.0 hci0 deaf", "4.0 hci0 listening",
            ])
    }

    @Test(arguments: SeededGenerator.seeds(environment("BEACON_ADAPTER_CAPTURES", default: 40)))
    func `T4, L4, L7: random marks, names and addresses are the same after conversion`(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed &* 0x14A)
        let capture = MonitorCapture.random(&generator)
        let lines = try changes(capture, Self.settings("outage_timeout: 15s, forget_after: 40s", exit: "5s"))
        #expect(!lines.isEmpty)
    }

    // MARK: The advertisement log

    private func line(_ time: Double, _ name: String, _ number: Int?, _ rest: String = "") -> String {
        let address = number.map { #","adapterAddress":"00:AA:01:00:00:0\#($0)""# } ?? ""
        return #"{"time":\#(time),"adapter":"\#(name)"\#(address)\#(rest.isEmpty ? "" : ",")\#(rest)}"#
    }
    private let sighting =
        #""rssi":-60,"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":7,"measuredPower":-59"#
    private let report = #""data":"""#
    private let off = #""listening":false"#

    private func replay(_ settings: String, _ lines: [String]) throws -> [String] {
        let config = try scratch.write("c.yaml", settings)
        return try Gateway.replay(
            ["--config", config, "-"], input: Array(lines.joined(separator: "\n").utf8)
        ).lines
    }

    @Test func `L7, T3: an event has the names of its time`() throws {
        let lines = try replay(
            Self.settings("forget_after: 91s", exit: "5s"),
            [
                line(0, "hci0", 1, report), line(10, "hci0", 1, off), line(50, "hci0", 2, sighting),
                line(51, "hci0", 2, off), line(52, "hci7", 3, report), line(160, "hci0", 2, report),
                line(200, "hci7", 3, report),
            ])
        #expect(
            lines.filter { $0.contains(#""time":111000"#) } == [
                #"{"topic":"beacons/replay/event/staff","qos":1,"retain":false,"payload":{"version":2,"type":"event","gateway":"replay","sequence":8,"monitor":"site","identifier":"staff","scope":"condition","state":"unknown","date":"1970-01-01T00:01:51.000000Z","time":111000,"monotonic":111000000,"condition":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E"},"previous":{"state":"satisfied","date":"1970-01-01T00:00:50.000000Z"},"sighting":{"rssi":-60,"measuredPower":-59,"adapter":"hci0-00AA01000002"},"lastSeen":"1970-01-01T00:00:50.000000Z","diagnostics":["scannerUnavailable"]}}"#
            ])
        #expect(try ShortLines(lines, "adapter").lines.last == "160.0 hci0 listening")
    }

    @Test func `L3, L7: an exit has the name that a forgotten adapter has at that time`() throws {
        let lines = try replay(
            Self.settings("forget_after: 91s"),
            [
                line(0, "hci0", 1, sighting), line(0, "hci1", 3, report), line(1, "hci0", 1, off),
                line(100, "hci0", 2, report), line(130, "hci1", 3, report),
            ])
        let events = try payloads(lines).filter { $0["type"] as? String == "event" }.map { event in
            let sighting = event["sighting"] as? [String: Any]
            return "\(event["time"] ?? "") \(event["state"] ?? "") \(sighting?["adapter"] ?? "")"
        }
        #expect(
            events == ["0 satisfied hci0", "61000 unknown hci0", "122000 unsatisfied hci0-00AA01000001"])
    }

    @Test func `L5: since counts for L2 and L3, but the time of holds runs until the record with the stop`() throws {
        let lines = [
            line(0, "hci0", nil, sighting), line(0, "hci1", nil, report),
            line(20, "hci0", nil, off + #","since":"1970-01-01T00:00:05Z""#),
        ]
        let back = [line(40, "hci0", nil, #""listening":true"#), line(70, "hci0", nil, report)]
        #expect(
            try ShortLines(replay(Self.settings(), lines + back), "event").lines == [
                "0.0 staff satisfied", "50.0 staff unsatisfied",
            ])
        #expect(
            try ShortLines(replay(Self.settings(), lines + [line(70, "hci1", nil, report)]), "event").lines == [
                "0.0 staff satisfied", "65.0 staff unknown",
            ])
    }

    @Test func `L7: an address under a second name is another adapter unless the first name is free`() throws {
        let before = [line(0, "hci0", 1, sighting)]
        let after = [line(5, "hci1", 1, report), line(40, "hci1", 1, report)]
        let both = try replay(Self.settings(), before + after)
        #expect(
            try ShortLines(both, "adapter", "event").lines == [
                "0.0 hci0 listening", "0.0 staff satisfied", "5.0 hci1 listening", "30.0 staff unsatisfied",
            ])
        let adapters = try payloads(both).filter { $0["type"] as? String == "adapter" }
        #expect(adapters.map { $0["address"] as? String } == ["00:AA:01:00:00:01", nil])
        let moved = try replay(Self.settings(), before + [line(4, "hci0", 1, off)] + after)
        #expect(
            try ShortLines(moved, "adapter", "event").lines == [
                "0.0 hci0 listening", "0.0 staff satisfied", "4.0 hci0 off", "5.0 hci0 listening",
                "31.0 staff unsatisfied",
            ])
    }

    @Test func `L4, L7: an adapter that loses its name to another one scans again from its next report`() throws {
        let lines = try replay(
            Self.settings(),
            [
                line(0, "hci0", 1, sighting), line(1, "hci0", 2, report), line(2, "hci1", 1), line(35, "hci0", 2),
                line(40, "hci1", 1, report), line(80, "hci1", 1, report),
            ])
        #expect(
            try ShortLines(lines, "adapter", "event").lines == [
                "0.0 hci0 listening", "0.0 staff satisfied", "1.0 hci0 off", "1.0 hci0-00AA01000002 listening",
                "40.0 hci0 listening", "69.0 staff unsatisfied",
            ])
    }

    @Test func `L7: the number after a name is the lowest that is free`() throws {
        let lines = try replay(
            Self.settings(),
            [
                line(0, "hci0", 1, report), line(1, "hci0", nil, report), line(2, "hci0", 2, report),
                line(3, "hci0", nil, report),
            ])
        #expect(
            try ShortLines(lines, "adapter").lines == [
                "0.0 hci0 listening", "1.0 hci0 off", "1.0 hci0-2 listening", "3.0 hci0-2 off", "3.0 hci0-3 listening",
            ])
    }
}
