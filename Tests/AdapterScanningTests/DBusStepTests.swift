import BluetoothLE
import Foundation
import TestSupport
import Testing

@testable import AdapterScanning

/// The steps of the watchdog's ladder, and messages that no bluetoothd sends.
@Suite(.serialized)
struct DBusStepTests {
    @Test func `an adapter whose scan is restarted is not listening until the scan runs again`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening()
        #expect(scanner.take(.restartScan, on: 0) == .taken)
        #expect(fixture.recorder.listening == [])
        try fixture.until("the adapter scans") { fixture.recorder.starts == 2 }
        #expect(fixture.calls("StopDiscovery").count == 1)
        #expect(fixture.calls("StartDiscovery").count == 2)
        scanner.stop()
    }

    @Test(arguments: ["org.bluez.Error.InProgress", "org.bluez.Error.Failed", "org.bluez.Error.NotReady"])
    func `a scan that cannot be stopped is started nevertheless`(error: String) throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening()
        fixture.send(#"{"do":"fail","method":"StopDiscovery","error":"\#(error)"}"#)
        try fixture.until("the mock is set to fail") { fixture.isDone("fail") == 1 }
        #expect(scanner.take(.restartScan, on: 0) == .taken)
        try fixture.until("the adapter scans") { fixture.recorder.starts == 2 }
        scanner.stop()
    }

    @Test func `an adapter is switched off and on if that is allowed, and takes no other step meanwhile`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening { $0.mayPowerCycle = true }
        #expect(scanner.take(.powerCycle, on: 0) == .taken)
        guard case .skipped = scanner.take(.restartScan, on: 0) else {
            Issue.record("a step was taken during another one")
            return
        }
        try fixture.until("the adapter scans") { fixture.recorder.starts == 2 }
        #expect(fixture.calls("Set").map { $0["value"] as? String } == ["b:0", "b:1"])
        scanner.stop()
    }

    @Test func `if the power cannot be switched on, this is repeated until it succeeds`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening { $0.mayPowerCycle = true }
        fixture.send(#"{"do":"fail","method":"Set","error":"org.bluez.Error.Busy","count":2,"after":1}"#)
        try fixture.until("the mock is set to fail the second and third call") { fixture.isDone("fail") == 1 }
        #expect(scanner.take(.powerCycle, on: 0) == .taken)
        try fixture.until("the adapter scans") { fixture.recorder.starts == 2 }
        #expect(fixture.calls("Set").count == 4)
        scanner.stop()
    }

    @Test func `a power cycle that a policy refuses is skipped from then on, and the adapter scans again`() throws {
        let fixture = try DBusFixture(
            policy: #"<deny send_destination="org.bluez" send_interface="org.freedesktop.DBus.Properties"/>"#)
        try fixture.startMock()
        let scanner = try fixture.listening { $0.mayPowerCycle = true }
        #expect(scanner.take(.powerCycle, on: 0) == .taken)
        try fixture.until("the adapter scans again") { fixture.recorder.starts == 2 }
        guard case .skipped(let reason) = scanner.take(.powerCycle, on: 0) else {
            Issue.record("the power cycle was taken again")
            return
        }
        #expect(reason.contains("policy"))
        scanner.stop()
    }

    @Test func `a step that cannot be taken is skipped with a reason`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = fixture.scanner()
        let steps: [(WatchdogStep, Int)] = [(.widen, 0), (.powerCycle, 0), (.reset, 0), (.restartScan, 7)]
        for (step, adapter) in steps {
            guard case .skipped = scanner.take(step, on: adapter) else {
                Issue.record("\(step) was taken before the start")
                return
            }
        }
        try scanner.start(fixture.recorder)
        try fixture.until("the adapter scans") { fixture.recorder.listening == [0] }
        for (step, adapter) in steps {
            guard case .skipped(let reason) = scanner.take(step, on: adapter) else {
                Issue.record("\(step) was taken")
                return
            }
            #expect(!reason.isEmpty)
        }
        fixture.send(#"{"do":"power","adapter":0,"on":false}"#)
        try fixture.until("the adapter is off") { fixture.recorder.stops == 1 }
        #expect(scanner.take(.restartScan, on: 0) == .skipped(reason: "the adapter is off"))
        scanner.stop()
    }

    // MARK: Hostile messages

    private static let device = "/org/bluez/hci0/dev_C0_00_00_00_00_01"
    private static let changed = (DBusName.properties, "PropertiesChanged")
    private static let added = (DBusName.objectManager, "InterfacesAdded")
    /// Signals with a path, an interface, a member, a signature and arguments. The arguments have a wrong type, are too
    /// long or are out of range.
    private static let odd: [(String, (String, String), String, String)] = [
        (device, changed, "s", "('org.bluez.Device1',)"),
        (device, changed, "i", "(1,)"),
        (device, changed, "ssas", "('org.bluez.Device1', 'x', [])"),
        (device, changed, "sa{sv}s", "('org.bluez.Device1', {'RSSI': 'x'}, 'x')"),
        (device, changed, "sa{ss}as", "('org.bluez.Device1', {'RSSI': 'x'}, [])"),
        (device, changed, "sa{sv}as", "('org.bluez.Device1', {'RSSI': dbus.Int16(-32768)}, [])"),
        (device, changed, "sa{sv}as", "('org.bluez.Device1', {'RSSI': dbus.Int32(-60)}, [])"),
        (device, changed, "sa{sv}as", "('org.bluez.Device1', {'ManufacturerData': dbus.String('x')}, [])"),
        (
            device, changed, "sa{sv}as",
            "('org.bluez.Device1', {'ManufacturerData': dbus.Dictionary({dbus.UInt16(76): dbus.Array([dbus.Byte(1)] * 253, signature='y')}, signature='qv')}, [])"
        ),
        (
            device, changed, "sa{sv}as",
            "('org.bluez.Device1', {'ManufacturerData': dbus.Dictionary({dbus.UInt16(76): dbus.Array([dbus.Byte(1)] * 100000, signature='y')}, signature='qv')}, [])"
        ),
        (
            device, changed, "sa{sv}as",
            "('org.bluez.Device1', {'ManufacturerData': dbus.Dictionary({dbus.UInt16(76): dbus.String('x')}, signature='qv')}, [])"
        ),
        (
            device, changed, "sa{sv}as",
            "('org.bluez.Device1', {'ManufacturerData': dbus.Dictionary({dbus.String('x'): dbus.Array([], signature='y')}, signature='sv')}, [])"
        ),
        (
            device, changed, "sa{sv}as",
            "('org.bluez.Device1', {'ManufacturerData': dbus.Dictionary({dbus.UInt16(n): dbus.Array([dbus.Byte(1)] * 200, signature='y') for n in range(500)}, signature='qv')}, [])"
        ),
        (
            "/org/bluez/hci0", changed, "sa{sv}as",
            "('org.bluez.Adapter1', {'Discovering': 'x', 'Alias': dbus.Byte(1)}, [])"
        ),
        ("/org/bluez/hci99999", changed, "sa{sv}as", "('org.bluez.Adapter1', {'Powered': True}, [])"),
        ("/org/bluez/hci7", changed, "sa{sv}as", "('org.bluez.Adapter1', {'Powered': True}, [])"),
        ("/org/bluez/hci0/dev_", changed, "sa{sv}as", "('org.bluez.Device1', {'RSSI': dbus.Int16(-1)}, [])"),
        ("/", added, "o", "('/org/bluez/hci1',)"),
        ("/", added, "oa{sa{sv}}", "('/org/bluez/hci00', {'org.bluez.Adapter1': {'Powered': True}})"),
        ("/", added, "oa{sa{sv}}", "('/org/bluez/hci65536', {'org.bluez.Adapter1': {'Powered': True}})"),
        ("/", added, "oa{ss}", "('\(device)', {'org.bluez.Device1': 'x'})"),
        (
            "/", added, "oa{sa{sv}}",
            "('\(device)', {'org.bluez.Device1': {'Address': 'x', 'AddressType': 'x', 'RSSI': True}})"
        ),
        ("/", (DBusName.objectManager, "InterfacesRemoved"), "s", "('x',)"),
        ("/", (DBusName.objectManager, "InterfacesRemoved"), "oai", "('/org/bluez/hci0', [1])"),
    ]

    @Test func `messages with invalid arguments are counted, and the scanner continues`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock(#"[{"index":0,"monitors":true}]"#)
        let scanner = try fixture.listening()
        let client = try #require(fixture.calls("StartDiscovery").first?["sender"] as? String)
        for (path, (interface, member), signature, arguments) in Self.odd {
            fixture.send(
                #"{"do":"signal","path":"\#(path)","interface":"\#(interface)","member":"\#(member)","signature":"\#(signature)","arguments":"\#(arguments)"}"#
            )
        }
        for (path, member, signature, arguments) in [
            ("/beacon_gateway/hci0/monitor", "DeviceFound", "s", "('x',)"),
            ("/beacon_gateway/hci0/monitor", "DeviceFound", "i", "(1,)"),
            ("/beacon_gateway/hci0/monitor", "DeviceFound", "o", "('/org/bluez/hci9/dev_C0_00_00_00_00_01',)"),
            ("/beacon_gateway/hci0/monitor", "Nonsense", "i", "(1,)"),
            ("/beacon_gateway/hci7/monitor", "Activate", "i", "(1,)"),
            ("/", "Activate", "i", "(1,)"),
        ] {
            fixture.send(
                #"{"do":"call","client":"\#(client)","path":"\#(path)","interface":"\#(DBusName.monitor)","member":"\#(member)","signature":"\#(signature)","arguments":"\#(arguments)"}"#
            )
        }
        fixture.advertise("C0:00:00:00:00:09", rssi: -33)
        try fixture.until("the report after them is received") { fixture.recorder.received.contains { $0.rssi == -33 } }
        #expect(scanner.statistics.mistyped >= 10)
        #expect(fixture.recorder.listening == [0])
        #expect(fixture.recorder.beacons.count == 1)
        #expect(fixture.recorder.received.allSatisfy { $0.data.count <= 1650 })
        scanner.stop()
    }

    @Test func `forged signals of another process cannot remove bluetoothd, its adapter or the connection`() throws {
        let fixture = try DBusFixture()
        try fixture.startMock()
        let scanner = try fixture.listening()
        let client = try #require(fixture.calls("StartDiscovery").first?["sender"] as? String)
        let forged = [
            [
                "/org/freedesktop/DBus", "org.freedesktop.DBus.NameOwnerChanged", "string:org.bluez", "string::1.0",
                "string:",
            ],
            [
                "/", "org.freedesktop.DBus.ObjectManager.InterfacesRemoved", "objpath:/org/bluez/hci0",
                "array:string:org.bluez.Adapter1",
            ],
            ["/org/bluez/hci0", "org.freedesktop.DBus.Local.Disconnected"],
        ]
        for message in forged {
            let arguments = ["--bus=\(fixture.address)", "--type=signal", "--dest=\(client)"] + message
            try SpawnedProcess("/usr/bin/dbus-send", arguments).wait()
        }
        fixture.advertise()
        try fixture.until("the reports of bluetoothd are received") { fixture.recorder.received.count == 1 }
        scanner.drain()
        #expect(fixture.recorder.listening == [0])
        #expect(fixture.recorder.stops == 0)
        #expect(scanner.statistics.foreign == 2)
        scanner.stop()
    }
}
