import Foundation
import ProgramSupport
import Synchronization
import TestSupport
import Testing

@testable import BeaconScanning

/// A monitor that reads a capture must give the same events as a replay of it.
@Suite(.timeLimit(.minutes(6))) struct CaptureScanningTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private static let settings: ConditionSettings = {
        var settings = ConditionSettings()
        settings.exitTimeout = .seconds(2)
        settings.perBeacon = true
        return settings
    }()

    /// Returns the events of a monitor as short lines: microseconds, identifier, beacon, scope and state.
    private func events(of path: String, _ uuids: [String]) async throws -> [String] {
        try await events(of: .capture(path), uuids)
    }

    private func events(of scanning: Scanning, _ uuids: [String]) async throws -> [String] {
        let monitor = try BeaconMonitor("capture \(UUID())", scanning: scanning.logging { _, _ in })
        for uuid in uuids {
            let uuid = try #require(ProximityUUID(uuid))
            try await monitor.add(
                .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid)), identifier: uuid.description,
                assuming: .unsatisfied, settings: Self.settings)
        }
        var events = monitor.events.makeAsyncIterator()
        async let running: Void = monitor.run()
        var lines: [String] = []
        while let event = try await events.next() {
            let beacon = event.refinement.map { "\($0.major)/\($0.minor)" } ?? ""
            lines.append("\(event.time.nanoseconds / 1000) \(event.identifier) \(beacon) \(event.scope) \(event.state)")
        }
        try await running
        return lines
    }

    /// Returns the lines in the log of a program that reads a capture.
    private func log(_ scanning: Scanning) async throws -> [(level: Scanning.LogLevel, text: String)] {
        let (lines, input) = AsyncStream.makeStream(of: (level: Scanning.LogLevel, text: String).self)
        let monitor = try BeaconMonitor("capture \(UUID())", scanning: scanning.logging { input.yield(($0, $1)) })
        try await monitor.run()
        input.finish()
        return await lines.reduce(into: []) { $0.append($1) }
    }

    /// Returns the events of the command `replay` in the same form.
    private func replay(_ path: String, _ uuids: [String], options: [String] = []) throws -> [String] {
        let conditions = uuids.map {
            "  - identifier: \($0)\n    uuid: \($0)\n    assuming: unsatisfied\n    exit_timeout: 2s\n    per_beacon: true\n"
        }
        let config = try scratch.write("\(UUID()).yaml", "conditions:\n" + conditions.joined())
        return try payloads(Gateway.replay(["--config", config] + options + [path]).lines)
            .filter { $0["type"] as? String == "event" }
            .map { event in
                let refinement = event["refinement"] as? [String: Any]
                let beacon = refinement.map { "\($0["major"] ?? "")/\($0["minor"] ?? "")" } ?? ""
                let words = [
                    "\(event["monotonic"] ?? "")", "\(event["identifier"] ?? "")", beacon, "\(event["scope"] ?? "")",
                    "\(event["state"] ?? "")",
                ]
                return words.joined(separator: " ")
            }
    }

    @Test func `T4: the events of a capture are those of a replay`() async throws {
        let name = "android-gym-bike.btsnoop"
        let expected = try contents(of: Fixtures.path(name + ".expected.jsonl"))
        let lines = String(decoding: expected, as: UTF8.self).split(separator: "\n")
        let uuids = Set(try lines.map { try ExpectedSighting(expected: String($0)).uuid }).sorted()
        let found = try await events(of: Fixtures.path(name), uuids)
        #expect(!found.isEmpty)
        #expect(try replay(Fixtures.path(name), uuids) == found)
    }

    @Test func `L4, L7: a capture with marks that adapters do not scan has the events of a replay`() async throws {
        let log = try scratch.log(
            "marks.jsonl",
            [
                Log.sighting("0"), Log.sighting("1", adapter: "hci1", minor: 2), Log.listening(false, "1.5"),
                Log.report("3", adapter: "hci1"), Log.listening(true, "40"), Log.report("41"), Log.sighting("41.5"),
                Log.report("60"), Log.report("60", adapter: "hci1"),
            ])
        var capture = MonitorCapture()
        capture.record(8, at: 0)
        capture.record(3, at: 0, MonitorCapture.event(minor: 1))
        capture.record(9, at: 1)
        capture.record(8, at: 40)
        capture.record(3, at: 41, MonitorCapture.event(minor: nil))
        capture.record(3, at: 60, MonitorCapture.event(minor: 2))
        let monitor = try scratch.write("monitor.btsnoop", capture.bytes)
        for path in [log, monitor] {
            let found = try await events(of: path, [Log.uuid])
            #expect(found.count >= 4)
            #expect(try replay(path, [Log.uuid]) == found)
        }
    }

    @Test(arguments: SeededGenerator.seeds(environment("BEACON_LIBRARY_CAPTURES", default: 25)))
    func `T4, L4, L7: with random marks, names and addresses the events of a capture are those of a replay`(
        seed: UInt64
    ) async throws {
        var generator = SeededGenerator(state: seed &* 0x14B)
        let path = try scratch.write("random.btsnoop", MonitorCapture.random(&generator).bytes)
        #expect(try await events(of: path, [Log.uuid]) == replay(path, [Log.uuid]))
    }

    @Test func `a log with fields of other names, whose records are not in order, has the events of a replay`()
        async throws
    {
        func record(_ time: String, _ minor: Int, adapter: String = "north") -> String {
            Log.sighting(time, adapter: adapter, minor: minor)
                .replacing("\"adapter\"", with: "\"scannerID\"").replacing("\"measuredPower\"", with: "\"power\"")
        }
        let lines = [
            record("4", 2), record("0", 1), record("1", 1), record("9", 1, adapter: "south"), record("5.5", 2),
            record("40", 1), record("30", 2), record("39", 2), record("90", 1),
        ]
        let path = try scratch.log("disorder.jsonl", lines)
        let map = "adapter=scannerID,measuredPower=power"
        let fields = try FieldMap(map)
        let found = try await events(of: .capture(path, fields: fields, reorder: .seconds(10)), [Log.uuid])
        #expect(try replay(path, [Log.uuid], options: ["--fields", map, "--reorder", "10s"]) == found)
        #expect(found.first?.hasPrefix("0 ") == true, "the first record of the file is not the first event")
        let unordered = try await events(of: .capture(path, fields: fields, reorder: .seconds(-1)), [Log.uuid])
        #expect(try replay(path, [Log.uuid], options: ["--fields", map]) == unordered)
        #expect(unordered != found)
    }

    @Test(arguments: SeededGenerator.seeds(environment("BEACON_LIBRARY_REORDERED", default: 10)))
    func `a log in random order whose records are delayed has the events of a replay`(seed: UInt64) async throws {
        var generator = SeededGenerator(state: seed &* 0x14D)
        let lines = (0..<40).map { index in
            // Some are later than the delay.
            let time = "\(Double(index) + generator.pick([0, 0, 0.5, 2, 3, 6]))"
            let adapter = generator.pick(["hci0", "hci1"])
            return switch generator.below(6) {
            case 0: Log.listening(generator.below(2) == 0, time, adapter: adapter)
            case 1: Log.report(time, adapter: adapter)
            default: Log.sighting(time, adapter: adapter, minor: generator.below(3))
            }
        }
        let path = try scratch.log("shuffled.jsonl", lines)
        let found = try await events(of: .capture(path, reorder: .seconds(3)), [Log.uuid])
        #expect(try found == replay(path, [Log.uuid], options: ["--reorder", "3s"]))
    }

    @Test func `the log of the program names the damage to a capture`() async throws {
        let damaged = (0..<20).map { _ in #"{"time":99999999999,"uuid":"\#(Log.uuid)"}"# }
        let path = try scratch.log("damaged.jsonl", [Log.sighting("0")] + damaged)
        let log = try await log(.capture(path))
        #expect(log.count == 17 && log.allSatisfy { $0.level == .warning })
        #expect(log.first?.text.hasPrefix("\(path): record 2 at line 2, ") == true, "\(log)")
        #expect(log.last?.text == "\(path): and 4 more")
    }

    @Test func `the log says that records are not in order, also if the delay is too short`() async throws {
        let times = ["10", "7.5", "11", "1"].map { Log.sighting($0) }
        let path = try scratch.log("steps.jsonl", times)
        let handled = "and handled at the time of that record (rule T2)"
        #expect(
            try await log(.capture(path)).map(\.text) == [
                """
                \(path): 2 records are earlier than a record before, by up to 10 s, \(handled); if the file was merged \
                out of order, use `reorder`
                """
            ])
        #expect(
            try await log(.capture(path, reorder: .seconds(3))).map(\.text) == [
                """
                \(path): 1 record is earlier than a record before, by up to 6.5 s, \(handled); if the file was merged \
                out of order, use a longer time for `reorder`
                """
            ])
        #expect(try await log(.capture(path, reorder: .seconds(10))).isEmpty)
    }

    @Test func `if a log has no iBeacon because of a wrong field, the log of the program suggests the right one`()
        async throws
    {
        let advertisement = "4C000215F7826DA64FA24E988024BC5B71E0893E00010007C5"
        let path = try scratch.log("misplaced.jsonl", [#"{"time":1,"data":"\#(advertisement)"}"#])
        let warnings = try await log(.capture(path)).map(\.text)
        #expect(warnings.count == 1 && warnings[0].contains("use --fields manufacturerData=data"), "\(warnings)")
        #expect(try await log(.capture(path, fields: FieldMap("manufacturerData=data"))).isEmpty)
    }

    @Test func `without a log, a long warning on standard error has its end`() async throws {
        let folder = scratch.path(String(repeating: "d", count: 200) + "/" + String(repeating: "e", count: 200))
        let name = folder + String(repeating: "/.", count: 1800) + "/x.jsonl"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try (Log.sighting("2") + "\n" + Log.sighting("1") + "\n").write(
            toFile: folder + "/x.jsonl", atomically: true, encoding: .utf8)
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            [name = name as String] in
            try await BeaconMonitor("long", scanning: .capture(name)).run()
            exit(0)
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(text.hasPrefix("… ") && text.hasSuffix("out of order, use `reorder`\n"), "\(text)")
        #expect(text.unicodeScalars.count == 1002)
    }

    @Test func `times without an offset need a zone, and the error of a log without times names the key`() async throws
    {
        let path = try scratch.log("local.jsonl", [Log.sighting(#""2025-11-24 08:00:00""#)])
        let zone = CaptureZone(name: "Asia/Tokyo") { _ in 9 * 3600 }
        #expect(
            try await events(of: .capture(path, zone: zone), [Log.uuid]).first?.hasPrefix("1763938800000000 ") == true)
        let other = try scratch.log(
            "ts.jsonl", [Log.sighting("1763938800").replacing("\"time\"", with: "\"ts\"")])
        let monitor = try BeaconMonitor("capture ts", scanning: .capture(other))
        let error = await #expect(throws: ScanningError.self) { try await monitor.run() }
        #expect(error?.description.contains("use --fields time=ts") == true, "\(String(describing: error))")
    }

    @Test func `L4: Index Info of a deleted adapter causes no exit`() async throws {
        var capture = MonitorCapture()
        capture.record(10, at: 0, MonitorCapture.info(1))
        capture.record(3, at: 0, MonitorCapture.event(minor: 1))
        capture.record(1, at: 1)
        capture.record(10, at: 2, index: 1, MonitorCapture.info(1))
        capture.record(3, at: 200, index: 5, MonitorCapture.event(minor: nil))
        let path = try scratch.write("deleted.btsnoop", capture.bytes)
        let found = try await events(of: path, [Log.uuid]).filter { $0.contains(" condition ") }
        #expect(found == ["0 \(Log.uuid) 1/1 condition satisfied", "61000000 \(Log.uuid)  condition unknown"])
    }

    @Test func `an unreadable capture is an error of run() and of events`() async throws {
        let monitor = try BeaconMonitor("capture missing", scanning: .capture(scratch.path("nothing.btsnoop")))
        var events = monitor.events.makeAsyncIterator()
        let error = await #expect(throws: ScanningError.self) { try await monitor.run() }
        #expect(error?.kind == .captureUnreadable)
        #expect(error?.description.contains("nothing.btsnoop") == true)
        await #expect(throws: MonitorError.self) { try await events.next() }
    }

    @Test func `a capture whose records are all invalid is an error`() async throws {
        let path = try scratch.log("refused.jsonl", [Log.sighting("99999999999"), #"{"time":1,"devices":[]}"#])
        let monitor = try BeaconMonitor("capture refused", scanning: .capture(path))
        let error = await #expect(throws: ScanningError.self) { try await monitor.run() }
        #expect(error?.kind == .captureUnreadable)
        let reason =
            "\(path) has no valid record: record 1 at line 1, byte 0: time is 99999999999, in seconds 5138-11-16T09:46:39Z"
        #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
    }

    @Test func `a capture waits for a slow subscriber, and no event is lost`() async throws {
        let sightings = (0..<30_000).map { Log.sighting("\($0 * 40)") }
        let path = try scratch.log("long.jsonl", sightings)
        let monitor = try BeaconMonitor("capture slow", scanning: .capture(path))
        let uuid = try #require(ProximityUUID(Log.uuid))
        try await monitor.add(.beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid)), identifier: "near")
        var events = monitor.events.makeAsyncIterator()
        async let running: Void = monitor.run()
        var count = 0
        var most = 0
        while try await events.next() != nil {
            count += 1
            if count.isMultiple(of: 1000) { most = max(most, monitor.waitingEvents) }
        }
        try await running
        // The beacon entered 30,000 times, and exited each time except the last.
        #expect(count == 59_999)
        #expect(most < 8192)
    }
}

/// The remarks of a monitor whose program has no handler for them.
@Suite(.timeLimit(.minutes(6))) struct RemarkTests {
    @Test func `if run() is never called, the log of the program says so`() async throws {
        let (lines, input) = AsyncStream.makeStream(of: (Scanning.LogLevel, String).self)
        let scanning = Scanning.capture("/nowhere/lobby.btsnoop").logging { input.yield(($0, $1)) }
        let monitor = try BeaconMonitor("never run log", scanning: scanning)
        let loop = Task { for try await _ in monitor.events {} }
        var line = lines.makeAsyncIterator()
        let (level, text) = try #require(await line.next())
        #expect(level == .warning)
        #expect(
            text == """
                monitor “never run log”: run() has not been called, so the monitor does not scan, and exits wait for the \
                next input; call it in a task, for example with `async let running: Void = monitor.run()`
                """)
        await monitor.end()
        try await loop.value
    }

    @Test func `without a log, remarks are lines on standard error, without control characters`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            Scanning.automatic.on(adapters: ["hci0"]).remarked(by: "a\u{1B}[2Jb")(.adapterForeign(count: 1))
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(
            text == """
                warning: monitor “a_[2Jb”: an input named an adapter of another monitor, or of one that has ended, and \
                was dropped (1 so far); get the adapter from this monitor with adapter(named:)

                """)
    }

    @Test func `a remark does not end a program whose standard error has no reader or is full`() async {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [0, 0]
            #expect(unsafe pipe(&ends) == 0)
            dup2(ends[1], STDERR_FILENO)
            // As much as fits: otherwise the next line would block.
            #expect(fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK) == 0)
            let byte = [UInt8](repeating: 0x2E, count: 1)
            while unsafe write(STDERR_FILENO, byte, 1) == 1 {}
            #expect(fcntl(STDERR_FILENO, F_SETFL, 0) == 0)
            Scanning.automatic.remarked(by: "full")(.notRunning)
            close(ends[0])
            Scanning.automatic.remarked(by: "no reader")(.notRunning)
            exit(0)
        }
    }

    @Test func `a line about an adapter has no control characters, but it can have several lines`() async throws {
        let radio = try Radio()
        let (lines, input) = AsyncStream.makeStream(of: String.self)
        let monitor = try BeaconMonitor("safe", scanning: radio.scanning.logging { _, text in input.yield(text) })
        async let running: Void = monitor.run()
        radio.say(
            .appeared(adapter: 0, controller: "a test's"),
            .listening(adapter: 0, reason: "first\u{1B}[2J\nsecond"))
        let line = await lines.first { $0.contains("first") }
        #expect(line?.hasSuffix("first_[2J\nsecond") == true)
        await monitor.end()
        try await running
    }

    @Test func `the log of a program stays when other options follow`() async throws {
        let radio = try Radio()
        let (lines, input) = AsyncStream.makeStream(of: String.self)
        let scanning = radio.scanning.logging { _, text in input.yield(text) }
            .on(adapters: ["hci0"]).withLatency(.milliseconds(20))
        scanning.remarked(by: "site")(.notRunning)
        var line = lines.makeAsyncIterator()
        #expect(await line.next()?.hasPrefix("monitor “site”: run() has not been called") == true)
        let monitor = try BeaconMonitor("log stays", scanning: scanning)
        async let running: Void = monitor.run()
        radio.listen()
        // The scanner's own lines.
        #expect(await line.next()?.hasPrefix("monitor") == false)
        await monitor.end()
        try await running
    }
}
