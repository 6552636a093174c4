import BaseTypes
import BluetoothLE

/// What is asked of the bus or of bluetoothd, with what its answer is known by.
enum DBusRequest: Sendable, Hashable {
    /// Have the bus give us a name: the first thing that it wants to hear.
    case hello
    /// Have the bus send us the signals that matter; the index of the rule in ``rules``.
    case match(Int)
    /// Who org.bluez is.
    case owner
    /// All of bluetoothd's objects.
    case objects(token: UInt64)
    /// Something of an adapter.
    case adapter(Int, AdapterRequest, token: UInt64)

    /// What is asked of an adapter.
    enum AdapterRequest: Sendable, Hashable {
        case registerMonitor
        case unregisterMonitor
        case setFilter
        case startDiscovery
        case stopDiscovery
        case setPowered(Bool)
    }

    /// The signals that matter, as match rules (D-Bus specification, “Match Rules”).
    ///
    /// bluetoothd's own, by its name: the bus then sends those of its owner alone. Of the properties' changes only those
    /// of adapters and devices.
    static let rules = [
        "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.bluez'",
        "type='signal',sender='org.bluez',interface='org.freedesktop.DBus.ObjectManager'",
        "type='signal',sender='org.bluez',interface='org.freedesktop.DBus.Properties',arg0='org.bluez.Adapter1'",
        "type='signal',sender='org.bluez',interface='org.freedesktop.DBus.Properties',arg0='org.bluez.Device1'",
    ]
}

/// An advertising report, as far as bluetoothd tells of it.
struct DBusReport: Sendable, Hashable {
    var adapter: Int
    var address: DeviceAddress
    var rssi: RSSI?
    /// AD structures.
    var data: [UInt8]

    // What a legacy PDU carries (Core Spec Vol 6 Part B §2.3.1).
    private static let legacyDataMax = 31

    /// The report in everybody's words.
    ///
    /// bluetoothd does not say what kind of PDU it was. Data that fit are taken for a legacy one's that is neither
    /// connectable nor scannable, as those of most beacons are; more can only be extended advertising's.
    var advertisingReport: AdvertisingReport {
        AdvertisingReport(
            address: address, rssi: rssi, properties: data.count <= Self.legacyDataMax ? .legacy : [],
            data: 0..<data.count)
    }
}

/// What the session wants done.
enum DBusAction: Sendable, Hashable {
    /// Ask; the answer is handed back.
    case call(DBusRequest)
    /// Tell the handler.
    case change(ScanChange)
    /// Hand over a report.
    case heard(DBusReport)
    /// Connect to the bus anew.
    case connect
    /// Close the connection to the bus.
    case disconnect
}

extension BackOff {
    /// What bluetoothd or the bus refuses because two things happened in an order that we did not see works a moment later.
    static let bluetoothd = BackOff(first: .milliseconds(100), most: .seconds(5))
}
