import BluetoothLE

// The objects that bluetoothd calls: for each adapter an application with one advertisement monitor.
//
// Source: bluez doc/advertisement-monitor-api.txt. bluetoothd asks the application for its objects, and then calls the
// monitor's methods, which have no answer. One application for each adapter, so that its path tells which one it is.
extension DBusScanner {
    private static let root = "/beacon_gateway/hci"

    /// The path of an adapter's application.
    static func application(of adapter: Int) -> String { "\(root)\(adapter)" }

    private static func monitor(of adapter: Int) -> String { "\(application(of: adapter))/monitor" }

    /// bluetoothd called something: only it may.
    func receivedCall(_ message: BusMessage) -> Bool {
        guard let path = message.path, let interface = message.interface, let member = message.member else {
            return false
        }
        guard let sender = message.sender, sender == session.owner else {
            session.counters.foreign &+= 1
            return false
        }
        guard
            let adapter = session.adapters.keys.first(where: {
                path.hasPrefix(Self.application(of: $0)) && isOurs(path, $0)
            })
        else { return false }
        switch (interface, member) {
        case (DBusName.objectManager, "GetManagedObjects"):
            let monitor = BusValue.dictionary(
                of: "sa{sv}", [BusEntry(key: .string(DBusName.monitor), value: Self.monitorProperties)])
            connection?.reply(
                to: message,
                [.dictionary(of: "oa{sa{sv}}", [BusEntry(key: .path(Self.monitor(of: adapter)), value: monitor)])])
        case (DBusName.properties, "GetAll"): connection?.reply(to: message, [Self.monitorProperties])
        case (DBusName.monitor, "Activate"): perform { $0.monitorActivated(adapter, at: $1, into: &$2) }
        case (DBusName.monitor, "Release"): perform { $0.monitorReleased(adapter, at: $1, into: &$2) }
        case (DBusName.monitor, "DeviceFound"):
            var arguments = message.arguments
            guard let device = arguments.text(), case .device(let key) = DBusPath(device) else { return true }
            perform { $0.monitorFound(key, at: $1, into: &$2) }
        // It tells of silence, which is ours to judge.
        case (DBusName.monitor, "DeviceLost"): break
        default: return false
        }
        return true
    }

    private func isOurs(_ path: String, _ adapter: Int) -> Bool {
        path == Self.application(of: adapter) || path == Self.monitor(of: adapter)
    }

    /// What is monitored: iBeacons, by how their manufacturer specific data begin (rule B1).
    private static let monitorProperties = BusValue.properties([
        ("Type", .string("or_patterns")),
        (
            "Patterns",
            .array(of: "(yyay)", [.structure([.byte(0), .byte(0xFF), .bytes([0x4C, 0x00, 0x02, 0x15])])])
        ),
    ])

    /// The call that a request is.
    static func call(_ request: DBusRequest, wantsReply: Bool = true) -> BusCall {
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
        switch request {
        case .hello: return bus("Hello")
        case .match(let index): return bus("AddMatch", [.string(DBusRequest.rules[index])])
        case .owner: return bus("GetNameOwner", [.string(DBusName.bluez)])
        case .objects: return bluez("/", DBusName.objectManager, "GetManagedObjects")
        case .adapter(let adapter, let request, _):
            let path = DBusPath.path(ofAdapter: adapter)
            switch request {
            case .registerMonitor:
                return bluez(path, DBusName.monitorManager, "RegisterMonitor", [.path(application(of: adapter))])
            case .unregisterMonitor:
                return bluez(path, DBusName.monitorManager, "UnregisterMonitor", [.path(application(of: adapter))])
            case .setFilter: return bluez(path, DBusName.adapter, "SetDiscoveryFilter", [filter])
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
