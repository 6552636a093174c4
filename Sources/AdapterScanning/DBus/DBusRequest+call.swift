extension DBusRequest {
    /// The call that it is.
    func call(wantsReply: Bool = true) -> BusCall {
        func bus(_ member: String, _ arguments: [BusValue] = []) -> BusCall {
            BusCall(
                destination: DBusName.bus, path: DBusName.busPath, interface: DBusName.bus, member: member,
                arguments: arguments, wantsReply: wantsReply)
        }
        func bluez(_ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = []) -> BusCall {
            BusCall(
                destination: DBusName.bluez, path: path, interface: interface, member: member, arguments: arguments,
                wantsReply: wantsReply)
        }
        switch self {
        case .hello: return bus("Hello")
        case .match(let index): return bus("AddMatch", [.string(Self.rules[index])])
        case .owner: return bus("GetNameOwner", [.string(DBusName.bluez)])
        case .objects: return bluez("/", DBusName.objectManager, "GetManagedObjects")
        case .adapter(let adapter, let request, _):
            let path = DBusPath.path(ofAdapter: adapter)
            switch request {
            case .registerMonitor:
                return bluez(
                    path, DBusName.monitorManager, "RegisterMonitor", [.path(DBusApplication.path(of: adapter))])
            case .unregisterMonitor:
                return bluez(
                    path, DBusName.monitorManager, "UnregisterMonitor", [.path(DBusApplication.path(of: adapter))])
            case .setFilter: return bluez(path, DBusName.adapter, "SetDiscoveryFilter", [Self.filter])
            case .startDiscovery: return bluez(path, DBusName.adapter, "StartDiscovery")
            case .stopDiscovery: return bluez(path, DBusName.adapter, "StopDiscovery")
            case .setPowered(let isOn):
                return bluez(
                    path, DBusName.properties, "Set",
                    [.string(DBusName.adapter), .string("Powered"), .variant(.boolean(isOn))])
            }
        }
    }

    /// The discovery filter.
    ///
    /// DuplicateData has every report told. RSSI −127 lets everything through, and has bluetoothd tell the RSSI of each
    /// report: newer versions (after 5.87) otherwise tell it only when it moved by 8 dB. Any filter has discovery go on
    /// without a pause of 5 s after each scan of 10.24 s.
    private static let filter = BusValue.properties([
        ("Transport", .string("le")), ("DuplicateData", .boolean(true)), ("RSSI", .int16(-127)),
    ])
}

/// The objects of ours that bluetoothd calls: an application for each adapter, so that its path tells which one it is, with
/// a monitor below it.
enum DBusApplication {
    /// The path of an adapter's application.
    static func path(of adapter: Int) -> String { "/beacon_gateway/hci\(adapter)" }

    /// The path of an adapter's monitor.
    static func monitor(of adapter: Int) -> String { "\(path(of: adapter))/monitor" }
}
