import BluetoothLE
import EventLoops
import Foundation
import TestSupport
import Testing

@testable import AdapterScanning

/// The scanner, with a mock of bluetoothd on a real, private bus.
@Suite(.serialized)
struct DBusScannerTests {
    private let beacon = DeviceAddress(0xC000_0000_0001, kind: .random)

    @Test func `each report of a beacon is delivered once, also the first one, with address, RSSI and data`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening()
        for rssi in [-60, -60, -61] { fixture.advertise(rssi: rssi) }
        try fixture.until("three reports") { fixture.recorder.received.count >= 3 }
        scanner.drain()
        #expect(
            fixture.recorder.received
                == [-60, -60, -61].map {
                    .init(adapter: 0, address: beacon, rssi: $0, data: DBusFixture.structure)
                })
        #expect(fixture.recorder.beacons.count == 3)
        #expect(fixture.recorder.beacons.last?.identity.major == 100)
        #expect(scanner.statistics.reports == 3)
        #expect(fixture.recorder.times == fixture.recorder.times.sorted())
        scanner.stop()
    }

    /// A message with a report has about 300 bytes, and libdbus reads at most 4,096 bytes in a turn.
    @Test func `2,000 reports at once are read with fewer than 30 rests, not with one per 15 reports`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening()
        fixture.recorder.onReceived = { fixture.loop.restAfterTurn(for: .milliseconds(100)) }
        let before = fixture.loop.rests
        for count in 0..<2000 { fixture.advertise(rssi: -60 - count % 20) }
        try fixture.until("all reports are received") { fixture.recorder.received.count == 2000 }
        #expect(fixture.loop.rests - before < 30)
        scanner.stop()
    }

    @Test func `discovery is requested on LE only, with all reports and their RSSI`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening()
        let filter = fixture.calls("SetDiscoveryFilter").first?["filter"] as? [String: String]
        #expect(filter == ["Transport": "s:le", "DuplicateData": "b:1", "RSSI": "n:-127"])
        #expect(
            fixture.calls.compactMap { $0["call"] as? String }.suffix(2) == ["SetDiscoveryFilter", "StartDiscovery"])
        #expect(scanner.mayBeThinned(on: 0) && fixture.recorder.obstacles == [])
    }

    @Test func `L5: a report without manufacturer specific data is delivered without data`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening()
        fixture.advertise()
        fixture.send(
            #"{"do":"receive","adapter":0,"address":"C0:00:00:00:00:01","rssi":-50,"service":true}"#)
        try fixture.until("two reports") { fixture.recorder.received.count >= 2 }
        #expect(fixture.recorder.received.map(\.data) == [DBusFixture.structure, []])
        #expect(fixture.recorder.received.map(\.rssi) == [-60, -50])
        scanner.stop()
    }

    @Test func `a monitor is registered before discovery, and its DeviceFound is the same report as the change`()
        throws
    {
        let fixture = try DBusFixture()
        try fixture.startMock(#"[{"index":0,"monitors":true}]"#)
        let scanner = try fixture.listening()
        let order = fixture.calls.compactMap { $0["call"] as? String }
        #expect(order == ["GetManagedObjects", "RegisterMonitor", "SetDiscoveryFilter", "StartDiscovery"])
        let objects = fixture.calls.compactMap { $0["objects"] as? [String: [String: [String: Any]]] }.first
        let monitor = objects?["/beacon_gateway/hci0/monitor"]?["org.bluez.AdvertisementMonitor1"]
        #expect(monitor?["Type"] as? String == "s:or_patterns")
        #expect(
            (monitor?["Patterns"] as? [[Any]]).map { String(describing: $0) }
                == String(describing: [["y:0", "y:255", ["y:76", "y:0", "y:2", "y:21"]]] as [[Any]]))
        #expect(!scanner.mayBeThinned(on: 0))
        for _ in 0..<5 { fixture.advertise() }
        fixture.advertise("C0:00:00:00:00:02")
        try fixture.until("all reports") {
            fixture.recorder.received.contains { $0.address?.value == 0xC000_0000_0002 }
        }
        scanner.drain()
        #expect(fixture.recorder.received.filter { $0.address == beacon }.count == 5)
        scanner.stop()
        try fixture.until("all changes are undone") { fixture.calls("UnregisterMonitor").count == 1 }
        #expect(fixture.calls("StopDiscovery").count == 1)
    }

    @Test func `a passive scanner uses only monitors, and receives a beacon that never changes`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock(#"[{"index":0,"monitors":true}]"#)
        let scanner = try fixture.listening { $0.isPassive = true }
        for _ in 0..<4 { fixture.advertise() }
        try fixture.until("four reports") { fixture.recorder.received.count >= 4 }
        #expect(fixture.recorder.received == Array(repeating: fixture.recorder.received[0], count: 4))
        #expect(fixture.recorder.received[0].data == DBusFixture.structure)
        #expect(fixture.calls("StartDiscovery").isEmpty)
        scanner.stop()
    }

    @Test func `a passive scanner reports that it cannot receive if bluetoothd has no monitors`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = fixture.scanner { $0.isPassive = true }
        try scanner.start(fixture.recorder)
        try fixture.until("the problem is reported") { fixture.recorder.obstacles == [.unavailable] }
        #expect(fixture.calls("StartDiscovery").isEmpty)
    }

    @Test func `if bluetoothd offers monitors later, they are used from then on until it releases them`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening()
        fixture.send(#"{"do":"offer","index":0}"#)
        try fixture.until("the adapter scans again") { fixture.recorder.starts == 2 }
        #expect(fixture.recorder.stops == 1)
        #expect(!scanner.mayBeThinned(on: 0))
        fixture.send(#"{"do":"release","index":0}"#)
        try fixture.until("the monitor is released") { scanner.mayBeThinned(on: 0) }
        #expect(fixture.recorder.listening == [0])
    }

    @Test func `a monitor that is never activated delays discovery, and does not prevent it`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock(#"[{"index":0,"monitors":true,"activates":false}]"#)
        let scanner = try fixture.listening()
        #expect(scanner.mayBeThinned(on: 0))
    }

    @Test func `an adapter stops scanning when it is switched off, and starts again when it is on`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening()
        fixture.advertise()
        fixture.send(#"{"do":"power","adapter":0,"on":false}"#)
        try fixture.until("the adapter stopped scanning") { fixture.recorder.stops == 1 }
        #expect(fixture.recorder.obstacles == [.waiting])
        #expect(fixture.recorder.disappearances == 0)
        fixture.send(#"{"do":"power","adapter":0,"on":true}"#)
        try fixture.until("the adapter scans") { fixture.recorder.starts == 2 }
        #expect(fixture.recorder.obstacles == [])
        fixture.advertise()
        try fixture.until("a report is received") { fixture.recorder.received.count == 2 }
        scanner.stop()
    }

    @Test func `after a hardware error, off and on at once, the adapter has stopped once and scans again`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening()
        fixture.send(#"{"do":"power","adapter":0,"on":false}"#)
        fixture.send(#"{"do":"power","adapter":0,"on":true}"#)
        try fixture.until("the adapter scans") { fixture.recorder.starts == 2 }
        #expect(fixture.recorder.stops == 1)
        #expect(fixture.recorder.listening == [0])
        scanner.stop()
    }

    @Test func `two adapters report separately; a removed one stops alone, and scans if it is added again`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock(#"[{"index":0},{"index":1}]"#)
        let scanner = try fixture.listening()
        try fixture.until("both adapters scan") { fixture.recorder.listening == [0, 1] }
        fixture.advertise(adapter: 0, rssi: -40)
        fixture.advertise(adapter: 1, rssi: -80)
        try fixture.until("reports of both are received") { fixture.recorder.received.count == 2 }
        #expect(fixture.recorder.received.map(\.adapter) == [0, 1])
        fixture.send(#"{"do":"remove","index":1}"#)
        try fixture.until("one adapter is absent") { fixture.recorder.disappearances == 1 }
        #expect(fixture.recorder.listening == [0])
        let stop = fixture.recorder.changes.firstIndex { if case .stopped(1, _, _) = $0 { true } else { false } }
        let end = fixture.recorder.changes.firstIndex(of: .disappeared(adapter: 1))
        #expect((stop ?? .max) < (end ?? 0))
        fixture.send(#"{"do":"add","index":1,"powered":false}"#)
        fixture.send(#"{"do":"power","adapter":1,"on":true}"#)
        try fixture.until("both adapters scan again") { fixture.recorder.listening == [0, 1] }
        #expect(fixture.recorder.appearances == 3)
        fixture.send(#"{"do":"remove","index":0}"#)
        fixture.send(#"{"do":"remove","index":1}"#)
        try fixture.until("no adapter is present") { fixture.recorder.obstacles == [.unavailable] }
        scanner.stop()
    }

    @Test func `adapters that are not selected are left alone`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock(#"[{"index":0},{"index":1}]"#)
        let scanner = try fixture.listening { $0.adapters = AdapterSelection(numbers: [0]) }
        fixture.send(#"{"do":"add","index":2}"#)
        fixture.send(#"{"do":"power","adapter":1,"on":false}"#)
        fixture.send(#"{"do":"power","adapter":1,"on":true}"#)
        try fixture.until("the power was switched off and on") { fixture.isDone("power") == 2 }
        scanner.drain()
        #expect(Set(fixture.calls("StartDiscovery").compactMap { $0["adapter"] as? Int }) == [0])
        #expect(fixture.recorder.appearances == 1)
    }

    @Test func `after bluetoothd is killed and restarted, adapters scan again; only missing ones disappear`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening()
        fixture.killMock()
        try fixture.until("the adapter stopped scanning") { fixture.recorder.stops == 1 }
        #expect(fixture.recorder.obstacles == [.unavailable, .waiting])
        try fixture.startMock()
        try fixture.until("the adapter scans") { fixture.recorder.starts == 2 }
        fixture.advertise()
        try fixture.until("a report is received") { fixture.recorder.received.count == 1 }
        #expect(fixture.recorder.appearances == 1)
        #expect(fixture.recorder.disappearances == 0)
        #expect(fixture.recorder.obstacles == [])
        fixture.killMock()
        try fixture.until("the adapter stopped scanning") { fixture.recorder.stops == 2 }
        try fixture.startMock("[]")
        try fixture.until("the removed adapter is absent") { fixture.recorder.disappearances == 1 }
        #expect(fixture.recorder.obstacles == [.unavailable])
        scanner.stop()
    }

    @Test func `adapters disappear when bluetoothd stops normally, and scan again when it is started`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening()
        fixture.send(#"{"do":"term"}"#)
        try fixture.until("the adapter stopped scanning") { fixture.recorder.obstacles == [.unavailable, .waiting] }
        #expect(fixture.recorder.disappearances == 1)
        fixture.killMock()
        try fixture.startMock(#"[{"index":0,"powered":false}]"#)
        fixture.send(#"{"do":"power","adapter":0,"on":true}"#)
        try fixture.until("the adapter scans") { fixture.recorder.starts == 2 }
        #expect(fixture.recorder.obstacles == [])
        scanner.stop()
    }

    @Test func `after the bus is killed and started again, the scanner connects and scans again`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening()
        fixture.killBus()
        try fixture.until("the adapter stopped scanning") { fixture.recorder.stops == 1 }
        #expect(fixture.recorder.obstacles == [.unavailable, .waiting])
        fixture.killMock()
        try fixture.startBus()
        try fixture.startMock()
        try fixture.until("the adapter scans") { fixture.recorder.starts == 2 }
        fixture.advertise()
        try fixture.until("a report is received") { fixture.recorder.received.count == 1 }
        #expect(scanner.statistics.disconnections >= 1)
        scanner.stop()
    }

    @Test(arguments: [
        ("StartDiscovery", "org.bluez.Error.NotReady"), ("StartDiscovery", "org.bluez.Error.InProgress"),
        ("StartDiscovery", "org.bluez.Error.Failed"), ("StartDiscovery", "org.freedesktop.DBus.Error.NoReply"),
        ("SetDiscoveryFilter", "org.bluez.Error.NotReady"), ("GetManagedObjects", "org.bluez.Error.Failed"),
    ])
    func `a failed request is repeated until it succeeds`(method: String, error: String) throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        fixture.send(#"{"do":"fail","method":"\#(method)","error":"\#(error)","count":3}"#)
        try fixture.until("the mock is set to fail") { fixture.isDone("fail") == 1 }
        let scanner = try fixture.listening()
        #expect(fixture.calls(method).count == 4)
        scanner.stop()
    }

    @Test(arguments: ["org.bluez.Error.InvalidArguments", "org.bluez.Error.NotSupported"])
    func `if the discovery filter is refused, discovery runs without it, and unchanged data are used again`(
        error: String
    ) throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        fixture.send(#"{"do":"fail","method":"SetDiscoveryFilter","error":"\#(error)"}"#)
        try fixture.until("the mock is set to fail") { fixture.isDone("fail") == 1 }
        let scanner = try fixture.listening()
        fixture.advertise(rssi: -60)
        fixture.advertise(rssi: -75)
        try fixture.until("both reports are received") { fixture.recorder.received.count == 2 }
        #expect(fixture.recorder.received.map(\.data) == [DBusFixture.structure, DBusFixture.structure])
        #expect(fixture.recorder.received.map(\.rssi) == [-60, -75])
        scanner.stop()
    }

    @Test func `if a monitor is refused, only the monitor is missing; the step widen registers it`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock(#"[{"index":0,"monitors":true}]"#)
        fixture.send(#"{"do":"fail","method":"RegisterMonitor","error":"org.bluez.Error.Failed"}"#)
        try fixture.until("the mock is set to fail") { fixture.isDone("fail") == 1 }
        let scanner = try fixture.listening()
        #expect(scanner.mayBeThinned(on: 0))
        #expect(scanner.take(.widen, on: 0) == .taken)
        try fixture.until("the adapter scans with the monitor") {
            !scanner.mayBeThinned(on: 0) && fixture.recorder.starts == 2
        }
        scanner.stop()
    }

    @Test func `a call without an answer counts as failed after 10 s, and is repeated`() throws {
        // If the loop's time is before the machine's, the loop never sleeps too long when the test advances its time.
        var offset: Duration = .seconds(-100)
        let fixture = try DBusFixture(offset: { offset })
        try fixture.startMock()
        fixture.send(#"{"do":"fail","method":"StartDiscovery","error":"hang"}"#)
        try fixture.until("the mock is set to hang") { fixture.isDone("fail") == 1 }
        let scanner = fixture.scanner()
        try scanner.start(fixture.recorder)
        try fixture.until("the call hangs") { fixture.calls("StartDiscovery").count == 1 }
        scanner.drain()
        #expect(scanner.statistics.unanswered == 0)
        offset += .seconds(10)
        try fixture.until("the adapter scans") { fixture.recorder.listening == [0] }
        #expect(scanner.statistics.unanswered == 1)
        #expect(
            fixture.calls.compactMap { $0["call"] as? String }.suffix(3) == [
                "StopDiscovery", "SetDiscoveryFilter", "StartDiscovery",
            ])
        scanner.stop()
    }
}
