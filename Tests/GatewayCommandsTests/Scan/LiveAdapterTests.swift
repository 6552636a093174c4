import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import Foundation
import GatewayConfiguration
import JSON
import ProgramSupport
import Testing

@testable import GatewayCommands

/// Rules L3 to L5 and L7 live: the same cases as ``AdapterMarkTests`` has for captures.
@Suite(.serialized) struct LiveAdapterTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private static let first = DeviceAddress(0x00AA_0100_0001, kind: .public)
    private static let second = DeviceAddress(0x00AA_0100_0002, kind: .public)
    private static let third = DeviceAddress(0x00AA_0100_0003, kind: .public)

    @Test(arguments: RecordingTests.formats.indices)
    func `L4: an adapter that returns without scanning causes no exit, live and in a replay`(
        index: Int
    ) throws {
        let (name, format) = RecordingTests.formats[index]
        let config = try scratch.write("c.yaml", AdapterMarkTests.settings("deaf_after: off", exit: "5s"))
        let configuration = try ConfigurationFile.load(config, isReplay: false)
        let fixture = try RecordedFixture(scratch.path(name), format, configuration: configuration)
        fixture.both {
            $0.say(.appeared(adapter: 0, controller: "the first", address: Self.first))
            $0.receive(badge(1), on: 0)
        }
        try fixture.go(to: 1)
        fixture.both {
            $0.say(.stopped(adapter: 0, since: fixture.clock.now, reason: "unplugged"))
            $0.say(.disappeared(adapter: 0))
        }
        try fixture.go(to: 2)
        fixture.both { $0.say(.appeared(adapter: 3, controller: "the first", address: Self.first)) }
        try fixture.go(to: 70)
        let said = try fixture.end()
        let states = try said.map { try #require(object($0)["state"] as? String) }
        #expect(states == ["satisfied", "unknown"])
        #expect(said.last?.contains(#""date":"2026-11-18T11:24:21.123456Z""#) == true, "\(said)")
        #expect(try comparable(try Gateway.replay(["--config", config, fixture.path]).lines) == said)
    }

    /// Returns the lines of a gateway's engine that only its inputs wake.
    private func live(
        _ settings: String, _ body: (inout LiveMonitor) throws -> Void
    ) throws -> [String] {
        let config = try scratch.write("c.yaml", settings)
        let configuration = try ConfigurationFile.load(config, isReplay: false)
        var monitor = LiveMonitor(
            engine: MonitorEngine(settings: configuration.liveEngineSettings, start: .earliest))
        try monitor.begin(configuration.setups, from: nil, at: .earliest)
        try body(&monitor)
        var encoder = LineEncoder(LineEncoder.Options(gateway: try Identifier("replay")))
        var buffer = LineBuffer()
        for action in monitor.actions.actions { encoder.encode(action, into: &buffer) }
        return String(decoding: buffer.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private static func seconds(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test func `L5: live, a deaf adapter scans again from its next report, not from its address`() throws {
        let lines = try live(AdapterMarkTests.settings("deaf_after: 1s, outage_timeout: 60s")) { monitor in
            monitor.changed(.listening(adapter: 0, reason: "scripted"), at: Self.seconds(0))
            let empty: [UInt8] = []
            let report = AdvertisingReport(address: nil, rssi: nil, properties: .legacy, data: 0..<0)
            monitor.report(report, data: empty.span, adapter: 0, time: Self.seconds(0))
            monitor.changed(.appeared(adapter: 0, controller: "the first", address: Self.first), at: Self.seconds(2))
            monitor.report(report, data: empty.span, adapter: 0, time: Self.seconds(4))
        }
        #expect(
            try ShortLines(lines, "adapter").lines == ["0.0 hci0 listening", "1.0 hci0 deaf", "4.0 hci0 listening"])
    }

    @Test func `L7, T3: live, an event has the names of its time, however late the engine wakes`() throws {
        let lines = try live(AdapterMarkTests.settings("forget_after: 91s, deaf_after: off", exit: "5s")) { monitor in
            func plug(_ number: Int, _ address: DeviceAddress, at time: Int64) {
                monitor.changed(
                    .appeared(adapter: number, controller: "one", address: address), at: Self.seconds(time))
                monitor.changed(.listening(adapter: number, reason: "scripted"), at: Self.seconds(time))
            }
            func unplug(_ number: Int, at time: Int64) {
                let since = Self.seconds(time)
                monitor.changed(.stopped(adapter: number, since: since, reason: "unplugged"), at: since)
                monitor.changed(.disappeared(adapter: number), at: since)
            }
            plug(0, Self.first, at: 0)
            unplug(0, at: 10)
            plug(0, Self.second, at: 50)
            let uuid = try #require(ProximityUUID(Log.uuid))
            let beacon = IBeacon(identity: BeaconIdentity(uuid: uuid, major: 1, minor: 7), measuredPower: -59)
            let report = AdvertisingReport(address: nil, rssi: RSSI(dBm: -60), properties: .legacy, data: 0..<0)
            let empty: [UInt8] = []
            monitor.report(report, data: empty.span, adapter: 0, time: Self.seconds(50))
            monitor.beacon(beacon, report: report, adapter: 0, time: Self.seconds(50))
            unplug(0, at: 51)
            plug(7, Self.third, at: 52)
            plug(0, Self.second, at: 160)
        }
        let events = try payloads(lines).filter { $0["type"] as? String == "event" }.map { event in
            let sighting = event["sighting"] as? [String: Any]
            return "\(event["time"] ?? "") \(event["state"] ?? "") \(sighting?["adapter"] ?? "")"
        }
        #expect(
            events == [
                "50000 satisfied hci0-00AA01000002", "111000 unknown hci0-00AA01000002",
                "147000 unsatisfied hci0-00AA01000002",
            ])
        #expect(try ShortLines(lines, "adapter").lines.last == "160.0 hci0 listening")
    }
}
