import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BluetoothLE
import Captures
import CommandSupport
import EventLog
import EventLoops
import Foundation
import GatewayConfiguration
import JSON
import ProgramSupport
import SystemPackage
import TestSupport
import Testing

@testable import GatewayCommands

/// A gateway and a recording that run together. Their scanners report the same, on a clock that the test sets.
final class RecordedFixture {
    final class Clock { var now = at(1000) }

    static let offset = ClockOffset(nanoseconds: 1_795_000_000_123_456_000)
    let clock = Clock()
    let loop: EventLoop
    let recording: Recording
    let gateway: ScriptedScanner
    let recorder: ScriptedScanner
    let path: String
    private let supervisor: ScanSupervisor
    private let live: LiveHandler

    /// Handles scanner reports and changes as a daemon does, without its files.
    private final class LiveHandler: ScanHandler {
        var monitor: LiveMonitor
        var decoder = ReportDecoder()

        init(_ configuration: Configuration, start: Instant) throws {
            let settings = configuration.engine.settings(deafAfterUnlessSet: EngineConfiguration.liveDeafAfter)
            monitor = LiveMonitor(
                engine: MonitorEngine(settings: settings, start: start, clockOffset: RecordedFixture.offset))
            try monitor.begin(configuration.setups, from: nil, at: start)
        }

        func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
            decoder.hand(report, data, adapter, time, to: &monitor)
        }

        func changed(_ change: ScanChange, at time: Instant) { monitor.changed(change, at: time) }
    }

    init(_ path: String, _ format: CaptureWriter.Format, configuration: Configuration) throws {
        self.path = path
        let clock = clock
        let loop = try EventLoop(clock: { clock.now })
        self.loop = loop
        let opening: [ScanChange] = [
            .appeared(adapter: 0, controller: "one"), .listening(adapter: 0, reason: "scripted"),
            .appeared(adapter: 1, controller: "two"), .obstacles([]),
        ]
        let (gateway, recorder) = (ScriptedScanner(now: { clock.now }), ScriptedScanner(now: { clock.now }))
        gateway.opening = opening
        recorder.opening = opening
        (self.gateway, self.recorder) = (gateway, recorder)
        var options = Recording.Options(
            to: path, format: format, observer: ObserverOptions(configuration: configuration))
        options.observer.backend = .management
        recording = try Recording(
            options, on: loop, offset: Self.offset, makeScanner: { _, _ in recorder }, log: { _, _ in })
        var supervised = ScanSupervisor.Options()
        supervised.backends = [.management]
        supervised.deafAfter = configuration.engine.settings(deafAfterUnlessSet: .seconds(10)).deafAfter
        supervisor = ScanSupervisor(
            loop: loop, options: supervised,
            make: { _ throws(ScannerError) in ObservingScanner(gateway) }, log: { _, _ in })
        live = try LiveHandler(configuration, start: clock.now)
        try supervisor.start(live)
        try recording.begin()
    }

    /// Makes both scanners do the same.
    func both(_ body: (ScriptedScanner) -> Void) {
        body(gateway)
        body(recorder)
    }

    /// Advances to a time in steps of 50 ms, like a loop that wakes more often than necessary.
    func go(to seconds: Double) throws {
        while clock.now < at(1000 + seconds) {
            clock.now = min(clock.now + .milliseconds(50), at(1000 + seconds))
            try loop.turn(waits: false)
            live.monitor.advance(to: clock.now)
        }
    }

    /// Ends both.
    ///
    /// - Returns: the events and visits of the gateway, in the form of ``comparable(_:)``.
    func end() throws -> [String] {
        live.monitor.advance(to: clock.now)
        _ = try recording.finish()
        supervisor.stop()
        var encoder = LineEncoder(LineEncoder.Options(gateway: try Identifier("replay")))
        var buffer = LineBuffer()
        for action in live.monitor.actions.actions { encoder.encode(action, into: &buffer) }
        return try comparable(String(decoding: buffer.bytes, as: UTF8.self).split(separator: "\n").map(String.init))
    }
}

/// Returns the events and visits without the members that differ between live operation and a replay (rule T4):
/// `monotonic` and `sequence`.
func comparable(_ lines: [String]) throws -> [String] {
    try lines.compactMap { line in
        guard var payload = try object(line)["payload"] as? [String: Any], let type = payload["type"] as? String,
            type == "event" || type == "visit"
        else { return nil }
        payload["monotonic"] = nil
        payload["sequence"] = nil
        return String(
            decoding: try JSONSerialization.data(withJSONObject: payload, options: .sortedKeys), as: UTF8.self)
    }
}

@Suite(.serialized) struct RecordingTests {
    static let formats: [(String, CaptureWriter.Format)] = [
        ("a.btsnoop", .btsnoop), ("a.pcapng", .pcapng), ("a.jsonl", .advertisementLog),
    ]
    static let settings = """
        monitor: {exit_timeout: 4s, outage_timeout: 6s, enter_window: 5s, deaf_after: 2s, per_beacon: true}
        conditions:
          - {identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}
          - {identifier: absent, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, major: 9, assuming: unsatisfied}
          - {identifier: present, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, major: 8, assuming: satisfied}
        """

    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private func fixture(_ name: String, _ format: CaptureWriter.Format) throws -> (RecordedFixture, config: String) {
        let config = try scratch.write("c.yaml", Self.settings)
        let configuration = try ConfigurationFile.load(config, isReplay: false)
        return (try RecordedFixture(scratch.path(name), format, configuration: configuration), config)
    }

    /// Returns the events and visits of a replay of the recording.
    private func replayed(_ path: String, _ config: String) throws -> [String] {
        try comparable(try Gateway.replay(["--config", config, path]).lines)
    }

    @Test(arguments: formats.indices)
    func `T4: a replay of a recording gives the live events and visits`(index: Int) throws {
        let (name, format) = Self.formats[index]
        let (fixture, config) = try fixture(name, format)
        for step in 0..<100 {
            try fixture.go(to: Double(step) / 2)
            fixture.both { scanner in
                if !(20..<24).contains(step), !(50..<70).contains(step) { scanner.receive(nil) }
                if step < 12 || (30..<40).contains(step) { scanner.receive(badge(1), rssi: -60 - Int8(step % 7)) }
                if step % 5 == 0, step < 50 || step >= 70 {
                    scanner.receive(badge(2), rssi: nil, at: fixture.clock.now - .milliseconds(3))
                }
                // The first adapter stops for nine seconds, which is an outage. The second one starts late and stays.
                if step == 50 {
                    scanner.say(
                        .stopped(adapter: 0, since: fixture.clock.now - .milliseconds(1500), reason: "it hangs"))
                }
                if step == 68 { scanner.say(.listening(adapter: 0, reason: "it is back")) }
                if step == 80 {
                    // The loss is reported with the time of the last report before it. Another report was delivered
                    // since.
                    let last = fixture.clock.now - .milliseconds(200)
                    scanner.say(.lost(adapter: 0, count: 7, since: last), at: last)
                }
                if step == 84 { scanner.say(.listening(adapter: 1, reason: "it came")) }
                if step > 84 { scanner.receive(badge(3), on: 1) }
            }
        }
        // The last beacons must exit within the recording: it ends with a time, not with a report.
        try fixture.go(to: 62)
        let said = try fixture.end()
        #expect(said.count > 15)
        #expect(said.contains { $0.contains("unknown") })
        #expect(try replayed(fixture.path, config) == said)
    }

    @Test(arguments: formats.indices)
    func `T4: a replay gives the live events and visits, whatever happens to adapters`(index: Int) throws {
        let (name, format) = Self.formats[index]
        for seed in SeededGenerator.seeds(environment("BEACON_RECORDINGS", default: 6)) {
            var random = SeededGenerator(state: seed)
            let (fixture, config) = try fixture("\(seed)-\(name)", format)
            var time = 0.0
            for _ in 0..<120 {
                time += Double.random(in: 0.05...1.2, using: &random)
                try fixture.go(to: (time * 1000).rounded() / 1000)
                let (kind, adapter) = (Int.random(in: 0..<24, using: &random), Int.random(in: 0...1, using: &random))
                let (minor, age) = (UInt16.random(in: 0..<5, using: &random), Int.random(in: 0..<3000, using: &random))
                let rssi = Int8.random(in: -90...(-40), using: &random)
                let since = fixture.clock.now - .milliseconds(age)
                fixture.both { scanner in
                    switch kind {
                    case 0: scanner.say(.stopped(adapter: adapter, since: since, reason: "scripted"))
                    case 1: scanner.say(.stopped(adapter: adapter, since: fixture.clock.now, reason: "scripted"))
                    case 2, 3: scanner.say(.listening(adapter: adapter, reason: "scripted"))
                    case 4: scanner.say(.lost(adapter: adapter, count: age, since: since))
                    case 5: scanner.say(.disappeared(adapter: adapter))
                    case 6: scanner.say(.appeared(adapter: adapter, controller: "again"))
                    case 7..<12: scanner.receive(nil, on: adapter)
                    default: scanner.receive(badge(minor, major: minor == 4 ? 8 : 1), rssi: rssi, on: adapter)
                    }
                }
            }
            try fixture.go(to: time + Double.random(in: 0...15, using: &random))
            let said = try fixture.end()
            let again = try replayed(fixture.path, config)
            #expect(again == said, "BEACON_SEED=\(seed)")
            if again != said { break }
        }
    }

    @Test func `a conversion of a recording gives the same events and visits`() throws {
        let (fixture, config) = try fixture("a.pcapng", .pcapng)
        fixture.both { $0.receive(badge(1)) }
        try fixture.go(to: 1)
        fixture.both { $0.say(.stopped(adapter: 0, since: at(1000.25), reason: "late")) }
        try fixture.go(to: 12)
        let said = try fixture.end()
        for name in ["b.btsnoop", "b.jsonl"] {
            #expect(try Gateway.run("convert", fixture.path, scratch.path(name)).status == 0)
            #expect(try replayed(scratch.path(name), config) == said)
        }
    }

    @Test func `a recording has complete records after each flush, with the clock offset of its start`() throws {
        let (fixture, config) = try fixture("a.btsnoop", .btsnoop)
        fixture.both { $0.receive(badge(1)) }
        try fixture.go(to: 1.5)
        // One second after the first record, the records are in the file, although the recording has not ended.
        let ending = try Gateway.replay(["--config", config, "--sightings", fixture.path])
        #expect(ending.lines.count == 1)
        let sighting = try object(try #require(ending.lines.first))
        #expect(sighting["time"] as? String == "2026-11-18T11:23:20.123456Z")
        _ = try fixture.end()
    }

    @Test func `finish drains the scanner, so that reports received before the signal are recorded`() throws {
        let (fixture, _) = try fixture("a.jsonl", .advertisementLog)
        try fixture.go(to: 1)
        fixture.recorder.unread = [{ $0.receive(badge(5)) }]
        let outcome = try fixture.recording.finish()
        #expect(outcome.reports == 1)
        #expect(outcome.sightings == 1)
        #expect(fixture.recorder.stops == 1)
        #expect(outcome.bytes == (try contents(of: fixture.path).count))
    }

    @Test func `T5: if a reader does not read, reports are dropped and the adapter is recorded as not scanning`()
        throws
    {
        var writer = try RecordingWriter(format: .advertisementLog, offset: .zero, start: at(0))
        let data = Advert.data(badge(1))
        let report = AdvertisingReport(address: nil, rssi: nil, properties: .legacy, data: 0..<data.count)
        for (second, hasRoom) in [true, false, false, true, true].enumerated() {
            try writer.received(report, data: data.span, on: 0, at: at(Double(second)), hasRoom: hasRoom)
        }
        let lines = String(decoding: writer.drain(), as: UTF8.self).split(separator: "\n").map { String($0.prefix(70)) }
        #expect(lines.count == 4)
        #expect(lines[1] == #"{"time":"1970-01-01T00:00:01.000000Z","adapter":"hci0","listening":fal"#)
        #expect(lines[2].contains("00:00:03"))
        #expect(writer.counts.dropped == 2)
        #expect(writer.counts.overflows == 1)
        #expect(writer.counts.reports == 3)
    }

    // MARK: The file

    private func record(
        to path: String, format: CaptureWriter.Format = .btsnoop, change: (inout Recording.Options) -> Void = { _ in },
        more: @escaping (ScriptedScanner, EventLoop) -> Void
    ) throws -> Recording.Outcome {
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &mask)
        defer { pthread_sigmask(SIG_SETMASK, &mask, nil) }
        let loop = try EventLoop()
        let scanner = ScriptedScanner(now: { loop.now })
        scanner.opening = [.appeared(adapter: 0, controller: "x"), .listening(adapter: 0, reason: "x")]
        scanner.unread = [{ scanner in for minor in 0..<10 { scanner.receive(badge(UInt16(minor))) } }]
        scanner.onStart = { more($0, loop) }
        var options = Recording.Options(to: path, format: format)
        options.observer.backend = .management
        change(&options)
        let recording = try Recording(
            options, on: loop, offset: RecordedFixture.offset, makeScanner: { _, _ in scanner }, log: { _, _ in })
        return try recording.run()
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `a signal leaves a complete file`(signal: Int32) throws {
        for (name, format) in Self.formats {
            let outcome = try record(to: scratch.path(name), format: format) { _, loop in
                let timer = loop.makeTimer { _ in pthread_kill(pthread_self(), signal) }
                loop.set(timer, at: loop.now)
            }
            #expect(outcome.reports == 10)
            #expect(outcome.bytes == (try contents(of: scratch.path(name)).count))
            // If the file were incomplete, this would exit with 65.
            #expect(try Gateway.replay(["--sightings", scratch.path(name)]).lines.count == 10)
        }
    }

    @Test func `a recording ends after its duration`() throws {
        let outcome = try record(to: scratch.path("a.btsnoop"), change: { $0.duration = .milliseconds(1) }) { _, _ in }
        #expect(outcome.duration >= .milliseconds(1))
        #expect(outcome.words.hasPrefix("10 reports with 10 iBeacons in 0."))
    }

    @Test func `74: a full disk is reported`() throws {
        let failure = try #require(throws: ExitFailure.self) {
            _ = try record(to: "/dev/full") { _, loop in
                let timer = loop.makeTimer { _ in pthread_kill(pthread_self(), SIGTERM) }
                loop.set(timer, at: loop.now)
            }
        }
        #expect(failure.code == .cannotWrite)
        #expect(failure.message == "/dev/full can't be written to: No space left on device")
    }

    @Test func `if no backend can be used, an existing file does not change, and no file is created`() throws {
        let old = try scratch.write("old.btsnoop", "dear to somebody")
        for path in [old, scratch.path("new.btsnoop")] {
            let loop = try EventLoop()
            let recording = try Recording(
                .init(to: path, format: .btsnoop), on: loop, offset: .zero,
                makeScanner: { _, _ throws(ScannerError) in throw ScannerError(.denied, "not you") }, log: { _, _ in })
            let failure = try #require(throws: ExitFailure.self) { try recording.begin() }
            #expect(failure.code == .noPermission)
        }
        #expect(try contents(of: old) == Array("dear to somebody".utf8))
        #expect(!FileManager.default.fileExists(atPath: scratch.path("new.btsnoop")))
    }

    @Test func `64, 73: an unknown format and a missing folder are errors`() throws {
        let format = try Gateway.run("record", scratch.path("a.txt"))
        #expect(format.status == 64)
        #expect(format.errors.contains("has no ending that selects a format"))
        let folder = try Gateway.run("record", scratch.path("no/a.btsnoop"))
        #expect(folder.status == 73)
        #expect(folder.errors.contains("can't be written"))
    }

    @Test(
        arguments: [["scan"], ["scan", "--json", "--all"], ["record", "--format", "log", "-"]])
    func `69: without Bluetooth, the error has short lines and names doctor`(arguments: [String]) throws {
        for backend in ["management", "hci"] {
            let ending = try Gateway.runWithoutBluetooth(arguments + ["--backend", backend])
            #expect(ending.status == 69)
            let lines = ending.errors.split(separator: "\n")
            #expect(
                lines.contains { $0.contains("Bluetooth sockets are not available to this process: ") },
                "\(ending.errors)")
            #expect(lines.last == "to find the remedy, run beacon-gateway doctor")
            #expect(lines.count <= 5 && lines.allSatisfy { $0.count < 200 }, "\(ending.errors)")
            #expect(ending.output.isEmpty)
        }
    }
}
