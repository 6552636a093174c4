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
        let world = try DBusWorld(startsBus: false)
        let error = #expect(throws: ScannerError.self) { try world.scanner().start(world.recorder) }
        #expect(error?.kind == .unavailable)
        #expect(error?.description.contains("apt install dbus bluez") == true)
        #expect(world.recorder.changes.isEmpty)
    }

    @Test func `without bluetoothd, start fails with the command to start it, or waits if that is requested`() throws {
        let world = try DBusWorld()
        let error = #expect(throws: ScannerError.self) { try world.scanner().start(world.recorder) }
        #expect(error?.kind == .unavailable)
        #expect(error?.description.contains("systemctl enable --now bluetooth") == true)
        #expect(world.recorder.changes.isEmpty)
        let scanner = world.scanner { $0.waitsForService = true }
        try scanner.start(world.recorder)
        #expect(world.recorder.changes.last == .obstacles([.unavailable, .waiting]))
        try world.startMock()
        try world.until("the adapter scans") { world.recorder.listening == [0] }
        scanner.stop()
    }

    @Test func `if a policy forbids messages to bluetoothd, start fails with the rule that is needed`() throws {
        let world = try DBusWorld(policy: #"<deny send_destination="org.bluez"/>"#)
        try world.startMock()
        let error = #expect(throws: ScannerError.self) { try world.scanner().start(world.recorder) }
        #expect(error?.kind == .denied)
        #expect(error?.description.contains("send_destination=\"org.bluez\"") == true)
    }

    @Test func `to check for a policy that refuses, only GetManagedObjects is called, and nothing changes`() throws {
        let denied = try DBusWorld(policy: #"<deny send_destination="org.bluez"/>"#)
        try denied.startMock()
        #expect(SystemBus.refusal(at: denied.address)?.contains("GetManagedObjects") == true)
        let allowed = try DBusWorld()
        #expect(SystemBus.refusal(at: allowed.address) == nil)
        try allowed.startMock()
        let before = allowed.calls.count
        #expect(SystemBus.refusal(at: allowed.address) == nil)
        try allowed.until("the request was sent") { allowed.calls("GetManagedObjects").count == 1 }
        #expect(allowed.calls.dropFirst(before).compactMap { $0["call"] as? String } == ["GetManagedObjects"])
        allowed.killBus()
        #expect(SystemBus.refusal(at: allowed.address) == nil)
        // If the bus closes the connection, there is no answer, and the check does not wait for one.
        let closed = try DBusWorld(policy: #"<deny user="*"/>"#)
        #expect(SystemBus.refusal(at: closed.address, milliseconds: 60_000)?.contains("closed") == true)
    }

    @Test func `a policy that refuses discovery is an obstacle, and discovery is tried again`() throws {
        let world = try DBusWorld(
            policy:
                #"<deny send_destination="org.bluez" send_interface="org.bluez.Adapter1" send_member="StartDiscovery"/>"#
        )
        try world.startMock()
        let scanner = world.scanner()
        try scanner.start(world.recorder)
        try world.until("the problem is reported") { world.recorder.obstacles == [.denied] }
        try world.until("discovery is tried again") { world.calls("SetDiscoveryFilter").count >= 3 }
        #expect(world.recorder.listening == [])
        scanner.stop()
    }

    // MARK: Stopping

    @Test func `the handler is not called after stop, and the scanner can be started again`() throws {
        let world = try DBusWorld()
        try world.startMock()
        let scanner = try world.listening()
        scanner.stop()
        let count = world.recorder.changes.count
        try world.until("discovery has been stopped") { world.calls("StopDiscovery").count == 1 }
        world.advertise()
        try world.until("no adapter scans") { world.calls.contains { $0["unheard"] != nil } }
        #expect(world.recorder.changes.count == count)
        #expect(world.recorder.received.isEmpty)
        try scanner.start(world.recorder)
        try world.until("the adapter scans") { world.recorder.starts == 2 }
        scanner.stop()
    }

    @Test func `if a step switched an adapter off, stop switches it on again`() throws {
        let world = try DBusWorld()
        try world.startMock()
        let scanner = try world.listening { $0.mayPowerCycle = true }
        #expect(scanner.take(.powerCycle, on: 0) == .taken)
        scanner.stop()
        try world.until("the adapter was switched on") { world.calls("Set").count >= 2 }
        #expect(world.calls("Set").map { $0["value"] as? String } == ["b:0", "b:1"])
    }

    @Test func `drain, a step and stop within a report do not hang, and no report before stop is lost`() throws {
        let world = try DBusWorld()
        try world.startMock()
        let scanner = try world.listening { $0.mayPowerCycle = true }
        world.recorder.onHeard = { scanner.drain() }
        for number in 0..<20 { world.advertise(rssi: -40 - number) }
        try world.until("all reports are received") { world.recorder.received.count == 20 }
        let strengths: [Int8?] = (0..<20).map { (number: Int) -> Int8 in Int8(-40 - number) }
        #expect(world.recorder.received.map(\.rssi) == strengths)
        world.recorder.onHeard = {
            _ = scanner.take(.powerCycle, on: 0)
            scanner.stop()
        }
        for _ in 0..<20 { world.advertise() }
        try world.until("the adapter was switched off and on") { world.calls("Set").count >= 2 }
        #expect(world.calls("Set").map { $0["value"] as? String } == ["b:0", "b:1"])
        #expect(world.recorder.received.count == 21)
    }

    @Test func `after the handler of a change has stopped the scanner, no further change is delivered`() throws {
        let world = try DBusWorld()
        try world.startMock(#"[{"index":0},{"index":1}]"#)
        let scanner = world.scanner()
        world.recorder.onChange = { if case .listening = $0 { scanner.stop() } }
        try scanner.start(world.recorder)
        try world.until("the adapter scans") { world.recorder.starts == 1 }
        let count = world.recorder.changes.count
        try world.until("discovery has been stopped") { world.calls("StopDiscovery").count >= 1 }
        #expect(world.recorder.changes.count == count)
    }
}
