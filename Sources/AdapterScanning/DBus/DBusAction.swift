import BaseTypes
import BluetoothLE

/// A request to the bus or to bluetoothd, with the values that identify its answer.
enum DBusRequest: Sendable, Hashable {
    /// Request a unique name from the bus. This must be the first call.
    case hello
    /// Subscribe to signals; the index of the rule in ``rules``.
    case match(Int)
    /// Request the owner of the name org.bluez.
    case owner
    /// Request all objects of bluetoothd.
    case objects(token: UInt64)
    /// A request to an adapter.
    case adapter(Int, AdapterRequest, token: UInt64)

    /// The requests to an adapter.
    enum AdapterRequest: Sendable, Hashable {
        case registerMonitor
        case unregisterMonitor
        case setFilter
        case startDiscovery
        case stopDiscovery
        case setPowered(Bool)
    }

    /// The signals that are needed, as match rules (D-Bus specification, “Match Rules”).
    ///
    /// The rules for the signals of bluetoothd name org.bluez as the sender, so the bus delivers only signals of its
    /// owner. Of the property changes, only those of adapters and devices are needed.
    static let rules = [
        "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.bluez'",
        "type='signal',sender='org.bluez',interface='org.freedesktop.DBus.ObjectManager'",
        "type='signal',sender='org.bluez',interface='org.freedesktop.DBus.Properties',arg0='org.bluez.Adapter1'",
        "type='signal',sender='org.bluez',interface='org.freedesktop.DBus.Properties',arg0='org.bluez.Device1'",
    ]
}

/// An advertising report with the fields that bluetoothd provides.
struct DBusReport: Sendable, Hashable {
    var adapter: Int
    var address: DeviceAddress
    var rssi: RSSI?
    /// The AD structures.
    var data: [UInt8]

    // The maximum data of a legacy PDU in bytes (Core Spec Vol 6 Part B §2.3.1).
    private static let legacyDataMax = 31

    /// The report in the form that all backends share.
    ///
    /// bluetoothd does not report the PDU type. If the data fit into a legacy PDU, the report counts as one that is
    /// neither connectable nor scannable, as most beacons send. Longer data can only come from extended advertising.
    var advertisingReport: AdvertisingReport {
        AdvertisingReport(
            address: address, rssi: rssi, properties: data.count <= Self.legacyDataMax ? .legacy : [],
            data: 0..<data.count)
    }
}

/// An action that the session requests.
enum DBusAction: Sendable, Hashable {
    /// Send a request. Its answer must be passed to the session.
    case call(DBusRequest)
    /// Notify the handler.
    case change(ScanChange)
    /// Deliver a report.
    case received(DBusReport)
    /// Connect to the bus, again if there was a connection.
    case connect
    /// Close the connection to the bus.
    case disconnect
}

extension BackOff {
    /// If bluetoothd or the bus refuses a request because two events crossed, a retry shortly after succeeds.
    static let bluetoothd = BackOff(first: .milliseconds(100), most: .seconds(5))
}
