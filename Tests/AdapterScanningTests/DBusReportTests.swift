import BaseTypes
import BluetoothLE
import TestSupport
import Testing

@testable import AdapterScanning

/// Which messages are reports, and the content of these reports.
@Suite struct DBusReportTests {
    static let key = DBusDeviceKey(adapter: 0, address: 0xC000_0000_0001)

    static func said(rssi: Int8? = nil, data: [UInt8]? = nil, isReport: Bool? = nil) -> DBusDeviceProperties {
        var properties = DBusDeviceProperties()
        properties.rssi = rssi.map { RSSI(dBm: $0) }
        properties.data = data
        properties.isReport = isReport ?? (rssi != nil || data != nil)
        return properties
    }

    static func added(_ properties: DBusDeviceProperties) -> DBusSignal {
        var object = DBusObject(.device(key))
        object.device = properties
        return .added(object)
    }

    @Test func `a device that appears with an RSSI is a report, one without an RSSI is only remembered`() {
        let desk = DBusDesk.listening()
        desk.receive(Self.added(Self.said(data: [1])))
        #expect(desk.reports() == [])
        var properties = Self.said(rssi: -60, data: [1])
        properties.addressKind = .random
        desk.receive(Self.added(properties))
        #expect(
            desk.reports() == [
                DBusReport(
                    adapter: 0, address: DeviceAddress(0xC000_0000_0001, kind: .random), rssi: RSSI(dBm: -60), data: [1]
                )
            ])
    }

    @Test func `devices in the answer to GetManagedObjects are stored, but are not reports`() {
        let desk = DBusDesk()
        desk.join()
        var device = DBusObject(.device(Self.key))
        device.device = Self.said(rssi: -60, data: [1])
        desk.list([DBusDesk.adapter(), device])
        #expect(desk.reports() == [])
        #expect(desk.session.devices.count == 1)
    }

    @Test func `if the filter is set, an RSSI alone is a report without manufacturer specific data`() {
        let desk = DBusDesk.listening()
        desk.receive(Self.added(Self.said(rssi: -60, data: [1])))
        desk.receive(.deviceChanged(Self.key, Self.said(rssi: -61)))
        #expect(desk.reports().map(\.data) == [[1], []])
    }

    @Test func `an invalidated RSSI is not a report, and later reports do not repeat the RSSI`() {
        let desk = DBusDesk.listening()
        desk.receive(Self.added(Self.said(rssi: -60, data: [1])))
        var properties = Self.said()
        properties.invalidatesRSSI = true
        desk.receive(.deviceChanged(Self.key, properties))
        desk.receive(.deviceChanged(Self.key, Self.said(data: [2])))
        #expect(desk.reports().map(\.rssi) == [RSSI(dBm: -60), nil])
    }

    @Test func `a change of properties and the DeviceFound of a monitor up to 1 s later are one report`() {
        let desk = DBusDesk.listening(monitors: true)
        desk.receive(Self.added(Self.said(rssi: -60, data: [1])))
        desk.session.monitorFound(Self.key, at: desk.now, into: &desk.actions)
        desk.wait(.milliseconds(100))
        desk.receive(.deviceChanged(Self.key, Self.said(rssi: -70, data: [1])))
        desk.session.monitorFound(Self.key, at: desk.now + DBusSession.pairMax, into: &desk.actions)
        #expect(desk.reports().map(\.rssi) == [-60, -70].map { RSSI(dBm: $0) })
    }

    @Test func `each DeviceFound without a change of properties is a report like the last one`() {
        let desk = DBusDesk.listening(isPassive: true, monitors: true)
        desk.receive(Self.added(Self.said(rssi: -60, data: [1])))
        for _ in 0..<4 { desk.session.monitorFound(Self.key, at: desk.now, into: &desk.actions) }
        #expect(desk.reports().map(\.data) == [[1], [1], [1], [1]])
    }

    @Test func `a DeviceFound more than 1 s after a change of properties is another report`() {
        let desk = DBusDesk.listening(isPassive: true, monitors: true)
        desk.receive(Self.added(Self.said(rssi: -60, data: [1])))
        desk.wait(DBusSession.pairMax + .nanoseconds(1))
        desk.session.monitorFound(Self.key, at: desk.now, into: &desk.actions)
        #expect(desk.reports().count == 2)
    }

    @Test func `a report without data is not the report of the DeviceFound after it`() {
        let desk = DBusDesk.listening(monitors: true)
        desk.receive(Self.added(Self.said(rssi: -60, data: [1])))
        desk.session.monitorFound(Self.key, at: desk.now, into: &desk.actions)
        desk.receive(.deviceChanged(Self.key, Self.said(rssi: -50)))
        desk.session.monitorFound(Self.key, at: desk.now, into: &desk.actions)
        #expect(desk.reports().map(\.data) == [[1], [], [1]])
    }

    @Test func `DeviceFound of an unknown device is an empty report; of an unknown adapter, it counts as foreign`() {
        let desk = DBusDesk.listening(isPassive: true, monitors: true)
        desk.session.monitorFound(Self.key, at: desk.now, into: &desk.actions)
        #expect(desk.reports().map(\.data) == [[]])
        desk.session.monitorFound(DBusDeviceKey(adapter: 5, address: 1), at: desk.now, into: &desk.actions)
        #expect(desk.reports() == [])
        #expect(desk.session.statistics.foreign == 1)
    }

    @Test func `a full table evicts the device that was received least recently, and counts it`() {
        let desk = DBusDesk.listening(devicesMax: 3)
        let keys = (1...4).map { DBusDeviceKey(adapter: 0, address: $0) }
        for key in keys[..<3] { desk.receive(.deviceChanged(key, Self.said(rssi: -60, data: [UInt8(key.address)]))) }
        desk.receive(.deviceChanged(keys[0], Self.said(rssi: -60)))
        desk.receive(.deviceChanged(keys[3], Self.said(rssi: -60, data: [4])))
        #expect(desk.session.devices.count == 3)
        #expect(desk.session.devices.evicted == 1)
        #expect(desk.session.devices.place(of: keys[1]) == nil)
        #expect(desk.session.devices.place(of: keys[0]) != nil)
    }

    @Test func `the table has the most recently received devices, at most 16, whatever is added and removed`() {
        let seed = SeededGenerator.seed
        var state = seed
        var table = DBusDeviceTable(capacity: 16)
        var order: [UInt64] = []
        for _ in 0..<20_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let address = state >> 33 % 40
            let key = DBusDeviceKey(adapter: 0, address: address)
            order.removeAll { $0 == address }
            if state >> 60 == 0 {
                table.remove(key)
            } else {
                _ = table.placeMakingMostRecent(key)
                order.append(address)
                if order.count > 16 { order.removeFirst() }
            }
            let isSame = order.allSatisfy { table.place(of: DBusDeviceKey(adapter: 0, address: $0)) != nil }
            guard table.count == order.count, isSame else {
                Issue.record("the table differs from the expected one, seed \(seed)")
                return
            }
        }
    }

    // MARK: Thinned reports

    @Test func `eight gaps of a filtering controller are an obstacle, seven are not; a monitor ends it`() {
        let desk = DBusDesk.listening()
        desk.receive(Self.added(Self.said(rssi: -60, data: [1])))
        // The report came in the middle of a scan, so the first gap is only the rest of that scan.
        desk.wait(.milliseconds(7000))
        desk.receive(.deviceChanged(Self.key, Self.said(rssi: -60, data: [1])))
        for count in 1...8 {
            desk.wait(.milliseconds(10_240))
            desk.receive(.deviceChanged(Self.key, Self.said(rssi: -60, data: [1])))
            #expect(desk.session.presentObstacles == (count < 8 ? [] : [.thinned]))
        }
        #expect(desk.changes().last == .obstacles([.thinned]))
        desk.session.monitorActivated(0, at: desk.now, into: &desk.actions)
        #expect(desk.changes() == [.obstacles([])])
    }

    @Test func `one gap in four below 9.216 s shows that nothing is filtered; gaps of 32 s do not count`() {
        var cadence = DBusCadence()
        for index in 0..<64 {
            cadence.count(index % 4 == 0 ? .milliseconds(300) : .milliseconds(10_240))
            #expect(!cadence.isThinned || index == 0)
        }
        cadence.reset()
        for _ in 0..<64 { cadence.count(.milliseconds(9215)) }
        #expect(!cadence.isThinned)
        for _ in 0..<64 { cadence.count(.milliseconds(9216)) }
        #expect(cadence.isThinned)
        for _ in 0..<64 { cadence.count(.seconds(32)) }
        #expect(cadence.isThinned)
    }

    // MARK: Paths, errors and calls

    @Test(arguments: [
        ("/org/bluez/hci0", DBusPath.adapter(0)), ("/org/bluez/hci65535", .adapter(65535)),
        ("/org/bluez/hci65536", .other), ("/org/bluez/hci", .other), ("/org/bluez/hci00", .other),
        ("/org/bluez/hci+1", .other), ("/org/bluez/hci1x", .other), ("/org/bluez", .other), ("", .other),
        (
            "/org/bluez/hci1/dev_C0_98_E5_00_00_07", .device(DBusDeviceKey(adapter: 1, address: 0xC098_E500_0007))
        ),
        ("/org/bluez/hci1/dev_C0_98_E5_00_00_07/service0001", .other), ("/org/bluez/hci1/dev_C0_98_E5_00_00_0", .other),
        ("/org/bluez/hci1/dev_C0_98_E5_00_00_0g", .other), ("/org/bluez/hci1/dev_C0x98_E5_00_00_07", .other),
        ("/org/bluez/hci1/dev_é0_98_E5_00_00_7", .other), ("/org/bluez/hci١", .other),
    ])
    func `a path is an adapter, a device, or neither`(text: String, path: DBusPath) {
        #expect(DBusPath(text) == path)
    }

    @Test(arguments: [
        ("org.freedesktop.DBus.Error.AccessDenied", BusFailure.Kind.denied),
        ("org.bluez.Error.InProgress", .inProgress), ("org.bluez.Error.NotReady", .notReady),
        ("org.bluez.Error.AlreadyExists", .alreadyExists), ("org.freedesktop.DBus.Error.NameHasNoOwner", .absent),
        ("org.freedesktop.DBus.Error.NoReply", .timeout), ("org.bluez.Error.Failed", .other), ("", .other),
    ])
    func `the name of a D-Bus error decides its kind`(name: String, kind: BusFailure.Kind) {
        #expect(BusFailure(name: name, text: "").kind == kind)
    }

    @Test func `a call times out after 10 s, is answered once, and at most 128 calls are pending`() {
        var table = BusCallTable<Int>()
        let now = Instant(nanoseconds: 0)
        table.await(1, serial: 7, at: now)
        table.await(2, serial: 8, at: now + .seconds(1))
        var request = table.answered(9)
        #expect(request == nil)
        request = table.expired(at: now + .seconds(10) - .nanoseconds(1))
        #expect(request == nil)
        request = table.expired(at: now + .seconds(10))
        #expect(request == 1)
        request = table.expired(at: now + .seconds(10))
        #expect(request == nil)
        #expect(table.nextDeadline == now + .seconds(11))
        request = table.answered(8)
        #expect(request == 2)
        request = table.answered(8)
        #expect(request == nil)
        #expect(table.strays == 2)
        var hasRoom = true
        for serial in 0..<UInt32(BusCallTable<Int>.capacity) {
            hasRoom = table.hasRoom() && hasRoom
            table.await(0, serial: serial, at: now)
        }
        #expect(hasRoom)
        hasRoom = table.hasRoom()
        #expect(!hasRoom)
        #expect(table.refused == 1)
    }
}
