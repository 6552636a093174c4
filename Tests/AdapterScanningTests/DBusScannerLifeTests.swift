import EventLoops
import Foundation
import TestSupport
import Testing

@testable import AdapterScanning

/// Start and stop of the scanner, with a mock of bluetoothd on a real, private bus.
@Suite(.serialized)
struct DBusScannerLifeTests {
    // MARK: Starting

    @Test func `if there is no bus, start fails with the packages to install`() throws {
        let fixture = try DBusFixture(startsBus: false)
        let error = #expect(throws: ScannerError.self) { try fixture.scanner().start(fixture.recorder) }
        #expect(error?.kind == .unavailable)
        #expect(error?.description.contains("apt install dbus bluez") == true)
        #expect(fixture.recorder.changes.isEmpty)
    }

    @Test func `without bluetoothd, start fails with the command to start it, or waits if that is requested`() throws {
        let fixture = try DBusFixture()
        let error = #expect(throws: ScannerError.self) { try fixture.scanner().start(fixture.recorder) }
        #expect(error?.kind == .unavailable)
        #expect(error?.description.contains("systemctl enable --now bluetooth") == true)
        #expect(fixture.recorder.changes.isEmpty)
        let scanner = fixture.scanner { $0.waitsForService = true }
        try scanner.start(fixture.recorder)
        #expect(fixture.recorder.changes.last == .obstacles([.unavailable, .waiting]))
        try fixture.startMock()
        try fixture.until("the adapter scans") { fixture.recorder.listening == [0] }
        scanner.stop()
    }

    @Test func `if a policy forbids messages to bluetoothd, start fails with the rule that is needed`() throws {
        let fixture = try DBusFixture(policy: #"<deny send_destination="org.bluez"/>"#)
        try fixture.startMock()
        let error = #expect(throws: ScannerError.self) { try fixture.scanner().start(fixture.recorder) }
        #expect(error?.kind == .denied)
        #expect(error?.description.contains("send_destination=\"org.bluez\"") == true)
    }

    @Test func `to check for a policy that refuses, only GetManagedObjects is called, and nothing changes`() throws {
        let denied = try DBusFixture(policy: #"<deny send_destination="org.bluez"/>"#)
        try denied.startMock()
        #expect(SystemBus.refusal(at: denied.address)?.contains("GetManagedObjects") == true)
        let allowed = try DBusFixture()
        #expect(SystemBus.refusal(at: allowed.address) == nil)
        try allowed.startMock()
        let before = allowed.calls.count
        #expect(SystemBus.refusal(at: allowed.address) == nil)
        try allowed.until("the request was sent") { allowed.calls("GetManagedObjects").count == 1 }
        #expect(allowed.calls.dropFirst(before).compactMap { $0["call"] as? String } == ["GetManagedObjects"])
        allowed.killBus()
        #expect(SystemBus.refusal(at: allowed.address) == nil)
        // If the bus closes the connection, there is no answer, and the check does not wait for one.
        let closed = try DBusFixture(policy: #"<deny user="*"/>"#)
        #expect(SystemBus.refusal(at: closed.address, milliseconds: 60_000)?.contains("closed") == true)
    }

    @Test func `a policy that refuses discovery is an obstacle, and discovery is tried again`() throws {
        let fixture = try DBusFixture(
            policy:
                #"<deny send_destination="org.bluez" send_interface="org.bluez.Adapter1" send_member="StartDiscovery"/>"#
        )
        try fixture.startMock()
        let scanner = fixture.scanner()
        try scanner.start(fixture.recorder)
        try fixture.until("the problem is reported") { fixture.recorder.obstacles == [.denied] }
        try fixture.until("discovery is tried again") { fixture.calls("SetDiscoveryFilter").count >= 3 }
        #expect(fixture.recorder.listening == [])
        scanner.stop()
    }

    // MARK: Stopping

    @Test func `the handler is not called after stop, and the scanner can be started again`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening()
        scanner.stop()
        let count = fixture.recorder.changes.count
        try fixture.until("discovery has been stopped") { fixture.calls("StopDiscovery").count == 1 }
        fixture.advertise()
        try fixture.until("no adapter scans") { fixture.calls.contains { $0["notReceived"] != nil } }
        #expect(fixture.recorder.changes.count == count)
        #expect(fixture.recorder.received.isEmpty)
        try scanner.start(fixture.recorder)
        try fixture.until("the adapter scans") { fixture.recorder.starts == 2 }
        scanner.stop()
    }

    @Test func `if a step switched an adapter off, stop switches it on again`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening { $0.mayPowerCycle = true }
        #expect(scanner.take(.powerCycle, on: 0) == .taken)
        scanner.stop()
        try fixture.until("the adapter was switched on") { fixture.calls("Set").count >= 2 }
        #expect(fixture.calls("Set").map { $0["value"] as? String } == ["b:0", "b:1"])
    }

    @Test func `drain, a step and stop within a report do not hang, and no report before stop is lost`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening { $0.mayPowerCycle = true }
        fixture.recorder.onReceived = { scanner.drain() }
        for number in 0..<20 { fixture.advertise(rssi: -40 - number) }
        try fixture.until("all reports are received") { fixture.recorder.received.count == 20 }
        let strengths: [Int8?] = (0..<20).map { (number: Int) -> Int8 in Int8(-40 - number) }
        #expect(fixture.recorder.received.map(\.rssi) == strengths)
        fixture.recorder.onReceived = {
            _ = scanner.take(.powerCycle, on: 0)
            scanner.stop()
        }
        for _ in 0..<20 { fixture.advertise() }
        try fixture.until("the adapter was switched off and on") { fixture.calls("Set").count >= 2 }
        #expect(fixture.calls("Set").map { $0["value"] as? String } == ["b:0", "b:1"])
        #expect(fixture.recorder.received.count == 21)
    }

    @Test func `after the handler of a change has stopped the scanner, no further change is delivered`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock(#"[{"index":0},{"index":1}]"#)
        let scanner = fixture.scanner()
        fixture.recorder.onChange = { if case .listening = $0 { scanner.stop() } }
        try scanner.start(fixture.recorder)
        try fixture.until("the adapter scans") { fixture.recorder.starts == 1 }
        let count = fixture.recorder.changes.count
        try fixture.until("discovery has been stopped") { fixture.calls("StopDiscovery").count >= 1 }
        #expect(fixture.recorder.changes.count == count)
    }
}
