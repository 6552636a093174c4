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
import TestSupport
import Testing

@testable import GatewayCommands

/// A capture in place of adapters has the adapters, states and events of a replay (rules L4, L7, T4).
@Suite struct CaptureDecisionTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    /// The engine of a gateway, without event files.
    private final class Engine: ScanHandler {
        var live: LiveMonitor
        private var decoder = ReportDecoder()
        init(_ live: LiveMonitor) { self.live = live }

        func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
            decoder.hand(report, data, adapter, time, to: &live)
        }

        func changed(_ change: ScanChange, at time: Instant) { live.changed(change, at: time) }
    }

    /// Returns the lines of a gateway that started at the time of the first record. All records are handled in a few
    /// turns of the loop, and the engine is never woken in between.
    private func live(
        _ path: String, _ config: String, from first: Double, to last: Double = 100_000,
        _ body: (Engine, Configuration) throws -> Void = { _, _ in }
    ) throws -> [String] {
        let configuration = try ConfigurationFile.loadWithNames(config, isReplay: true)
        final class Clock { var now = Instant.earliest }
        let clock = Clock()
        clock.now = at(first)
        let loop = try EventLoop(clock: { clock.now })
        let engine = Engine(
            LiveMonitor(
                engine: MonitorEngine(
                    settings: configuration.liveEngineSettings, start: at(first), clockOffset: .zero)))
        try engine.live.begin(configuration.setups, from: nil, at: at(first))
        let origin = try CaptureOrigin(path, options: CaptureOptions())
        var options = ScanSupervisor.Options()
        options.backends = [.capture]
        options.deafAfter = configuration.liveEngineSettings.deafAfter
        let supervisor = ScanSupervisor(
            loop: loop, options: options,
            make: { _ throws(ScannerError) in try origin.makeScanner(on: loop) { _, _ in } }, log: { _, _ in })
        try supervisor.start(engine)
        clock.now = at(first + last)
        for _ in 0..<5 { try loop.turn(waits: false) }
        try body(engine, configuration)
        supervisor.stop()
        var encoder = LineEncoder(LineEncoder.Options(gateway: try Identifier("replay")))
        var buffer = LineBuffer()
        for action in engine.live.actions.actions { encoder.encode(action, into: &buffer) }
        return buffer.text.split(separator: "\n").map(String.init)
    }

    private static let settings = """
        monitor: {exit_timeout: 3s, outage_timeout: 15s, forget_after: 40s, deaf_after: %, max_new_beacons: 0}
        conditions:
        - {identifier: staff, uuid: \(Log.uuid), per_beacon: true, assuming: unsatisfied}

        """

    /// Compares a gateway with a replay, up to the last record: at that, the adapters of the gateway stop.
    private func compare(
        _ path: String, deafAfter: String, from first: Double, to last: Double, _ comment: String
    ) throws {
        let config = try scratch.write("c.yaml", Self.settings.replacing("%", with: deafAfter))
        let found = try ShortLines(live(path, config, from: first), "adapter", "event", "visit").lines
        let expected = try ShortLines(
            Gateway.replay(["--config", config, path]).lines, "adapter", "event", "visit"
        ).lines
        func before(_ lines: [String]) -> [String] {
            lines.filter { (Double($0.prefix { $0 != " " }) ?? .infinity) < last }
        }
        #expect(
            difference(before(found), before(expected)) == nil,
            "\(comment), deaf_after \(deafAfter)\n\(found.joined(separator: "\n"))\n\(expected.joined(separator: "\n"))"
        )
        #expect(!expected.isEmpty)
    }

    @Test func `L7: a new engine gets the adapters that scan, and an adapter that lost its name stays off`() throws {
        let path = try scratch.log(
            "a.jsonl",
            [
                #"{"time":0,"adapter":"hci0","adapterAddress":"00:AA:01:00:00:02","data":""}"#,
                #"{"time":1,"adapter":"hci0","adapterAddress":"00:AA:01:00:00:01","rssi":-60,"uuid":"\#(Log.uuid)","#
                    + #""major":1,"minor":1}"#,
                #"{"time":2,"adapter":"hci0","adapterAddress":"00:AA:01:00:00:02","data":""}"#,
                #"{"time":3,"adapter":"hci1","listening":false}"#,
                #"{"time":90,"adapter":"hci0","adapterAddress":"00:AA:01:00:00:02","data":""}"#,
            ])
        let config = try scratch.write("c.yaml", Self.settings.replacing("%", with: "off"))
        let lines = try live(path, config, from: 0, to: 4) { engine, configuration in
            let states = engine.live.engine.snapshot
            var other = LiveMonitor(
                engine: MonitorEngine(
                    settings: configuration.liveEngineSettings, start: at(4), clockOffset: .zero))
            try other.begin(configuration.setups, from: states, at: at(4))
            engine.live.takeOver(other)
            engine.live.restart([], because: "a test", at: at(4))
            engine.live.advance(to: at(10))
        }
        let adapters = try ShortLines(lines, "adapter").lines.filter { $0.hasPrefix("4.0") }
        #expect(adapters == ["4.0 hci0 listening"], "\(lines.joined(separator: "\n"))")
        // Its only holder does not scan.
        #expect(!lines.contains { $0.contains(#""state":"unsatisfied""#) })
    }

    @Test(arguments: SeededGenerator.seeds(environment("BEACON_CAPTURE_DECISIONS", default: 40)))
    func `L4, L5, L7: random marks, names and addresses of a monitor's capture`(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed &* 0x14F)
        let capture = MonitorCapture.random(&generator)
        let path = try scratch.write("random.btsnoop", capture.bytes)
        let (first, last) = (capture.times.first ?? 0, capture.times.last ?? 0)
        for deafAfter in ["off", "2s"] {
            try compare(path, deafAfter: deafAfter, from: first, to: last, "seed \(seed)")
        }
    }

    @Test(arguments: SeededGenerator.seeds(environment("BEACON_CAPTURE_DECISIONS", default: 40)))
    func `L4, L5, L7: random marks, names and addresses of a log`(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed &* 0x151)
        var (time, lines) = (1000.0, [String]())
        let first = time
        for _ in 0..<4 + generator.below(14) {
            var parts = [#""time":\#(time)"#, #""adapter":"hci\#(generator.below(2))""#]
            let address = generator.below(4)
            if address > 0 { parts.append(#""adapterAddress":"00:AA:01:00:00:0\#(address)""#) }
            switch generator.below(6) {
            case 0: parts.append(#""listening":false"#)
            case 1: parts.append(#""listening":true"#)
            case 2: break
            case 3: parts.append(#""data":"""#)
            default:
                parts.append(#""rssi":-60,"uuid":"\#(Log.uuid)","major":1,"minor":\#(generator.below(2))"#)
            }
            lines.append("{\(parts.joined(separator: ","))}")
            time += generator.pick([0, 0.5, 1, 2, 4, 16, 45])
        }
        lines.append(Log.report("\(time)", adapter: "hci9"))
        let path = try scratch.log("random.jsonl", lines)
        for deafAfter in ["off", "2s"] {
            try compare(
                path, deafAfter: deafAfter, from: first, to: time, "seed \(seed)\n\(lines.joined(separator: "\n"))")
        }
    }
}
