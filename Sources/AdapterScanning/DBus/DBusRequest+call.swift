extension DBusRequest {
    /// Returns the method call for this request.
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
    /// With DuplicateData, bluetoothd signals each report. RSSI −127 accepts all reports and makes bluetoothd signal
    /// the RSSI of each; newer versions (after 5.87) otherwise signal it only if it changed by 8 dB. With any filter,
    /// discovery continues without a pause of 5 s after each scan of 10.24 s.
    private static let filter = BusValue.properties([
        ("Transport", .string("le")), ("DuplicateData", .boolean(true)), ("RSSI", .int16(-127)),
    ])
}

/// The objects that bluetoothd calls: one application for each adapter, so that the path identifies the adapter, and a
/// monitor below it.
enum DBusApplication {
    /// Returns the path of the application of an adapter.
    static func path(of adapter: Int) -> String { "/beacon_gateway/hci\(adapter)" }

    /// Returns the path of the monitor of an adapter.
    static func monitor(of adapter: Int) -> String { "\(path(of: adapter))/monitor" }
}
