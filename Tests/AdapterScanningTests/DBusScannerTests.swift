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
        let world = try DBusWorld()
        try world.startMock()
        let scanner = try world.listening()
        for rssi in [-60, -60, -61] { world.advertise(rssi: rssi) }
        try world.until("three reports") { world.recorder.received.count >= 3 }
        scanner.drain()
        #expect(
            world.recorder.received
                == [-60, -60, -61].map {
                    .init(adapter: 0, address: beacon, rssi: $0, data: DBusWorld.structure)
                })
        #expect(world.recorder.beacons.count == 3)
        #expect(world.recorder.beacons.last?.identity.major == 100)
        #expect(scanner.statistics.reports == 3)
        #expect(world.recorder.times == world.recorder.times.sorted())
        scanner.stop()
    }

    /// A message with a report has about 300 bytes, and libdbus reads at most 4,096 bytes in a turn.
    @Test func `2,000 reports at once are read with fewer than 30 rests, not with one per 15 reports`() throws {
        let world = try DBusWorld()
        try world.startMock()
        let scanner = try world.listening()
        world.recorder.onHeard = { world.loop.restAfterTurn(for: .milliseconds(100)) }
        let before = world.loop.rests
        for count in 0..<2000 { world.advertise(rssi: -60 - count % 20) }
        try world.until("all reports are received") { world.recorder.received.count == 2000 }
        #expect(world.loop.rests - before < 30)
        scanner.stop()
    }

    @Test func `discovery is requested on LE only, with all reports and their RSSI`() throws {
        let world = try DBusWorld()
        try world.startMock()
        let scanner = try world.listening()
        let filter = world.calls("SetDiscoveryFilter").first?["filter"] as? [String: String]
        #expect(filter == ["Transport": "s:le", "DuplicateData": "b:1", "RSSI": "n:-127"])
        #expect(world.calls.compactMap { $0["call"] as? String }.suffix(2) == ["SetDiscoveryFilter", "StartDiscovery"])
        #expect(scanner.mayBeThinned(on: 0) && world.recorder.obstacles == [])
    }

    @Test func `L5: a report without manufacturer specific data is delivered without data`() throws {
        let world = try DBusWorld()
        try world.startMock()
        let scanner = try world.listening()
        world.advertise()
        world.report(
            #"{"do":"heard","adapter":0,"address":"C0:00:00:00:00:01","rssi":-50,"service":true}"#)
        try world.until("two reports") { world.recorder.received.count >= 2 }
        #expect(world.recorder.received.map(\.data) == [DBusWorld.structure, []])
        #expect(world.recorder.received.map(\.rssi) == [-60, -50])
        scanner.stop()
    }

    @Test func `a monitor is registered before discovery, and its DeviceFound is the same report as the change`()
        throws
    {
        let world = try DBusWorld()
        try world.startMock(#"[{"index":0,"monitors":true}]"#)
        let scanner = try world.listening()
        let order = world.calls.compactMap { $0["call"] as? String }
        #expect(order == ["GetManagedObjects", "RegisterMonitor", "SetDiscoveryFilter", "StartDiscovery"])
        let objects = world.calls.compactMap { $0["objects"] as? [String: [String: [String: Any]]] }.first
        let monitor = objects?["/beacon_gateway/hci0/monitor"]?["org.bluez.AdvertisementMonitor1"]
        #expect(monitor?["Type"] as? String == "s:or_patterns")
        #expect(
            (monitor?["Patterns"] as? [[Any]]).map { String(describing: $0) }
                == String(describing: [["y:0", "y:255", ["y:76", "y:0", "y:2", "y:21"]]] as [[Any]]))
        #expect(!scanner.mayBeThinned(on: 0))
        for _ in 0..<5 { world.advertise() }
        world.advertise("C0:00:00:00:00:02")
        try world.until("all reports") { world.recorder.received.contains { $0.address?.value == 0xC000_0000_0002 } }
        scanner.drain()
        #expect(world.recorder.received.filter { $0.address == beacon }.count == 5)
        scanner.stop()
        try world.until("all changes are undone") { world.calls("UnregisterMonitor").count == 1 }
        #expect(world.calls("StopDiscovery").count == 1)
    }

    @Test func `a passive scanner uses only monitors, and receives a beacon that never changes`() throws {
        let world = try DBusWorld()
        try world.startMock(#"[{"index":0,"monitors":true}]"#)
        let scanner = try world.listening { $0.isPassive = true }
        for _ in 0..<4 { world.advertise() }
        try world.until("four reports") { world.recorder.received.count >= 4 }
        #expect(world.recorder.received == Array(repeating: world.recorder.received[0], count: 4))
        #expect(world.recorder.received[0].data == DBusWorld.structure)
        #expect(world.calls("StartDiscovery").isEmpty)
        scanner.stop()
    }

    @Test func `a passive scanner reports that it cannot receive if bluetoothd has no monitors`() throws {
        let world = try DBusWorld()
        try world.startMock()
        let scanner = world.scanner { $0.isPassive = true }
        try scanner.start(world.recorder)
        try world.until("the problem is reported") { world.recorder.obstacles == [.unavailable] }
        #expect(world.calls("StartDiscovery").isEmpty)
    }

    @Test func `if bluetoothd offers monitors later, they are used from then on until it releases them`() throws {
        let world = try DBusWorld()
        try world.startMock()
        let scanner = try world.listening()
        world.report(#"{"do":"offer","index":0}"#)
        try world.until("the adapter scans again") { world.recorder.starts == 2 }
        #expect(world.recorder.stops == 1)
        #expect(!scanner.mayBeThinned(on: 0))
        world.report(#"{"do":"release","index":0}"#)
        try world.until("the monitor is released") { scanner.mayBeThinned(on: 0) }
        #expect(world.recorder.listening == [0])
    }

    @Test func `a monitor that is never activated delays discovery, and does not prevent it`() throws {
        let world = try DBusWorld()
        try world.startMock(#"[{"index":0,"monitors":true,"activates":false}]"#)
        let scanner = try world.listening()
        #expect(scanner.mayBeThinned(on: 0))
    }

    @Test func `an adapter stops scanning when it is switched off, and starts again when it is on`() throws {
        let world = try DBusWorld()
        try world.startMock()
        let scanner = try world.listening()
        world.advertise()
        world.report(#"{"do":"power","adapter":0,"on":false}"#)
        try world.until("the adapter stopped scanning") { world.recorder.stops == 1 }
        #expect(world.recorder.obstacles == [.waiting])
        #expect(world.recorder.disappearances == 0)
        world.report(#"{"do":"power","adapter":0,"on":true}"#)
        try world.until("the adapter scans") { world.recorder.starts == 2 }
        #expect(world.recorder.obstacles == [])
        world.advertise()
        try world.until("a report is received") { world.recorder.received.count == 2 }
        scanner.stop()
    }

    @Test func `after a hardware error, off and on at once, the adapter has stopped once and scans again`() throws {
        let world = try DBusWorld()
        try world.startMock()
        let scanner = try world.listening()
        world.report(#"{"do":"power","adapter":0,"on":false}"#)
        world.report(#"{"do":"power","adapter":0,"on":true}"#)
        try world.until("the adapter scans") { world.recorder.starts == 2 }
        #expect(world.recorder.stops == 1)
        #expect(world.recorder.listening == [0])
        scanner.stop()
    }

    @Test func `two adapters report separately; a removed one stops alone, and scans if it is added again`() throws {
        let world = try DBusWorld()
        try world.startMock(#"[{"index":0},{"index":1}]"#)
        let scanner = try world.listening()
        try world.until("both adapters scan") { world.recorder.listening == [0, 1] }
        world.advertise(adapter: 0, rssi: -40)
        world.advertise(adapter: 1, rssi: -80)
        try world.until("reports of both are received") { world.recorder.received.count == 2 }
        #expect(world.recorder.received.map(\.adapter) == [0, 1])
        world.report(#"{"do":"remove","index":1}"#)
        try world.until("one adapter is absent") { world.recorder.disappearances == 1 }
        #expect(world.recorder.listening == [0])
        let stop = world.recorder.changes.firstIndex { if case .stopped(1, _, _) = $0 { true } else { false } }
        let end = world.recorder.changes.firstIndex(of: .disappeared(adapter: 1))
        #expect((stop ?? .max) < (end ?? 0))
        world.report(#"{"do":"add","index":1,"powered":false}"#)
        world.report(#"{"do":"power","adapter":1,"on":true}"#)
        try world.until("both adapters scan again") { world.recorder.listening == [0, 1] }
        #expect(world.recorder.appearances == 3)
        world.report(#"{"do":"remove","index":0}"#)
        world.report(#"{"do":"remove","index":1}"#)
        try world.until("no adapter is present") { world.recorder.obstacles == [.unavailable] }
        scanner.stop()
    }

    @Test func `adapters that are not selected are left alone`() throws {
        let world = try DBusWorld()
        try world.startMock(#"[{"index":0},{"index":1}]"#)
        let scanner = try world.listening { $0.adapters = AdapterSelection(numbers: [0]) }
        world.report(#"{"do":"add","index":2}"#)
        world.report(#"{"do":"power","adapter":1,"on":false}"#)
        world.report(#"{"do":"power","adapter":1,"on":true}"#)
        try world.until("the power was switched off and on") { world.isDone("power") == 2 }
        scanner.drain()
        #expect(Set(world.calls("StartDiscovery").compactMap { $0["adapter"] as? Int }) == [0])
        #expect(world.recorder.appearances == 1)
    }

    @Test func `after bluetoothd is killed and restarted, adapters scan again; only missing ones disappear`() throws {
        let world = try DBusWorld()
        try world.startMock()
        let scanner = try world.listening()
        world.killMock()
        try world.until("the adapter stopped scanning") { world.recorder.stops == 1 }
        #expect(world.recorder.obstacles == [.unavailable, .waiting])
        try world.startMock()
        try world.until("the adapter scans") { world.recorder.starts == 2 }
        world.advertise()
        try world.until("a report is received") { world.recorder.received.count == 1 }
        #expect(world.recorder.appearances == 1)
        #expect(world.recorder.disappearances == 0)
        #expect(world.recorder.obstacles == [])
        world.killMock()
        try world.until("the adapter stopped scanning") { world.recorder.stops == 2 }
        try world.startMock("[]")
        try world.until("the removed adapter is absent") { world.recorder.disappearances == 1 }
        #expect(world.recorder.obstacles == [.unavailable])
        scanner.stop()
    }

    @Test func `adapters disappear when bluetoothd stops normally, and scan again when it is started`() throws {
        let world = try DBusWorld()
        try world.startMock()
        let scanner = try world.listening()
        world.report(#"{"do":"term"}"#)
        try world.until("the adapter stopped scanning") { world.recorder.obstacles == [.unavailable, .waiting] }
        #expect(world.recorder.disappearances == 1)
        world.killMock()
        try world.startMock(#"[{"index":0,"powered":false}]"#)
        world.report(#"{"do":"power","adapter":0,"on":true}"#)
        try world.until("the adapter scans") { world.recorder.starts == 2 }
        #expect(world.recorder.obstacles == [])
        scanner.stop()
    }

    @Test func `after the bus is killed and started again, the scanner connects and scans again`() throws {
        let world = try DBusWorld()
        try world.startMock()
        let scanner = try world.listening()
        world.killBus()
        try world.until("the adapter stopped scanning") { world.recorder.stops == 1 }
        #expect(world.recorder.obstacles == [.unavailable, .waiting])
        world.killMock()
        try world.startBus()
        try world.startMock()
        try world.until("the adapter scans") { world.recorder.starts == 2 }
        world.advertise()
        try world.until("a report is received") { world.recorder.received.count == 1 }
        #expect(scanner.statistics.disconnections >= 1)
        scanner.stop()
    }

    @Test(arguments: [
        ("StartDiscovery", "org.bluez.Error.NotReady"), ("StartDiscovery", "org.bluez.Error.InProgress"),
        ("StartDiscovery", "org.bluez.Error.Failed"), ("StartDiscovery", "org.freedesktop.DBus.Error.NoReply"),
        ("SetDiscoveryFilter", "org.bluez.Error.NotReady"), ("GetManagedObjects", "org.bluez.Error.Failed"),
    ])
    func `a failed request is repeated until it succeeds`(method: String, error: String) throws {
        let world = try DBusWorld()
        try world.startMock()
        world.report(#"{"do":"fail","method":"\#(method)","error":"\#(error)","count":3}"#)
        try world.until("the mock is set to fail") { world.isDone("fail") == 1 }
        let scanner = try world.listening()
        #expect(world.calls(method).count == 4)
        scanner.stop()
    }

    @Test(arguments: ["org.bluez.Error.InvalidArguments", "org.bluez.Error.NotSupported"])
    func `if the discovery filter is refused, discovery runs without it, and unchanged data are used again`(
        error: String
    ) throws {
        let world = try DBusWorld()
        try world.startMock()
        world.report(#"{"do":"fail","method":"SetDiscoveryFilter","error":"\#(error)"}"#)
        try world.until("the mock is set to fail") { world.isDone("fail") == 1 }
        let scanner = try world.listening()
        world.advertise(rssi: -60)
        world.advertise(rssi: -75)
        try world.until("both reports are received") { world.recorder.received.count == 2 }
        #expect(world.recorder.received.map(\.data) == [DBusWorld.structure, DBusWorld.structure])
        #expect(world.recorder.received.map(\.rssi) == [-60, -75])
        scanner.stop()
    }

    @Test func `if a monitor is refused, only the monitor is missing; the step widen registers it`() throws {
        let world = try DBusWorld()
        try world.startMock(#"[{"index":0,"monitors":true}]"#)
        world.report(#"{"do":"fail","method":"RegisterMonitor","error":"org.bluez.Error.Failed"}"#)
        try world.until("the mock is set to fail") { world.isDone("fail") == 1 }
        let scanner = try world.listening()
        #expect(scanner.mayBeThinned(on: 0))
        #expect(scanner.take(.widen, on: 0) == .taken)
        try world.until("the adapter scans with the monitor") {
            !scanner.mayBeThinned(on: 0) && world.recorder.starts == 2
        }
        scanner.stop()
    }

    @Test func `a call without an answer counts as failed after 10 s, and is repeated`() throws {
        // If the loop's time is before the machine's, the loop never sleeps too long when the test advances its time.
        var offset: Duration = .seconds(-100)
        let world = try DBusWorld(offset: { offset })
        try world.startMock()
        world.report(#"{"do":"fail","method":"StartDiscovery","error":"hang"}"#)
        try world.until("the mock is set to hang") { world.isDone("fail") == 1 }
        let scanner = world.scanner()
        try scanner.start(world.recorder)
        try world.until("the call hangs") { world.calls("StartDiscovery").count == 1 }
        scanner.drain()
        #expect(scanner.statistics.unanswered == 0)
        offset += .seconds(10)
        try world.until("the adapter scans") { world.recorder.listening == [0] }
        #expect(scanner.statistics.unanswered == 1)
        #expect(
            world.calls.compactMap { $0["call"] as? String }.suffix(3) == [
                "StopDiscovery", "SetDiscoveryFilter", "StartDiscovery",
            ])
        scanner.stop()
    }
}
